"""The same sentence of several documents is read once, and all its places are named."""

import re
from collections import defaultdict
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from llama_index.core.schema import Document

from rag_nodes import QueryOptions, RagNodesQueryEngine, get_parser
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.run import evaluate
from rag_nodes.models import Models
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import Answer
from rag_nodes.query.citations import cite_passage
from rag_nodes.query.reading import Packed, pack
from rag_nodes.query.sentences import Sentences, with_places
from rag_nodes.store import Hit, Store
from rag_nodes.text.passages import are_near_equal, normalised
from rag_nodes.text.spans import Span

QUESTION = "Which pump needs oil and which valve closes?"
SENTENCES = [
    f"The {thing} number {number} needs {what} before the {when} shift begins."
    for number, (thing, what, when) in enumerate(
        (thing, what, when)
        for thing in ("pump", "valve", "filter")
        for what in ("oil", "a new seal")
        for when in ("early", "late")
    )
]
WHO = "visitors guests cooks drivers painters plumbers students soldiers dancers bakers nurses"
WHAT = "boots gloves goggles masks hats badges vests aprons ribbons sleeves shields"
NOTICE = " ".join(
    f"Rule {number} says that {who} wear a helmet and {what} in hall {number} all day."
    for number, (who, what) in enumerate(zip(WHO.split(), WHAT.split(), strict=True), start=1)
)
"""Some 150 words, of which one may be another without the passage being another one."""


@st.composite
def _documents(draw: st.DrawFn) -> list[Document]:
    """Documents of the same sentences, in any order, case and white space, under any headings."""
    documents = []
    for number in range(draw(st.integers(2, 3))):
        text = ""
        for sentence in draw(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=8)):
            gap = draw(st.sampled_from([" ", "\n", "\n\n", f"\n\n# Part {number}\n\n"]))
            words = draw(st.sampled_from([" ", "  ", "\n"])).join(sentence.split())
            text += gap + draw(st.sampled_from([words, words.upper()]))
        documents.append(Document(text=text.strip(), id_=f"d{number}"))
    return documents


PARSERS = st.sampled_from(
    [
        get_parser("sentence", window=1),
        get_parser("recursive", chunk_size=20, chunk_overlap=0),
        get_parser("fixed", chunk_size=90, chunk_overlap=30),
    ]
)


SPACED = "  ".join(SENTENCES[0].split())
COPIED = [
    Document(text=SENTENCES[2], id_="d0"),
    Document(text=f"{SPACED} {SENTENCES[2]}", id_="d1"),
]
"""The second half of the last text begins with the full stop before the sentence of both."""


@given(_documents(), PARSERS, st.booleans(), st.sampled_from([30, 60, 10**5]), st.randoms())
@example(COPIED, get_parser("sentence", window=1), False, 10**5, Random(0))  # noqa: S311 -- a fixed order
def test_no_sentence_is_read_twice_across_documents_and_every_place_says_it(
    documents: list[Document], parser: object, sentences: bool, budget: int, random: Random
) -> None:
    nodes = parser.get_nodes_from_documents(documents)  # type: ignore[attr-defined]
    random.shuffle(nodes)
    hits = [Hit(node, rank, 1 / rank) for rank, node in enumerate(nodes, start=1)]
    read = Sentences(QUESTION, hits).hits(budget) if sentences else with_places(hits)
    packed = pack(read, budget)
    texts = {document.id_: document.text for document in documents}
    by_sentence = _read_in(packed)
    assert all(len(occurrences) == 1 for occurrences in by_sentence.values())
    for hit in packed.hits:
        _check_places(hit, texts)
    if budget == 10**5:  # all is read, so all places of what is read are named
        named = _named_in(packed)
        for sentence, [own] in by_sentence.items():
            for other in texts.keys() - {own}:
                for match in re.finditer(_pattern(sentence), texts[other], re.IGNORECASE):
                    visible = {at for at in range(*match.span()) if not texts[other][at].isspace()}
                    assert visible <= named[other]


def _check_places(hit: Hit, texts: dict[str, str]) -> None:
    """Every further place of a hit and of its halves is an exact slice that says the same.

    Or nearly the same, where it does not hold the half itself.
    """
    half = len(hit.read.text) // 2
    whole = {
        node.ref_doc_id for node in hit.also if normalised(node.text) == normalised(hit.read.text)
    }
    for start, end in ((0, half), (half, len(hit.read.text))):
        quote = hit.read.text[start:end]
        places = cite_passage(1, hit, start, end).also
        assert whole <= {place.document_id for place in places}
        for place in places:
            assert texts[place.document_id][place.start : place.end] == place.quote
            if normalised(quote) in normalised(place.quote):
                assert normalised(place.quote) == normalised(quote)
            else:
                assert are_near_equal(place.quote, quote)
    for node in hit.also:
        text = texts[node.ref_doc_id or ""]
        assert text[node.start_char_idx : node.end_char_idx] == node.text
        is_part = normalised(node.text) in normalised(hit.read.text)
        assert is_part or are_near_equal(node.text, hit.read.text)


