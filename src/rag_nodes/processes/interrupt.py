"""Ending what another thread waits for, at once: the process that works on it is killed."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from rag_nodes.errors import CancelledError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Interrupt:
    """A way into threads that wait for something that can be killed; any thread may `set` it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kills: list[Callable[[], None]] = []
        self._set = False

    def check(self, what: str) -> None:
        """Do nothing unless it was set.

        Args:
            what: would have gone on, for the message.

        Raises:
            CancelledError: it was.
        """
        if self._set:
            raise CancelledError(f"{what} was cancelled; start it again")

    def set(self) -> None:
        """Kill what works now, and whatever would work later."""
        with self._lock:
            self._set = True
            for kill in self._kills:
                kill()

    @contextmanager
    def killing(self, kill: Callable[[], None]) -> Iterator[None]:
        """Meanwhile `set` calls this; at once where it was called before."""
        with self._lock:
            self._kills.append(kill)
            if self._set:
                kill()
        try:
            yield
        finally:
            with self._lock:
                self._kills.remove(kill)


_INTERRUPT: ContextVar[Interrupt | None] = ContextVar("interrupt", default=None)


def current_interrupt() -> Interrupt:
    """What may end the work of this thread; one that nobody sets, unless `interruptible`."""
    return _INTERRUPT.get() or Interrupt()


@contextmanager
def interruptible(interrupt: Interrupt) -> Iterator[None]:
    """Let `interrupt` end what children do for this thread meanwhile, with a `CancelledError`."""
    token = _INTERRUPT.set(interrupt)
    try:
        yield
    finally:
        _INTERRUPT.reset(token)
