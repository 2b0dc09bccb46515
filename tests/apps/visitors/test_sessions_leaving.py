"""Sessions that end: whoever comes next neither waits for them nor hears of their troubles."""

import threading

import pytest

from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.core.errors import StoreError
from rag_nodes.core.settings import Settings
from rag_nodes.operations.workspace.sessions import Sessions

PATIENCE = 60
"""Seconds after which something counts as stuck."""


def test_the_next_visitor_does_not_wait_until_the_session_before_is_freed(
    settings: Settings,
) -> None:
    sessions = Sessions(lambda: PageSession(settings), most=1)
    answered, closed = threading.Event(), threading.Event()

    def close() -> None:
        assert answered.wait(PATIENCE)
        closed.set()

    sessions.of("slow").close = close  # type: ignore[method-assign]
    assert sessions.of("next") is sessions.of("next")
    assert not closed.is_set()
    answered.set()
    assert closed.wait(PATIENCE)


def test_a_session_that_cannot_be_freed_fails_no_other(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    sessions = Sessions(lambda: PageSession(settings))
    closed: list[str] = []

    def fail() -> None:
        raise StoreError("the store is gone")

    sessions.of("a").close = fail  # type: ignore[method-assign]
    sessions.of("b").close = lambda: closed.append("b")  # type: ignore[method-assign]
    sessions.end("a")
    sessions.of("a").close = fail  # type: ignore[method-assign]
    sessions.close()
    assert closed == ["b"]
    assert len(sessions) == 0
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == [
        "the store is gone"
    ] * 2
