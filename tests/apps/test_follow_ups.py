"""A question that refers to the one before is answered as one that stands alone."""

from pathlib import Path

import pytest
from visits import VISITOR, visiting

from rag_nodes.apps.tabs.compare.events import history
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.models import Models
from rag_nodes.query.chat import completed
from rag_nodes.settings import Settings

BEFORE = [("When must the sand filter be rinsed?", "At 2.4 bar.")]
OFFLINE = Models.of()


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("And at night?", "sand filter rinsed And at night?"),
        ("How long does it take?", "sand filter rinsed How long does it take?"),
        ("Why?", "sand filter rinsed Why?"),
        ("When do quiet hours begin?", "When do quiet hours begin?"),
    ],
)
def test_only_a_question_that_refers_back_is_completed(question: str, searched: str) -> None:
    found = completed(question, BEFORE, OFFLINE)
    assert found.split()[-len(question.split()) :] == question.split()
    assert ("sand" in found) == (found != question) == (searched != question)
    assert completed(question, [], OFFLINE) == question


def test_the_page_says_what_a_follow_up_was_searched_as(settings: Settings, tmp_path: Path) -> None:
    text = "The sand filter is rinsed at 2.4 bar.\n\nRinsing the sand filter takes an hour."
    with visiting(settings, tmp_path / "a.md", text, Choice(("fixed",))) as sessions:
        session = sessions.of(VISITOR)
        session.ask("When is the sand filter rinsed?")
        turn = session.ask("How long does it take?")
    assert "sand" in turn.searched
    assert turn.report is not None
    assert turn.report.question == turn.searched
    assert "searched for as" in history([turn], ready=True)
