"""One visitor's labelled questions: added, changed and removed, and gone with their documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from llama_index.core.schema import Document
from visits import ignore

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.spans import Span
from rag_nodes.workspace import Choice
from rag_nodes.workspace.questions import MOST_QUESTIONS, Questions

if TYPE_CHECKING:
    from pathlib import Path

    from rag_nodes.workspace import Session

DOCUMENT = Document(id_="one", text="The ferry leaves at nine.")


def _asked(name: str, document: str = "one") -> Question:
    return Question(name, "When does it leave?", ((Passage(document, Span(20, 24)),),))


def test_a_question_that_is_added_again_takes_the_place_of_the_first() -> None:
    questions = Questions()
    questions.add([_asked("a"), _asked("b")], [DOCUMENT])
    dataset = questions.add([replace(_asked("a"), text="At what time?")], [DOCUMENT])
    assert [one.text for one in dataset.questions] == ["At what time?", "When does it leave?"]
    assert questions.dataset is dataset


def test_a_question_is_changed_in_its_place_and_one_that_is_gone_is_not() -> None:
    questions = Questions()
    questions.add([replace(_asked("a"), draft=True), _asked("b")], [DOCUMENT])
    changed = questions.change("a", lambda one: replace(one, draft=False))
    assert changed == _asked("a")
    assert questions.change("c", lambda one: one) is None
    assert questions.remove("b") == _asked("b")
    assert questions.remove("b") is None
    assert len(questions) == 1


def test_too_many_questions_are_refused_and_the_others_stay() -> None:
    questions = Questions()
    questions.add([_asked("a")], [DOCUMENT])
    with pytest.raises(DatasetError, match="more than the 1,000 one visitor may keep"):
        questions.add([_asked(str(one)) for one in range(MOST_QUESTIONS)], [DOCUMENT])
    assert len(questions) == 1


def test_questions_stay_with_their_documents_and_go_with_them(
    session: Session, red: Path, blue: Path
) -> None:
    session.load([red], Choice(("fixed",)), ignore)
    of_red = _asked("a", session.documents[0].id_)
    session.questions.use(Dataset("mine", session.documents, (of_red,)))
    session.load([], Choice(("heading",)), ignore)
    assert len(session.questions) == 1
    session.load([blue], Choice(("heading",)), ignore)
    assert session.questions.dataset is None
