"""Labelled questions made on the page: what becomes of selections."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from visits import DIARY, VISITOR, Click, Request, visiting

from rag_nodes.apps.tabs.document import DocumentEvents
from rag_nodes.apps.tabs.labelling import LabelEvents, selected
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.core.settings import Settings

REQUEST: Any = Request()
QUOTE = "It rained on day 7."


@pytest.fixture
def sessions(settings: Settings, tmp_path: Path) -> Iterator[PageSessions]:
    with visiting(settings, tmp_path / "diary.md", DIARY, Choice(("fixed", "heading"))) as opened:
        yield opened


@pytest.fixture
def session(sessions: PageSessions) -> PageSession:
    return sessions.of(VISITOR)


def _selection(session: PageSession, quote: str = QUOTE, **other: Any) -> Any:
    document = session.documents[0]
    start = document.text.index(quote)
    sent = {"document": document.id_, "start": start, "end": start + len(quote), "text": quote}
    return Click(**{**sent, **other})


def test_blank_space_around_a_selection_is_not_gold(session: PageSession) -> None:
    sent = _selection(session, f"\n\n{QUOTE}")._data
    passage = selected(session.cuts, sent)
    assert passage is not None
    assert passage.span.of(session.documents[0].text) == QUOTE


@pytest.mark.parametrize(
    "other",
    [
        {"text": "It rained on day 8."},
        {"text": ""},
        {"start": 1},
        {"end": 10**9},
        {"end": "x"},
        {"document": "another"},
    ],
)
def test_a_selection_that_is_not_what_stands_there_is_refused(
    session: PageSession, other: dict[str, Any]
) -> None:
    assert selected(session.cuts, _selection(session, **other)._data) is None


def test_passages_that_overlap_become_one_and_can_be_taken_back(
    sessions: PageSessions, session: PageSession
) -> None:
    events = LabelEvents(sessions, DocumentEvents(sessions))
    for text in ("rained on day 7.", "day 7. Nobody", "It rained on day 20."):
        events.mark("fixed", 1, REQUEST, _selection(session, text))
    text = session.documents[0].text
    marked = [one.span.of(text) for one in session.questions.marked]
    assert marked == ["rained on day 7. Nobody", "It rained on day 20."]
    events.unmark("fixed", "", 1, REQUEST, Click(act="unmark", passage=0))
    assert len(session.questions.marked) == 1
