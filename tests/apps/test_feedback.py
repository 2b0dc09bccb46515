"""Whether an answer was helpful: remembered with its turn, and taken back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from visits import VISITOR, Click, Request, visiting

from rag_nodes.apps.tabs.compare.events import CompareEvents
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.core.settings import Settings


@pytest.fixture
def sessions(settings: Settings, tmp_path: Path) -> Iterator[PageSessions]:
    choice = Choice(("fixed", "heading"))
    with visiting(settings, tmp_path / "a.md", "It rained.", choice) as opened:
        opened.of(VISITOR).ask("Did it rain?")
        yield opened


def _said(sessions: PageSessions, **sent: object) -> dict[str, bool]:
    CompareEvents(sessions).pick(Request(), Click(act="helpful", **sent))
    return dict(sessions.of(VISITOR).turns[0].marks)


def test_what_was_helpful_is_remembered_changed_and_taken_back(sessions: PageSessions) -> None:
    assert _said(sessions, turn=1, column=1, verdict="yes") == {"fixed": True}
    assert _said(sessions, turn=1, column=2, verdict="no") == {"fixed": True, "heading": False}
    assert _said(sessions, turn=1, column=1, verdict="no") == {"fixed": False, "heading": False}
    assert _said(sessions, turn=1, column=1, verdict="no") == {"heading": False}


@pytest.mark.parametrize(
    "sent",
    [
        {"turn": 2, "column": 1, "verdict": "yes"},
        {"turn": 1, "column": 3, "verdict": "yes"},
        {"turn": 1, "column": 0, "verdict": "yes"},
        {"turn": 1, "column": 1, "verdict": "best"},
        {},
    ],
)
def test_what_the_page_never_offered_is_ignored(
    sessions: PageSessions, sent: dict[str, object]
) -> None:
    assert _said(sessions, **sent) == {}
