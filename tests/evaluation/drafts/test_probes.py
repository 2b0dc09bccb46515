"""Probes: whole sentences of the length asked for, evenly spread, and kept in no file."""

import pytest
from llama_index.core.schema import Document

from rag_nodes.core.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.drafts.probes import CHARACTERS, PROBE, examples, probes
from rag_nodes.evaluation.importers import plain_of
from rag_nodes.text.sentences import sentence_spans

THINGS = [
    "mooring",
    "crane",
    "ferry",
    "lantern",
    "winch",
    "harbour",
    "pilot",
    "anchor",
    "signal",
    "cargo",
]


def manual(name: str, sections: int = 30) -> Document:
    """Sections of four sentences, each of which names things of its own."""
    text = "\n\n".join(
        f"## Section {number} of {name}\n\n"
        + " ".join(
            f"The {THINGS[number % 10]} of berth {name}{number} needs part {part} of the "
            f"{THINGS[(number + part) % 10]} before anybody starts to work with it."
            for part in range(4)
        )
        for number in range(sections)
    )
    return Document(text=text, id_=name)


DOCUMENTS = [manual("a"), manual("b", 60)]


@pytest.mark.parametrize("characters", CHARACTERS.values())
def test_a_passage_is_whole_sentences_of_about_the_length_asked_for(characters: int) -> None:
    dataset = probes(DOCUMENTS, characters, count=20)
    assert len(dataset.questions) > 8
    for question in dataset.questions:
        ((passage,),) = question.gold
        spans = sentence_spans(dataset.texts[passage.document])
        assert passage.span.start in {span.start for span in spans}
        assert passage.span.end in {span.end for span in spans}
        assert characters / 2 <= passage.span.length <= characters * 2


def test_words_are_those_of_the_passage_and_no_two_probes_are_the_same() -> None:
    dataset = probes(DOCUMENTS, 700)
    asked = [question.text for question in dataset.questions]
    assert len(set(asked)) == len(asked)
    for question in dataset.questions:
        quote = " ".join(dataset.quote(question.gold[0][0]).split())
        assert all(word in quote for word in question.text.split())


def test_passages_are_spread_over_all_documents_by_their_length() -> None:
    asked = probes(DOCUMENTS, 200, count=30).questions
    share = sum(question.document == "b" for question in asked) / len(asked)
    assert 0.5 < share < 0.8
    starts = [question.gold[0][0].span.start for question in asked if question.document == "b"]
    size = len(DOCUMENTS[1].text)
    assert {start * 4 // size for start in starts} == {0, 1, 2, 3}


def test_beside_those_of_one_length_are_those_of_the_others() -> None:
    dataset = probes(DOCUMENTS, 700, count=10)
    lengths = {size: asked[0].gold[0][0].span.length for size, asked in dataset.beside.items()}
    assert list(lengths) == [200, 2500]
    assert lengths[200] <= 400
    assert lengths[2500] >= 1250
    assert {question.kind for question in dataset.questions} == {PROBE}


def test_the_same_seed_gives_the_same_passages_and_another_one_others() -> None:
    first, again, other = (probes(DOCUMENTS, 200, seed=seed).questions for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_no_probe_is_a_draft_and_none_is_written_to_a_file() -> None:
    dataset = probes(DOCUMENTS, 200)
    assert {(question.kind, question.draft) for question in dataset.questions} == {(PROBE, False)}
    with pytest.raises(ConfigurationError, match="probes"):
        plain_of(dataset)


def test_documents_without_such_a_passage_are_refused_with_the_remedy() -> None:
    short = Document(text="Nobody may run the washing machine at night.")
    with pytest.raises(DatasetError, match="choose a shorter length"):
        probes([short], 2500)
    with pytest.raises(DatasetError, match="too little text to compare settings; add documents"):
        probes([short], CHARACTERS["sentence"])
    with pytest.raises(ConfigurationError, match="over 0"):
        probes(DOCUMENTS, 0)


def test_each_length_is_shown_by_a_passage_of_its_own() -> None:
    shown = examples(DOCUMENTS)
    assert list(shown) == ["sentence", "paragraph", "page"]
    spans = [(probe.document, probe.span) for probe in shown.values()]
    assert not any(
        left is not right and left[0] == right[0] and left[1].overlap(right[1])
        for left in spans
        for right in spans
    )
    short = Document(text="## Night\n\nNobody may run the washing machine after ten at night, as "
                          "the neighbours below sleep, and neither may guests.")  # fmt: skip
    assert list(examples([short])) == ["sentence"]


@pytest.mark.parametrize(
    "line",
    ["Figure {}. The pump behind the wall, with the two valves that are in front of it.\n\n",
     "```\nresult = pump.open(valve={}, minutes=60)\nassert result == pump.pressure\n```\n\n"],
    ids=["legend", "code"],
)  # fmt: skip
def test_an_example_is_prose_where_there_is_some(line: str) -> None:
    prose = " ".join(f"The valve of pump {number} is opened by the guard before it is used again."
                     for number in range(60))  # fmt: skip
    text = "".join(map(line.format, range(60))) + prose
    for passage in examples([Document(text=text)]).values():
        assert passage.span.start >= len(text) - len(prose)
