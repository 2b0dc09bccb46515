"""Questions made of documents that have none: exact, spread out, the same again, and honest."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from llama_index.core import Document

from rag_nodes.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.checks import check_dataset
from rag_nodes.evaluation.drafts import DRAFT_KINDS, draft_questions
from rag_nodes.evaluation.importers.placing import place
from rag_nodes.evaluation.importers.rows import plain_of, read_rows

MANUAL = """\
# Tea machine

The machine was built for small offices and hotels that serve tea from morning to night.

## 1.2 Filling

Lift the lid and pour water into the tank, never above the red line on its inner wall.

The tank holds 9 litres of water and lasts for about forty cups on an ordinary day.

A strainer is a fine sieve of steel that keeps loose leaves out of the cup below it.

## Cleaning

Do the following once a week:

- Rinse the tank with vinegar diluted in lukewarm water
- Wipe the spout with a soft cloth until nothing drips
- Empty the drawer for used leaves

| Part | Interval | Agent |
|------|----------|-------|
| Boiler_valve | monthly | citric acid in warm water, left there for an hour |
| Spout | weekly | soft cloth and lukewarm water without any soap |

Hotels in the mountains descale their boilers twice as often as offices near the coast do.
"""


def manual(text: str = MANUAL, name: str = "manual") -> Document:
    return Document(text=text, id_=name, metadata={"file_name": f"{name}.md"})


def drafts(kind: str, text: str = MANUAL) -> dict[str, str]:
    dataset = draft_questions([manual(text)], kinds=[kind])  # type: ignore[list-item]
    return {one.text: dataset.quote(one.gold[0][0]) for one in dataset.questions}


def test_what_stands_below_a_heading_answers_it_without_its_number() -> None:
    found = drafts("heading")
    answer = found["What do I need to know about Filling (Tea machine)?"]
    assert answer.startswith("Lift the lid")
    assert answer.endswith("below it.")


def test_a_heading_of_any_text_is_asked_for_with_the_one_above_it_or_not_at_all() -> None:
    body = "Lift the lid and pour water into the tank, never above the red line."
    filled = f"# Introduction\n\n{body}\n\n# Tank\n\n## Overview\n\n{body.upper()}\n"
    assert list(drafts("heading", filled)) == ["What do I need to know about Overview (Tank)?"]
    below = f"# Introduction\n\n## Tank\n\n{body}\n"
    assert list(drafts("heading", below)) == ["What do I need to know about Tank?"]


@pytest.mark.parametrize("heading", ["References", "Table of Contents", "7. Literaturverzeichnis"])
def test_nothing_is_asked_about_what_leads_to_other_places(heading: str) -> None:
    text = (
        f"# {heading}\n\nHarbour Council wrote about the strainers of old machines up north.\n\n"
        "- Machines of the northern harbour\n- Strainers of the southern harbour and its quays\n"
    )
    with pytest.raises(DatasetError):
        draft_questions([manual(text)])


@pytest.mark.parametrize(
    "text",
    [
        "# Machines\n\nThe filling of a tank in the old machines of the harbour ... 12\n",
        "Smith, I.; Robertson, J.; Kilburn, L.; Wilcox, M. Treatment of breast cancer tissue.\n",
        "what came before the end of a page belongs to no sentence that anybody could ask for.\n",
    ],
)
def test_entries_authors_and_halves_of_sentences_are_not_asked_about(text: str) -> None:
    with pytest.raises(DatasetError):
        draft_questions([manual(text)])


def test_a_sentence_is_asked_with_words_that_stand_together_in_it() -> None:
    text = (
        "However, federal agencies may closely follow the development of national standards.\n\n"
        "Other agencies develop a national plan and wait for federal standards to be published.\n"
    )
    found = {answer: asked for asked, answer in drafts("sentence", text).items()}
    asked = next(asked for answer, asked in found.items() if answer.startswith("However"))
    assert "federal agencies" in asked or "national standards" in asked
    assert "However" not in asked
    assert "closely" not in asked


def test_a_phrase_ends_where_a_verb_or_a_preposition_stands() -> None:
    text = (
        "Until the data become available, using local Ki67 protocols is acceptable there.\n\n"
        "Testing should be performed upon request of an oncologist within four weeks of surgery.\n"
    )
    asked = " ".join(drafts("sentence", text))
    assert "local Ki67 protocols" in asked
    assert not {"become", "performed", "upon", "within"} & set(asked.split())


@pytest.mark.parametrize(
    "mention", ["[13]", "(https://example.org/v2/p4)", "(see Figure 4)", "with MIB-1"]
)
def test_the_number_of_another_place_is_no_amount(mention: str) -> None:
    text = f"Pathologists of the task force recommend the open platform for scoring {mention}.\n"
    assert not any(one.startswith("How many") for one in drafts("sentence", text))


def test_what_is_done_is_no_term_and_how_often_belongs_to_none() -> None:
    text = (
        "Achieving the highest performance possible is a priority in design and operation.\n\n"
        "A burst buffer commonly refers to a caching mechanism for systems of storage.\n"
    )
    assert list(drafts("definition", text)) == ["What is meant by burst buffer?"]


def test_the_letter_of_an_appendix_is_no_part_of_its_heading() -> None:
    text = (
        "# Appendix B. Acoustic horn\n\nThe horn is tested by the mate on every Sunday at noon.\n"
    )
    assert list(drafts("heading", text)) == ["What do I need to know about Acoustic horn?"]
    references = (
        "# Appendix A References\n\nBecker and Chambers wrote a book about the language S.\n"
    )
    with pytest.raises(DatasetError):
        drafts("heading", references)


def test_a_list_behind_an_empty_phrase_is_asked_for_by_its_heading() -> None:
    text = (
        "# Spare parts\n\nFor example:\n\n- A strainer of fine steel\n- A lid of brass or of tin\n"
    )
    assert list(drafts("list", text)) == ["Which are they: Spare parts?"]


def test_a_heading_that_asks_is_asked_as_it_is() -> None:
    text = f"# How do I fill it?\n\n{'Lift the lid and pour water into the tank slowly.'}\n"
    assert list(drafts("heading", text)) == ["How do I fill it?"]


def test_a_term_is_asked_for_where_it_is_explained() -> None:
    [(asked, answer)] = drafts("definition").items()
    assert asked == "What is meant by strainer?"
    assert answer.startswith("A strainer is a fine sieve")


def test_a_list_is_asked_for_in_the_words_before_it() -> None:
    [(asked, answer)] = drafts("list").items()
    assert asked == "Which are they: Do the following once a week (Cleaning)?"
    assert answer.startswith("- Rinse")
    assert answer.endswith("used leaves")


def test_a_cell_is_asked_for_by_its_row_and_column_and_the_row_answers() -> None:
    found = drafts("table")
    assert set(found) <= {
        "What is the Interval of Boiler_valve?",
        "What is the Agent of Boiler_valve?",
        "What is the Interval of Spout?",
        "What is the Agent of Spout?",
    }
    assert len(found) == 2
    assert all(answer.startswith("| ") and answer.endswith(" |") for answer in found.values())


def test_a_sentence_is_asked_for_with_a_few_of_its_words_and_without_its_number() -> None:
    found = {answer: asked for asked, answer in drafts("sentence").items()}
    asked = found[
        "The tank holds 9 litres of water and lasts for about forty cups on an ordinary day."
    ]
    assert asked.startswith("How many or how much is it for ")
    assert asked.endswith(" (Filling)?")
    assert "9" not in asked
    assert len(asked.split()) < 16


def test_every_draft_is_marked_and_measured() -> None:
    dataset = draft_questions([manual()])
    assert all(one.draft and one.kind in DRAFT_KINDS for one in dataset.questions)
    found = check_dataset(dataset)
    assert found.is_sound
    assert found.drafts == len(dataset.questions) >= 5
    assert 0 < found.leakage < 0.8


def test_the_same_documents_and_seed_give_the_same_questions_and_another_seed_others() -> None:
    long = manual("\n\n".join(prose(number) for number in range(60)))
    first, again = (draft_questions([long], count=10).questions for _ in range(2))
    assert first == again
    assert draft_questions([long], count=10, seed=1).questions != first


def test_ids_do_not_depend_on_what_else_is_drafted_or_on_where_the_document_lies() -> None:
    alone = {one.text: one.id for one in draft_questions([manual()], kinds=["list"]).questions}
    among = draft_questions(
        [manual(prose(1), "other"), manual(name="moved")], kinds=["list", "sentence"]
    ).questions
    assert alone.items() <= {one.text: one.id for one in among}.items()


def test_questions_are_spread_over_documents_and_over_each_of_them() -> None:
    documents = [
        manual("\n\n".join(prose(100 * at + number) for number in range(40)), f"doc-{at}")
        for at in range(3)
    ]
    dataset = draft_questions(documents, count=12)
    assert Counter(one.document for one in dataset.questions) == {
        document.id_: 4 for document in documents
    }
    for document in documents:
        starts = [one.gold[0][0].span.start for one in dataset.questions
                  if one.document == document.id_]  # fmt: skip
        quarters = {4 * start // len(document.text) for start in starts}
        assert quarters == {0, 1, 2, 3}


def test_answers_do_not_overlap() -> None:
    dataset = draft_questions([manual()], count=100)
    spans = sorted(one.gold[0][0].span for one in dataset.questions)
    assert all(left.end <= right.start for left, right in pairwise(spans))


def test_the_same_words_in_two_places_are_two_answers() -> None:
    text = "Gulls follow every trawler that lands herring at the northern quay before sunrise."
    copy = text.replace("every trawler", "every\ntrawler")
    dataset = draft_questions([manual(text, "a"), manual(f"Seen again.\n\n{copy}", "b")])
    [question] = dataset.questions
    assert sorted(answer[0].document for answer in question.gold) == ["a", "b"]


def test_what_stands_everywhere_is_not_asked_about() -> None:
    footer = "Printed by the harbour office for internal use and not to be given to anybody else."
    text = "\n\n".join(f"{prose(number)}\n\n{footer}" for number in range(12))
    dataset = draft_questions([manual(text)], count=200)
    assert footer not in {dataset.quote(one.gold[0][0]) for one in dataset.questions}


def test_two_sections_of_one_name_are_not_asked_about() -> None:
    body = "Nobody may run the washing machine between {} in the evening and sunrise."
    text = f"# Rules\n\n{body.format('nine')}\n\n# Rules\n\n{body.format('eleven')}\n"
    with pytest.raises(DatasetError, match="could be asked about"):
        drafts("heading", text)


def test_who_speaks_is_no_term() -> None:
    text = "Ann Lee: We should meet again before the harbour council votes on the new quay.\n"
    with pytest.raises(DatasetError):
        drafts("definition", text)
    [(asked, _)] = drafts("definition", f"- {text}- Bo: none\n").items()
    assert asked == "What is meant by Ann Lee?"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Der Steuermann ist ein Mann, der auf See das Schiff führt und es nie verlässt.",
         "Was ist Steuermann?"),
        ("鼠疫耶氏菌是一种能够引起鼠疫的细菌，曾经在中世纪的欧洲造成大量人口的死亡。",  # noqa: RUF001
         "什么是鼠疫耶氏菌？"),  # noqa: RUF001
        ("Kapten Larsson seglade fartyget till Göteborg genom storm, dimma och vatten.", None),
    ],
)  # fmt: skip
def test_questions_are_in_the_language_of_the_document_or_keywords(
    text: str, asked: str | None
) -> None:
    [question] = draft_questions([manual(text)], kinds=["definition", "sentence"]).questions
    if asked:
        assert question.text == asked
    else:
        assert question.text.isprintable()
        assert "?" not in question.text
        assert all(word in text for word in question.text.split())


def test_drafts_survive_our_own_format() -> None:
    dataset = draft_questions([manual()])
    read = place(read_rows(plain_of(dataset)), dataset.documents, "again")
    assert read.questions == dataset.questions


@pytest.mark.parametrize("given", [{"count": 0}, {"kinds": ["poem"]}, {"kinds": []}])
def test_what_cannot_be_drafted_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        draft_questions([manual()], **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "1 2 3\n\n4 5 6", "Short."])
def test_documents_without_prose_are_said_to_have_nothing(text: str) -> None:
    with pytest.raises(DatasetError, match="too little prose"):
        draft_questions([manual(text)])


def prose(number: int) -> str:
    """A sentence that is like no other."""
    names = ("gull", "heron", "otter", "marten", "plover", "dunlin", "curlew")
    first, second = names[number % 7], names[(number // 7 + 3) % 7]
    return (
        f"Keeper kee{number}per of the {first} house wrote down how the {second} of "
        f"bay{number}shore came back with sand{number}worms after the long winter storms."
    )
