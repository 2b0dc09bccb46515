"""Ending what another thread reads, at once: the process that reads it is killed."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from rag_nodes.errors import CancelledError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Interrupt:
    """A way into a thread that waits for a child process; any thread may `set` it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kill: Callable[[], None] | None = None
        self._set = False

    def check(self, path: Path) -> None:
        """Do nothing unless it was set.

        Raises:
            CancelledError: it was.
        """
        if self._set:
            raise CancelledError(f"{path}: reading it was cancelled; read it again")

    def set(self) -> None:
        """Kill what is being read in, and whatever would be read in later."""
        with self._lock:
            self._set = True
            if self._kill is not None:
                self._kill()

    @contextmanager
    def killing(self, kill: Callable[[], None]) -> Iterator[None]:
        """Meanwhile `set` calls this; at once where it was called before."""
        with self._lock:
            self._kill = kill
            if self._set:
                kill()
        try:
            yield
        finally:
            with self._lock:
                self._kill = None


_INTERRUPT: ContextVar[Interrupt | None] = ContextVar("reading", default=None)


def current_interrupt() -> Interrupt:
    """What may end the reading of this thread; one that nobody sets, unless `interruptible`."""
    return _INTERRUPT.get() or Interrupt()


@contextmanager
def interruptible(interrupt: Interrupt) -> Iterator[None]:
    """Let `interrupt` end what this thread reads meanwhile, with a `CancelledError`.

    Only what a child process reads can be ended; see `needs_child`.
    """
    token = _INTERRUPT.set(interrupt)
    try:
        yield
    finally:
        _INTERRUPT.reset(token)
