"""Whose session a page gets: that of its browser tab, known by a token, and nobody else's."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from visits import ignore

from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.settings import Settings

TOKEN, OTHER = "ab" * 24, "cd" * 24
CHOICE = Choice(("fixed",))


@pytest.fixture
def sessions(settings: Settings) -> Iterator[PageSessions]:
    opened = PageSessions(settings)
    yield opened
    opened.close()


def test_whoever_has_another_token_or_another_name_gets_another_session(
    sessions: PageSessions,
) -> None:
    mine = sessions.attach("mine", TOKEN, "ada")
    theirs = [
        sessions.attach("second tab", OTHER, "ada"),
        sessions.attach("stolen", TOKEN, "eve"),
        sessions.attach("not logged in", TOKEN),
        sessions.of("no token"),
    ]
    assert mine not in theirs
    assert len({id(one) for one in theirs}) == 4


@pytest.mark.parametrize("token", ["", "short", "AB" * 24, "ab" * 25, "../" * 16, "ab" * 23 + "\n"])
def test_a_token_that_no_page_of_ours_made_opens_a_session_for_this_page_only(
    sessions: PageSessions, token: str
) -> None:
    assert sessions.attach("first", token) is not sessions.attach("second", token)


def test_what_was_done_before_the_token_was_known_is_kept(
    sessions: PageSessions, red: Path
) -> None:
    early = sessions.of("page")
    early.load([red], CHOICE, ignore)
    assert sessions.attach("page", TOKEN) is early
    assert len(sessions) == 1


def test_an_event_beside_the_one_that_tells_the_token_gets_the_session_of_the_tab(
    sessions: PageSessions,
) -> None:
    lock = sessions._lock

    class TakenMeanwhile:
        """The lock of an event that waits while the token is told."""

        def __enter__(self) -> None:
            sessions._lock = lock
            sessions.attach("page", TOKEN)
            lock.acquire()

        def __exit__(self, *_: object) -> None:
            lock.release()

    sessions._lock = TakenMeanwhile()
    assert sessions.of("page") is sessions.attach("page", TOKEN)
    assert len(sessions) == 1


def test_a_script_that_leaves_is_forgotten_and_a_tab_is_not(sessions: PageSessions) -> None:
    sessions.of("script")
    tab = sessions.attach("page", TOKEN)
    sessions.detach("script")
    sessions.detach("page")
    assert len(sessions) == 1
    assert sessions.attach("page again", TOKEN) is tab


def test_only_a_hash_of_the_token_is_kept_and_that_opens_nothing(sessions: PageSessions) -> None:
    sessions.attach("page", TOKEN)
    (key,) = sessions._sessions
    assert TOKEN not in repr(sessions.__dict__)
    with pytest.raises(ConfigurationError, match="reload"):
        sessions.of(key)


def test_a_tab_without_a_document_ends_after_ten_minutes_and_one_with_it_after_two_hours(
    settings: Settings, red: Path
) -> None:
    now = [0.0]
    sessions = PageSessions(settings, clock=lambda: now[0])
    sessions.attach("empty", OTHER)
    sessions.attach("full", TOKEN).load([red], CHOICE, ignore)
    now[0] = 601.0
    sessions.sweep()
    assert len(sessions) == 1
    assert sessions.of("full").ready
    now[0] += 2 * 3600 + 1
    sessions.sweep()
    assert len(sessions) == 0
    sessions.close()
