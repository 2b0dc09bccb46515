"""Ending what another thread waits for: by whoever may, by the clock, or because others wait.

What ends a wait is always the same: the process that works on it is killed.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
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


def pause(seconds: float) -> None:
    """Let time pass, unless what this thread works on is ended meanwhile.

    Raises:
        CancelledError: it was, see `interruptible`.
    """
    interrupt, over = current_interrupt(), threading.Event()
    with interrupt.killing(over.set):
        over.wait(seconds)
    interrupt.check("waiting to ask again")


@dataclass(slots=True, eq=False)
class Lease:
    """One of a few places in which children may work, which others may wait for.

    Attributes:
        until: time from which on it can be revoked; None for never.
        revoked: it was taken away, because others waited.
        interrupt: ends what is done under it.
    """

    until: float | None = None
    revoked: bool = False
    interrupt: Interrupt = field(default_factory=Interrupt)


class Leases:
    """Lets a few work at once; who waits gets the place of whoever has had more than a fair share.

    A fork of this process has places of its own.

    Args:
        count: leases at the same time.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._held: list[Lease] = []
        self._changed = threading.Condition()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    @contextmanager
    def take(self, what: str) -> Iterator[Lease]:
        """Wait for a lease and hold it; what a child does under it can be ended by `limit`.

        Args:
            what: is to be done, for messages.

        Raises:
            CancelledError: see `interruptible`; also while it waits.
        """
        interrupt, lease = current_interrupt(), Lease()
        with interrupt.killing(self._wake), self._changed:
            while len(self._held) >= self._count:
                interrupt.check(what)
                self._changed.wait(self._revoke_first())
            interrupt.check(what)
            self._held.append(lease)
        try:
            with interrupt.killing(lease.interrupt.set), interruptible(lease.interrupt):
                yield lease
        finally:
            with self._changed:
                if lease in self._held:  # not in a fork, which has none of its parent's
                    self._held.remove(lease)
                self._changed.notify_all()

    def limit(self, lease: Lease, share: float | None) -> None:
        """Revoke a lease if somebody waits, in so many seconds from now; never for None."""
        if share is not None:
            with self._changed:
                lease.until = time.monotonic() + share
                self._changed.notify_all()  # who waits counts anew

    def _forget(self) -> None:
        """Start anew in a forked process: the threads that hold leases are those of its parent."""
        self._held = []
        self._changed = threading.Condition()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _revoke_first(self) -> float | None:
        """Revoke what is over for longest; seconds until there is one, None for not known."""
        limited = [one for one in self._held if one.until is not None and not one.revoked]
        if not limited:
            return None
        first = min(limited, key=lambda one: one.until or 0.0)
        left = (first.until or 0.0) - time.monotonic()
        if left > 0:
            return left
        first.revoked = True
        first.interrupt.set()
        return None
