"""A failing request is repeated until its time is up: one rule, and a clock of our own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from fake_time import FakeTime

from rag_nodes.models import pacing
from rag_nodes.models.faults import retry_after
from rag_nodes.models.pacing import LONGEST_WAIT, retried

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    monkeypatch.setattr(pacing, "time", fake)
    monkeypatch.setattr(pacing, "pause", fake.sleep)
    return fake


class AwayError(Exception):
    """The server does not answer."""


def away(clock: FakeTime, seconds: float) -> Callable[[], str]:
    """A server that comes back after some seconds."""
    back = clock.now + seconds

    def request() -> str:
        if clock.now < back:
            raise AwayError
        return "an answer"

    return request


def repeated(request: Callable[[], str], seconds: float, asked: float | None = 0.0) -> str:
    return retried(request, seconds=seconds, asked_to_wait=lambda _: asked, on_wait=lambda *_: None)


@pytest.mark.parametrize("seconds", [0.1, 8, 9.99])
def test_a_server_that_is_away_for_less_than_the_time_allowed_loses_nothing(
    seconds: float, clock: FakeTime
) -> None:
    assert repeated(away(clock, seconds), 10) == "an answer"


def test_two_minutes_are_two_minutes_and_no_number_of_attempts(clock: FakeTime) -> None:
    assert repeated(away(clock, 119), 120) == "an answer"
    start = clock.now
    with pytest.raises(AwayError):
        repeated(away(clock, 1000), 120)
    assert clock.now - start == 120


def test_the_pauses_grow_to_a_limit_and_end_with_the_time(clock: FakeTime) -> None:
    with pytest.raises(AwayError):
        repeated(away(clock, 1000), 30)
    assert clock.pauses == [0.5, 1, 2, 4, LONGEST_WAIT, LONGEST_WAIT, 6.5]


def test_without_time_there_is_one_attempt(clock: FakeTime) -> None:
    with pytest.raises(AwayError):
        repeated(away(clock, 1), 0)
    assert clock.pauses == []


def test_what_another_attempt_does_not_cure_is_raised_at_once(clock: FakeTime) -> None:
    with pytest.raises(AwayError):
        repeated(away(clock, 1), 120, asked=None)
    assert clock.pauses == []


def test_the_pause_a_server_asks_for_is_kept(clock: FakeTime) -> None:
    assert repeated(away(clock, 45), 60, asked=50) == "an answer"
    assert clock.pauses == [50]


def test_a_pause_longer_than_the_time_left_is_not_waited_for(clock: FakeTime) -> None:
    with pytest.raises(AwayError):
        repeated(away(clock, 45), 60, asked=61)
    assert clock.pauses == []


def test_a_server_that_asks_for_no_pause_is_not_hammered(clock: FakeTime) -> None:
    with pytest.raises(AwayError):
        repeated(away(clock, 1000), 10, asked=0)
    assert len(clock.pauses) == 5


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None), ("", None)]
)
def test_seconds_a_server_asks_for_are_read(header: str, seconds: float | None) -> None:
    error = Exception()
    error.response = SimpleNamespace(headers={"retry-after": header})  # type: ignore[attr-defined]
    assert retry_after(error) == seconds


def test_a_date_a_server_asks_to_wait_for_is_read() -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    error = Exception()
    error.response = SimpleNamespace(headers={"retry-after": then})  # type: ignore[attr-defined]
    assert retry_after(error) == pytest.approx(3600, abs=60)
