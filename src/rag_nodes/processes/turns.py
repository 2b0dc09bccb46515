"""A few at once; who waits gets the turn of whoever has had more than a fair share of time."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rag_nodes.processes.interrupt import Interrupt, current_interrupt, interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True, eq=False)
class Turn:
    """What somebody has while others may wait.

    Attributes:
        until: time from which on it can be taken away; None for never.
        taken: it was taken away, because others waited.
        interrupt: ends what is done in it.
    """

    until: float | None = None
    taken: bool = False
    interrupt: Interrupt = field(default_factory=Interrupt)


class Turns:
    """Hands out turns in which children may work; used by many threads.

    Args:
        count: turns at the same time.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._held: list[Turn] = []
        self._changed = threading.Condition()

    @contextmanager
    def take(self) -> Iterator[Turn]:
        """Wait for a turn and have it; what a child does in it can be ended by `limit`."""
        with self._changed:
            while len(self._held) >= self._count:
                self._changed.wait(self._take_away())
            turn = Turn()
            self._held.append(turn)
        try:
            with current_interrupt().killing(turn.interrupt.set), interruptible(turn.interrupt):
                yield turn
        finally:
            with self._changed:
                self._held.remove(turn)
                self._changed.notify_all()

    def limit(self, turn: Turn, share: float | None) -> None:
        """Take a turn away if somebody waits, in so many seconds from now; never for None."""
        if share is not None:
            with self._changed:
                turn.until = time.monotonic() + share
                self._changed.notify_all()  # who waits counts anew

    def _take_away(self) -> float | None:
        """End the turn that is over for longest; seconds until there is one, None for not known."""
        limited = [one for one in self._held if one.until is not None and not one.taken]
        if not limited:
            return None
        first = min(limited, key=lambda one: one.until or 0.0)
        left = (first.until or 0.0) - time.monotonic()
        if left > 0:
            return left
        first.taken = True
        first.interrupt.set()
        return None
