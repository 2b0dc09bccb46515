"""Nothing runs in the background before somebody opens the page."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from visits import Request

from rag_nodes.apps import build_app
from rag_nodes.apps.visitors.sessions import PageSessions, session_of
from rag_nodes.parsers.isolation import IsolatedCutting
from rag_nodes.settings import Settings


@pytest.fixture
def warmed(monkeypatch: pytest.MonkeyPatch) -> list[IsolatedCutting]:
    calls: list[IsolatedCutting] = []

    def warm_up(self: IsolatedCutting) -> None:
        calls.append(self)

    monkeypatch.setattr(IsolatedCutting, "warm_up", warm_up)
    return calls


def test_building_the_app_starts_no_thread_and_no_process(
    warmed: list[IsolatedCutting],
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> None:
    before = set(threading.enumerate())
    with leaks_collected():
        build_app(Settings(embedding="lexical", llm="extractive"))
    assert set(threading.enumerate()) <= before
    assert warmed == []


def test_the_first_visitor_has_the_process_that_splits_documents_started(
    warmed: list[IsolatedCutting],
) -> None:
    sessions = PageSessions(Settings(embedding="lexical", llm="extractive"))
    session_of(sessions, Request())  # type: ignore[arg-type] # it has what is asked for
    sessions.close()
    assert len(warmed) == 1
