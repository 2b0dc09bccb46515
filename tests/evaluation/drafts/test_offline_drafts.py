"""Drafts without a model: headings that are questions, exact places, and nothing made up."""

import pytest
from llama_index.core.schema import Document

from rag_nodes.core.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.drafts import draft_questions, fewer

HANDBOOK = """\
# Harbour handbook

The harbour handbook is for those who work on the quay, and it is read once a year by everybody.

## 2.1 Loading a ferry

Two lines are thrown ashore before the engine stops. A **bollard** is a short post on a quay.

## 2.3 How is the ramp lowered?

The ramp is lowered from the bridge while the deck hand looks whether anybody stands below it.

## ¿Cómo se abre la puerta grande?

La puerta se abre con la llave que está en la caja de la entrada, y se cierra por la noche.

## How does it work?

It works as all of the others do, and that is as well as can be expected of it.

## Was ist bei Feuer zu tun?

Alle verlassen das Lager durch die nächste Tür und treffen sich auf dem Platz vor der Halle.

## Which ferry is the fastest?

Ask.

## References

### Where is the manual of harbours kept?

The manual of harbours is kept in the cellar, second edition, with all of the other books.
"""
TEXTS = {
    "How is the ramp lowered?": "The ramp is lowered from the bridge while the deck hand looks "
    "whether anybody stands below it.",
    "¿Cómo se abre la puerta grande?": "La puerta se abre con la llave que está en la caja de la "
    "entrada, y se cierra por la noche.",
    "Was ist bei Feuer zu tun?": "Alle verlassen das Lager durch die nächste Tür und treffen sich "
    "auf dem Platz vor der Halle.",
}


def draft_from(text: str, **given: object) -> Dataset:
    return draft_questions([Document(text=text, id_="one")], **given)  # type: ignore[arg-type]


def quotes_by_question(dataset: Dataset) -> dict[str, str]:
    return {question.text: dataset.quote(question.gold[0][0]) for question in dataset.questions}


def test_headings_that_are_questions_are_asked_in_any_language_and_answered_by_their_section() -> (
    None
):
    dataset = draft_from(HANDBOOK)
    assert quotes_by_question(dataset) == TEXTS
    assert all(question.draft and question.kind == "asked" for question in dataset.questions)


def test_a_document_that_holds_its_text_twice_gives_the_same_questions_with_two_answers() -> None:
    twice = draft_from(f"{HANDBOOK}\n{HANDBOOK}")
    assert quotes_by_question(twice) == TEXTS
    assert {len(question.gold) for question in twice.questions} == {2}


def test_ambiguous_drafts_are_left_out() -> None:
    other = HANDBOOK.replace("lowered from the bridge", "lowered from the quay")
    drafts = draft_questions([Document(text=HANDBOOK, id_="a"), Document(text=other, id_="b")])
    assert {question.text for question in drafts.questions} == {*TEXTS} - {
        "How is the ramp lowered?"
    }


def test_a_question_whose_words_stand_in_three_documents_is_not_asked() -> None:
    others = [
        Document(text=f"The ramp of ferry {number} is lowered by hand.", id_=str(number))
        for number in range(2)
    ]
    drafts = draft_questions([Document(text=HANDBOOK, id_="a"), *others])
    assert "How is the ramp lowered?" not in {question.text for question in drafts.questions}


def test_the_order_of_documents_changes_nothing() -> None:
    other = "# Who opens the gate?\n\nThe gate is opened by whoever comes first in the morning."
    documents = [Document(text=HANDBOOK, id_="a"), Document(text=other, id_="b")]
    drafts, reverse = draft_questions(documents), draft_questions(documents[::-1])
    assert {each.id for each in drafts.questions} == {each.id for each in reverse.questions}


def test_few_are_the_same_again_and_another_seed_takes_others() -> None:
    few = draft_from(HANDBOOK, count=1)
    assert len(few.questions) == 1
    assert draft_from(HANDBOOK, count=1) == few
    seeds = [
        frozenset(quotes_by_question(draft_from(HANDBOOK, count=1, seed=seed))) for seed in range(6)
    ]
    assert len(set(seeds)) > 1


@pytest.mark.parametrize(
    "text",
    [
        "Ann: Well, I think we should open a window.\nBob: Yes, me too, as it is nice.\n" * 9,
        "# Cleaning the pump\n\nOpen the tap for a minute, until the water that leaves is clear.",
    ],
)
def test_documents_without_questions_as_headings_are_an_error_with_a_remedy(text: str) -> None:
    with pytest.raises(DatasetError, match=r"no heading .*: write questions yourself, or let an"):
        draft_from(text)


def test_questions_with_answers_of_a_word_are_not_said_to_be_no_questions() -> None:
    with pytest.raises(DatasetError, match="a question whose section has an answer of at least 8"):
        draft_from("## Is the ferry free on Sundays?\n\nYes.")


def test_fewer_drafts_than_requested_are_reported() -> None:
    dataset = draft_from(HANDBOOK)
    assert "3 of 40 questions found. Only 3 headings are questions" in fewer(dataset, 40)
    assert fewer(dataset, 3) == ""
    assert fewer(draft_from(HANDBOOK, count=1), 2).startswith(
        "1 of 2 questions found. Only 1 heading is"
    )


def test_drafts_of_no_question_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 1 question"):
        draft_from(HANDBOOK, count=0)
