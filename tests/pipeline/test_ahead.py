"""Documents are read a little ahead of who takes them, and the thread that reads ends with them."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING

import pytest

from rag_nodes.errors import CancelledError
from rag_nodes.pipeline import ahead as module
from rag_nodes.pipeline.ahead import MOST_CHARACTERS, MOST_ITEMS, ahead
from rag_nodes.processes import Interrupt, current_interrupt, interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 30


class Source:
    """Numbers, made when asked for; says how many were asked for."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.made = 0
        self._more = threading.Condition()

    def __iter__(self) -> Iterator[int]:
        for number in range(self._count):
            with self._more:
                self.made = number + 1
                self._more.notify_all()
            yield number

    def wait_for(self, made: int) -> None:
        with self._more:
            assert self._more.wait_for(lambda: self.made >= made, PATIENCE)


def readers() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "reading"]


def test_everything_arrives_in_order() -> None:
    with ahead(range(1000)) as items:
        assert list(items) == list(range(1000))
    assert not readers()


def test_the_next_ones_are_made_before_they_are_asked_for_and_no_more_than_fit() -> None:
    source = Source(10 * MOST_ITEMS)
    with ahead(source) as items:
        # As many as there is room for, and one that waits for room.
        source.wait_for(MOST_ITEMS + 1)
        assert next(items) == 0
        source.wait_for(MOST_ITEMS + 2)
        assert source.made == MOST_ITEMS + 2
    assert source.made == MOST_ITEMS + 2, "nothing is made for nobody"


@pytest.mark.parametrize(("size", "held"), [(MOST_CHARACTERS // 4, 4), (MOST_CHARACTERS * 9, 1)])
def test_large_documents_are_fewer_and_one_is_never_too_large(size: int, held: int) -> None:
    source = Source(20)
    with ahead(source, lambda _: size) as items:
        source.wait_for(held + 1)
        assert source.made == held + 1
        assert list(items) == list(range(20))


def test_what_reading_raises_is_raised_behind_what_was_read() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise ZeroDivisionError("made to fail")

    taken = []
    with pytest.raises(ZeroDivisionError), ahead(failing()) as items:
        taken.extend([next(items), next(items)])
    assert not readers()


def test_who_stops_taking_ends_what_the_thread_waits_for() -> None:
    waits, killed = threading.Event(), threading.Event()

    def hanging() -> Iterator[int]:
        yield 1
        with current_interrupt().killing(killed.set):
            waits.set()
            assert killed.wait(PATIENCE), "nobody ended it"
        raise CancelledError("ended")

    def taking() -> None:
        with ahead(hanging()) as items:
            assert next(items) == 1
            assert waits.wait(PATIENCE)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        taking()
    assert killed.is_set()
    assert not readers()


def test_whoever_may_end_the_caller_ends_the_thread() -> None:
    outer = Interrupt()

    def asking() -> Iterator[int]:
        yield 1
        outer.set()
        current_interrupt().check("reading")
        yield 2

    with interruptible(outer), pytest.raises(CancelledError), ahead(asking()) as items:
        assert list(items) == [1]


def test_the_thread_knows_the_context_of_its_caller() -> None:
    name = ContextVar("name", default="nobody")
    name.set("caller")
    with ahead(name.get() for _ in range(1)) as items:
        assert list(items) == ["caller"]


def test_reading_and_taking_overlap() -> None:
    taken = threading.Event()

    def second_waits_for_first() -> Iterator[int]:
        yield 1
        assert taken.wait(PATIENCE), "the first is not taken until the second is read"
        yield 2

    with ahead(second_waits_for_first()) as items:
        assert next(items) == 1
        taken.set()
        assert next(items) == 2
    assert module.MOST_ITEMS > 1
