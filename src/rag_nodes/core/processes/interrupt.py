"""Ending what another thread waits for: the process that works on it is killed."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from rag_nodes.core.errors import CancelledError
from rag_nodes.core.processes.threads import BackgroundThread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Made = TypeVar("Made")
"""Result of some work."""


class Interrupt:
    """A way into threads that wait for something that can be killed; any thread may `set` it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kills: list[Callable[[], None]] = []
        self._set = False
        self._unheard = 0
        self._afterwards: list[Callable[[], None]] = []

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

    def afterwards(self, call: Callable[[], None]) -> None:
        """Call it once nothing works any more that `unless_interrupted` began; at once if so."""
        with self._lock:
            if self._unheard:
                self._afterwards.append(call)
                return
        call()

    def began(self) -> None:
        """Something works now that cannot be ended; `ended` is called after it."""
        with self._lock:
            self._unheard += 1

    def ended(self) -> None:
        """Something that `began` works no more."""
        with self._lock:
            self._unheard -= 1
            due = [] if self._unheard else self._afterwards
            self._afterwards = self._afterwards if self._unheard else []
        for call in due:
            call()

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
    """Return the interrupt of this thread's work; outside `interruptible` it is never set."""
    return _INTERRUPT.get() or Interrupt()


@contextmanager
def interruptible(interrupt: Interrupt) -> Iterator[None]:
    """Let `interrupt` end what children do for this thread meanwhile, with a `CancelledError`."""
    token = _INTERRUPT.set(interrupt)
    try:
        yield
    finally:
        _INTERRUPT.reset(token)


def unless_interrupted(work: Callable[[], Made], what: str) -> Made:
    """Return the result of work that cannot be ended, such as a request, unless interrupted first.

    Args:
        work: done in a thread of its own.
        what: it is, for the message.

    Raises:
        CancelledError: the work is to end, see `interruptible`; it goes on unheard, see
            `Interrupt.afterwards`.
        Exception: what the work raised.
    """
    interrupt, outcome, over = current_interrupt(), Future[Made](), threading.Event()
    outcome.add_done_callback(lambda _: over.set())

    def do() -> None:
        try:
            tell = partial(outcome.set_result, work())
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            tell = partial(outcome.set_exception, error)
        try:
            interrupt.ended()  # before anybody hears of it, who may want what it held
        finally:
            tell()

    interrupt.check(what)
    interrupt.began()
    thread = BackgroundThread(partial(copy_context().run, do), what, end=interrupt.set)
    try:
        thread.start()
    except RuntimeError:  # there are too many
        interrupt.ended()
        raise
    with interrupt.killing(over.set):
        over.wait()
    interrupt.check(what)
    return outcome.result()


def pause(seconds: float) -> None:
    """Let time pass, unless what this thread works on is ended meanwhile.

    Raises:
        CancelledError: it was, see `interruptible`.
    """
    interrupt, over = current_interrupt(), threading.Event()
    with interrupt.killing(over.set):
        over.wait(seconds)
    interrupt.check("waiting to ask again")


class Leases:
    """Lets a few work at once; the others wait for a place. A fork of this process has its own.

    Args:
        count: places.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Start again in a forked process: what works is in threads of its parent."""
        self._taken = 0
        self._changed = threading.Condition()

    @contextmanager
    def take(self, what: str) -> Iterator[None]:
        """Wait for a place and hold it.

        Args:
            what: is to be done, for messages.

        Raises:
            CancelledError: see `interruptible`; also while it waits.
        """
        interrupt = current_interrupt()
        with interrupt.killing(self._wake), self._changed:
            while self._taken >= self._count:
                interrupt.check(what)
                self._changed.wait()
            interrupt.check(what)
            self._taken += 1
        try:
            yield
        finally:
            with self._changed:
                self._taken = max(0, self._taken - 1)  # a fork has none of its parent's
                self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
