"""No minute has more requests than allowed, whenever they are asked for."""

from __future__ import annotations

import asyncio
import pickle

import pytest
from fake_time import FakeTime
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.models import pacing
from rag_nodes.models.pacing import RequestWindow

MINUTE = 60.0


def busiest_minute(starts: list[float]) -> int:
    """Most starts in any 60 seconds, both ends included."""
    return max(sum(first <= start <= first + MINUTE for start in starts) for first in starts)


@given(
    st.integers(1, 40),
    st.lists(st.floats(0, 30), min_size=1, max_size=150),
)
def test_no_minute_has_more_requests_than_allowed(per_minute: int, gaps: list[float]) -> None:
    clock = FakeTime()
    window = RequestWindow(per_minute, clock.monotonic)
    starts = []
    for gap in gaps:
        clock.sleep(gap)
        while wait := window.take():
            clock.sleep(wait)
        starts.append(clock.now)
    assert busiest_minute(starts) <= per_minute


@given(
    st.integers(1, 100),
    st.lists(st.tuples(st.floats(0, 30), st.integers(0, 150)), min_size=1, max_size=150),
)
def test_no_minute_has_more_tokens_than_allowed(
    tokens_per_minute: int, requests: list[tuple[float, int]]
) -> None:
    clock = FakeTime()
    window = RequestWindow(None, clock.monotonic, tokens_per_minute=tokens_per_minute)
    started = []
    for gap, tokens in requests:
        clock.sleep(gap)
        while wait := window.take(tokens):
            clock.sleep(wait)
        started.append((clock.now, tokens))
    for first, _ in started:
        together = [tokens for start, tokens in started if first <= start <= first + MINUTE]
        # One that is too large by itself is sent alone.
        assert sum(together) <= tokens_per_minute or sum(map(bool, together)) == 1


def test_a_window_holds_both_limits() -> None:
    clock = FakeTime()
    window = RequestWindow(2, clock.monotonic, tokens_per_minute=10)
    assert window.take(8) == 0
    assert window.take(8) > MINUTE, "tokens"
    assert window.take(2) == 0
    assert window.take(0) > MINUTE, "requests"


@pytest.mark.parametrize(("requests", "tokens"), [(3, None), (0.5, None), (None, 10), (3, 10)])
def test_a_window_that_begins_spent_lets_nothing_through_for_a_minute(
    requests: float | None, tokens: int | None
) -> None:
    clock = FakeTime()
    window = RequestWindow(requests, clock.monotonic, tokens_per_minute=tokens)
    window.spend()
    wait = window.take(1)
    assert wait > MINUTE
    clock.sleep(wait)
    assert window.take(1) == 0


def test_twenty_a_minute_are_not_thirty_seven_in_the_first_one() -> None:
    clock = FakeTime()
    window = RequestWindow(20, clock.monotonic)
    starts = []
    for _ in range(37):
        while wait := window.take():
            clock.sleep(wait)
        starts.append(clock.now)
    assert sum(start - starts[0] <= MINUTE for start in starts) == 20


def test_less_than_one_a_minute_is_a_longer_pause() -> None:
    clock = FakeTime()
    window = RequestWindow(0.5, clock.monotonic)
    assert window.take() == 0
    assert window.take() > 2 * MINUTE - 1


async def test_workers_side_by_side_share_one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeTime()
    monkeypatch.setattr(pacing.asyncio, "sleep", clock.async_sleep)
    window = RequestWindow(3, clock.monotonic)
    starts: list[float] = []

    async def work() -> None:
        for _ in range(4):
            await window.async_acquire()
            starts.append(clock.now)

    await asyncio.gather(work(), work(), work())
    assert len(starts) == 12
    assert busiest_minute(starts) <= 3


def test_a_window_travels_to_another_process_empty() -> None:
    window = RequestWindow(1)
    assert window.take() == 0
    assert pickle.loads(pickle.dumps(window)).take() == 0
    both = pickle.loads(pickle.dumps(RequestWindow(0.5, tokens_per_minute=7)))
    assert (both.per_minute, both.tokens_per_minute) == (0.5, 7)
