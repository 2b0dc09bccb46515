"""No minute has more requests than allowed, and what fails is repeated until its time is up."""

import asyncio
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from fake_time import FakeTime
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.models import pacing
from rag_nodes.models.pacing import LONGEST_WAIT, RequestWindow, retried
from rag_nodes.models.pickling import Sharing

MINUTE = 60.0
GAPS = st.lists(st.tuples(st.floats(0, 30), st.integers(0, 150)), min_size=1, max_size=150)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    monkeypatch.setattr(pacing, "time", fake)
    monkeypatch.setattr(pacing, "pause", fake.sleep)
    monkeypatch.setattr(pacing, "asyncio", SimpleNamespace(sleep=fake.async_sleep))
    return fake


@given(st.integers(1, 40) | st.none(), st.integers(1, 100) | st.none(), GAPS)
def test_no_minute_has_more_requests_or_tokens_than_allowed(
    per_minute: int | None, tokens_per_minute: int | None, requests: list[tuple[float, int]]
) -> None:
    clock, started = FakeTime(), []
    window = RequestWindow(per_minute, tokens_per_minute=tokens_per_minute)
    with patch.multiple(pacing, time=clock, pause=clock.sleep):
        for gap, tokens in requests:
            clock.sleep(gap)
            window.acquire(tokens)
            started.append((clock.now, tokens))
    for first, _ in started:
        minute = [tokens for start, tokens in started if first <= start <= first + MINUTE]
        assert len(minute) <= (per_minute or len(minute))
        # One that is too large by itself is sent alone.
        if tokens_per_minute and sum(map(bool, minute)) > 1:
            assert sum(minute) <= tokens_per_minute


def test_a_window_holds_both_limits(clock: FakeTime) -> None:
    window = RequestWindow(2, tokens_per_minute=10)
    assert window.take(8) == 0
    assert window.take(8) > MINUTE, "tokens"
    assert window.take(2) == 0
    assert window.take(0) > MINUTE, "requests"
    assert clock.pauses == []


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("per_minute", "processes", "at_once", "wait"),
    [(20, 1, 20, 61), (30, 4, 7, 61), (0.5, 1, 1, 121), (2, 4, 1, 121)],
)
def test_processes_share_what_an_account_may_ask_and_may_have_less_than_one_a_minute(
    per_minute: float,
    processes: int,
    at_once: int,
    wait: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Sharing, "processes", processes)
    window = RequestWindow(per_minute)
    assert [window.take() for _ in range(at_once + 1)] == [*[0.0] * at_once, wait]
    tokens = RequestWindow(tokens_per_minute=100 * processes)
    assert [tokens.take(100), tokens.take(1)] == [0, 61]


async def test_tasks_side_by_side_share_one_window(clock: FakeTime) -> None:
    window = RequestWindow(3)
    starts: list[float] = []

    async def work() -> None:
        for _ in range(4):
            await window.async_acquire()
            starts.append(clock.now)

    await asyncio.gather(work(), work(), work())
    assert len(starts) == 12
    assert max(sum(start <= other <= start + MINUTE for other in starts) for start in starts) <= 3


def test_a_window_travels_to_another_process_empty() -> None:
    window = RequestWindow(0.5, tokens_per_minute=7)
    assert window.take() == 0
    arrived = pickle.loads(pickle.dumps(window))
    assert arrived.take() == 0
    assert (arrived.per_minute, arrived.tokens_per_minute) == (0.5, 7)


class AwayError(Exception):
    """The server does not answer."""


def _away(clock: FakeTime, seconds: float) -> Callable[[], str]:
    """A server that comes back after some seconds."""
    back = clock.now + seconds

    def request() -> str:
        if clock.now < back:
            raise AwayError
        return "an answer"

    return request


def _repeat_request(request: Callable[[], str], seconds: float, asked: float | None = 0.0) -> str:
    return retried(request, seconds, lambda _: asked, lambda: None, name="m")


@pytest.mark.parametrize(
    ("away", "seconds", "asked"), [(0.1, 10, 0), (9.99, 10, 0), (119, 120, 0), (45, 60, 50)]
)
def test_a_server_that_is_away_for_less_than_the_time_allowed_loses_nothing(
    away: float, seconds: float, asked: float, clock: FakeTime
) -> None:
    assert _repeat_request(_away(clock, away), seconds, asked) == "an answer"


@pytest.mark.parametrize(
    ("seconds", "asked", "pauses"),
    [
        (30, 0, [0.5, 1, 2, 4, LONGEST_WAIT, LONGEST_WAIT, 6.5]),  # they grow, and end in time
        (0, 0, []),  # one attempt
        (120, None, []),  # another does not cure it
        (60, 61, []),  # a longer pause than the time left
    ],
)
def test_the_pauses_between_attempts(
    seconds: float, asked: float | None, pauses: list[float], clock: FakeTime
) -> None:
    with pytest.raises(AwayError):
        _repeat_request(_away(clock, 1000), seconds, asked)
    assert clock.pauses == pauses
