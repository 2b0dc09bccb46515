"""One visitor's labelled questions: added, changed and removed, and gone with their documents."""

from dataclasses import replace
from pathlib import Path

import pytest
from llama_index.core.schema import Document
from visits import choose

from rag_nodes.apps.visitors.questions import Questions, suggested_questions
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.core.errors import DatasetError
from rag_nodes.evaluation.dataset import Dataset, NotLocated, Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.operations.workspace.limits import MOST_QUESTIONS
from rag_nodes.text.spans import Span

DOCUMENT = Document(id_="one", text="The ferry leaves at nine.")


def _make_question(name: str, document: str = "one") -> Question:
    return Question(name, "When does it leave?", ((Passage(document, Span(20, 24)),),))


def test_a_question_that_is_added_again_takes_the_place_of_the_first() -> None:
    questions = Questions()
    questions.add([_make_question("a"), _make_question("b")], [DOCUMENT])
    dataset = questions.add([replace(_make_question("a"), text="At what time?")], [DOCUMENT])
    assert [question.text for question in dataset.questions] == [
        "At what time?",
        "When does it leave?",
    ]
    assert questions.dataset is dataset


def test_a_question_is_changed_in_its_place_and_one_that_is_gone_is_not() -> None:
    questions = Questions()
    questions.add([replace(_make_question("a"), draft=True), _make_question("b")], [DOCUMENT])
    changed = questions.change("a", lambda item: replace(item, draft=False))
    assert changed == _make_question("a")
    assert questions.change("c", lambda item: item) is None
    assert questions.remove("b") == _make_question("b")
    assert questions.remove("b") is None
    assert len(questions) == 1


def test_too_many_questions_are_refused_and_the_others_stay() -> None:
    questions = Questions()
    questions.add([_make_question("a")], [DOCUMENT])
    with pytest.raises(DatasetError, match="1,001 questions, over the 1,000 of one visitor"):
        questions.add([_make_question(str(number)) for number in range(MOST_QUESTIONS)], [DOCUMENT])
    assert len(questions) == 1


def test_files_are_added_to_what_is_there_and_known_questions_replace_themselves() -> None:
    other = Document(id_="two", text="The bus to town leaves at ten.")
    first = Dataset(
        "mine", (DOCUMENT, other), (_make_question("row-1"), _make_question("row-2", "two"))
    )
    questions = Questions()
    questions.take(first)
    edited = replace(_make_question("row-1"), text="At what time?")
    moved = _make_question("row-9", "two")
    questions.take(replace(first, name="again", questions=(edited, moved)))
    dataset = questions.dataset
    assert dataset is not None
    assert [(question.id, question.text) for question in dataset.questions] == [
        ("row-1", "At what time?"),
        ("row-2", "When does it leave?"),
    ]
    assert dataset.name == "your questions"


def test_a_question_with_only_the_number_of_another_does_not_replace_it() -> None:
    questions = Questions()
    questions.take(Dataset("a", (DOCUMENT,), (_make_question("row-1"),)))
    gold = ((Passage("one", Span(4, 9)),),)
    new = Question("row-1", "What leaves?", gold)
    for _ in range(2):  # the second time it knows itself again
        taken = questions.take(Dataset("b", (DOCUMENT,), (new,)))
        assert [question.id for question in taken.questions] == ["row-1", "row-1 (2)"]


def test_questions_are_listed_as_not_located_until_they_are_located() -> None:
    lost = NotLocated("row-1", "When does it leave?", "at eleven", "stands nowhere")
    other = NotLocated("row-2", "Who?", "", "no answer")
    questions = Questions()
    questions.take(Dataset("a", (DOCUMENT,), (), (lost, other)))
    assert questions.take(Dataset("a", (DOCUMENT,), (_make_question("row-1"),))).not_located == (
        other,
    )


def test_questions_stay_with_their_documents_and_go_with_them(
    session: PageSession, red: Path, blue: Path
) -> None:
    choose(session, "fixed")
    session.load([red])
    of_red = _make_question("a", session.documents[0].id_)
    session.questions.take(Dataset("mine", session.documents, (of_red,)))
    choose(session, "heading")
    session.load()
    assert len(session.questions) == 1
    session.load([blue])
    assert session.questions.dataset is None


def test_only_what_somebody_would_ask_is_suggested() -> None:
    story = "# Let us eat\n\nWe had fish and bread.\n\n# Section 2.1\n\nThen we slept."
    assert suggested_questions([Document(text=story)], 4) == []
    guide = f"{story}\n\n# How do I rinse the pump?\n\nOpen the tap and let it run for a minute."
    assert suggested_questions([Document(text=guide)], 4) == ["How do I rinse the pump?"]