def _pattern(sentence: str) -> str:
    return r"\s+".join(map(re.escape, sentence.split()))


def _read_in(packed: Packed) -> dict[str, set[str]]:
    """The documents in which each sentence is read."""
    documents_by_sentence: dict[str, set[str]] = defaultdict(set)
    for source in packed.sources:
        text = normalised(source.text)
        for sentence in SENTENCES:
            if normalised(sentence) in text:
                documents_by_sentence[sentence].add(source.hits[0].node.ref_doc_id or "")
    return documents_by_sentence


def _named_in(packed: Packed) -> dict[str, set[int]]:
    """The characters of each document that are named as further places."""
    positions_by_document: dict[str, set[int]] = defaultdict(set)
    for hit in packed.hits:
        for node in hit.also:
            positions_by_document[node.ref_doc_id or ""] |= {
                *range(node.start_char_idx, node.end_char_idx)
            }
    return positions_by_document


def _answer(store: Store, models: Models, documents: list[Document], **options: Any) -> Answer:
    size = 250 if "budget" in options else 2000
    parser = get_parser("recursive", chunk_size=size, unit="characters", chunk_overlap=0)
    report = ingest_documents(documents, {"p": parser}, store, models=models)
    engine = RagNodesQueryEngine(
        store=store,
        collection=report.columns[0].collection,
        models=models,
        options=QueryOptions(**options),
    )
    return engine.answer("Who wears a helmet in hall 7 by rule 7?")


def _notice(name: str, text: str = NOTICE) -> Document:
    return Document(text=text, id_=name, metadata={"file_name": f"{name}.md"})


def test_a_copy_costs_no_budget_and_is_named(store: Store, offline: Models) -> None:
    rest = [f"The {number}th guest came by train and stayed for lunch." for number in range(40)]
    for number in range(0, 40, 7):
        rest[number] = f"Rule {number} says that people wear a helmet in hall {number}."
    text = " ".join(rest)
    answer = _answer(store, offline, [_notice("a", text), _notice("b", text)], budget=96)
    read = "".join(source.text for source in answer.sources)
    assert all(sentence in read for sentence in rest[::7])
    for citation in answer.citations:
        assert citation.file_name == "a.md"
        assert [(place.file_name, place.quote) for place in citation.also] == [
            ("b.md", citation.quote)
        ]
    plain = answer.as_dict()
    assert plain["citations"][0]["also"][0]["quote"] == answer.citations[0].quote
    assert plain["hits"][0]["also"][0]["text"] in text
    assert plain["sources"][0]["also"][0]["file_name"] == "b.md"


@pytest.mark.parametrize(
    ("changed", "times"), [("wear one helmet", 1), ("flags", 1), ("in hall 17", 2)]
)
def test_a_near_equal_passage_is_one_source_unless_a_number_differs(
    store: Store, offline: Models, changed: str, times: int
) -> None:
    old = {"wear one helmet": "wear a helmet", "flags": "vests", "in hall 17": "in hall 7"}
    head, rule, tail = NOTICE.partition("Rule 7 says")
    other = head + rule + tail.replace(old[changed], changed, 1)
    answer = _answer(store, offline, [_notice("a"), _notice("b", other)], granularity="chunks")
    read = "".join(source.text for source in answer.sources)
    assert (read.count("Rule 7 says"), read.count("Rule 6 says")) == (times, 1)
    assert {place.file_name for place in answer.sources[0].also} == {"b.md"}


def test_short_sentences_stay_with_those_around_them(store: Store, offline: Models) -> None:
    texts = ["Do cooks wear a helmet? Yes, always.", "Do guests wear gloves by rule? Yes, always."]
    documents = [_notice(f"d{number}", text) for number, text in enumerate(texts)]
    answer = _answer(store, offline, documents)
    assert sorted(source.text for source in answer.sources) == sorted(texts)


@pytest.mark.parametrize("granularity", ["sentences", "chunks"])
def test_an_answer_that_stands_in_a_copy_counts_as_found(granularity: str) -> None:
    documents = (_notice("a"), _notice("b", f"Preface of the second edition.\n\n{NOTICE}"))
    questions = []
    for document in documents:
        start = document.text.index("Rule 7")
        gold = Passage(document.id_, Span(start, document.text.index(" Rule 8")))
        questions.append(Question(document.id_, "Who wears a helmet by rule 7?", ((gold,),)))
    options = QueryOptions(granularity=granularity)  # type: ignore[arg-type]
    plan = EvaluationPlan(budgets=(60,), sizes=(), target=None, draws=100, options=options)
    parser = get_parser("recursive", chunk_size=200, chunk_overlap=0)
    report = evaluate(Dataset("d", documents, tuple(questions)), {"p": parser}, plan=plan)
    [row] = [row for row in report.rows if row.name == "p"]
    assert [outcome.scores["recall@60"] for outcome in row.outcomes] == [1.0, 1.0]
    assert all(outcome.scores["tokens@60"] <= 60 for outcome in row.outcomes)
    assert all(outcome.scores["precision@60"] <= 1 for outcome in row.outcomes)
