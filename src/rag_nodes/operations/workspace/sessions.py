"""Sessions: one per visitor, none of which outlives its visitor for long."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakMethod

from rag_nodes.core.errors import BusyError, ConfigurationError
from rag_nodes.core.processes import BackgroundThread
from rag_nodes.operations.workspace.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


logger = logging.getLogger(__name__)

_SHORTEST = 0.05
"""Seconds between two looks for what is idle, at least."""
_EMPTY = 600.0
"""Seconds after which an idle session without a document ends."""


Mine = TypeVar("Mine", bound=Session)


class Sessions(Generic[Mine]):
    """One session per visitor, none of which outlives its visitor for long.

    Args:
        make: the session of a new visitor.
        idle_seconds: seconds without a request after which a session ends; one without a document
            ends after ten minutes.
        most: sessions at a time; beyond that the one idle longest ends, those without a document
            first, and none that is working.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        make: Callable[[], Mine],
        *,
        idle_seconds: float = 2 * 3600,
        most: int = 100,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make = make
        self._idle_seconds = idle_seconds
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: dict[str, tuple[float, Mine]] = {}
        self._held: Counter[str] = Counter()
        self._timer: BackgroundThread | None = None

    def __contains__(self, key: str) -> bool:
        """Return True if there is a session of that key."""
        return key in self._sessions

    def __len__(self) -> int:
        """Return the number of sessions."""
        return len(self._sessions)

    def of(self, key: str | None) -> Mine:
        """The session of a visitor, made on first use.

        Args:
            key: the visitor's; on the page Gradio's id of the browser tab.

        Raises:
            ConfigurationError: the request has no id, so its answers could reach others.
            BusyError: every other session is working, so that none can make room.
        """
        with self._lock:
            return self._used(key)

    @contextmanager
    def holding(self, key: str) -> Iterator[Mine]:
        """The session of a visitor, made on first use; meanwhile it makes room for nobody.

        Raises:
            BusyError: every other session is working, so that none can make room.
        """
        with self._lock:
            session = self._used(key)
            self._held[key] += 1
        try:
            yield session
        finally:
            with self._lock:
                self._held -= Counter([key])
                if key in self._sessions:
                    self._used(key)  # it has been in use up to now

    def _used(self, key: str | None) -> Mine:
        """The session, which has just been used; under the lock."""
        if not key:
            raise ConfigurationError("the request names no session: reload the page")
        now = self._clock()
        session = self._sessions.pop(key, (now, None))[1] or self._make()
        self._sessions[key] = (now, session)
        ended = self._expired(now) + self._surplus(key)
        self._watch(now)
        if ended:  # not here: one that still waits for its model would hold up this visitor
            BackgroundThread(partial(_close_all, ended), "closing").start()
        return session

    def end(self, key: str | None) -> None:
        """Free the session of a tab, if there is one."""
        with self._lock:
            entry = self._sessions.pop(key or "", None)
            self._unwatched()
        _close_all([entry[1]] if entry else [])

    def close(self) -> None:
        """Free all of them."""
        with self._lock:
            entries = list(self._sessions.values())
            self._sessions.clear()
            self._unwatched()
        _close_all([session for _, session in entries])

    def sweep(self) -> None:
        """Free what is idle for too long, automatically, also when nobody comes any more."""
        now = self._clock()
        with self._lock:
            ended = self._expired(now)
            self._timer = None
            self._watch(now)
        _close_all(ended)

    def _expired(self, now: float) -> list[Mine]:
        """Take out what is idle for too long."""
        for key in [other for other in self._sessions if self._working(other)]:
            self._sessions[key] = (now, self._sessions.pop(key)[1])
        old = [other for other in self._sessions if now > self._ends_at(other)]
        return [self._sessions.pop(key)[1] for key in old]

    def _ends_at(self, key: str) -> float:
        """Time after which an unused session ends."""
        used, session = self._sessions[key]
        return used + (self._idle_seconds if session.in_use else min(_EMPTY, self._idle_seconds))

    def _surplus(self, newest: str) -> list[Mine]:
        """Take out what is too many; the oldest come first, and the one just used never goes."""
        surplus = len(self._sessions) - self._most
        if surplus <= 0:
            return []
        others = [other for other in self._sessions if other != newest and not self._working(other)]
        if not others:
            self._sessions.pop(newest)
            raise BusyError("every session this server has room for is working; try again later")
        # Whoever only asks for sessions must not cost others their documents.
        others.sort(key=lambda key: self._sessions[key][1].in_use)
        return [self._sessions.pop(key)[1] for key in others[:surplus]]

    def _working(self, key: str) -> bool:
        """Return True if a session is held, loads documents or answers."""
        return self._held[key] > 0 or self._sessions[key][1].working

    def _watch(self, now: float) -> None:
        """Have `sweep` called once the first one ends."""
        if self._timer is not None or not self._sessions:
            return
        wait = max(min(map(self._ends_at, self._sessions)) - now, _SHORTEST)
        sweep = partial(_sweep, WeakMethod(self.sweep))
        self._timer = BackgroundThread(sweep, "idle sessions", delay=wait)
        self._timer.start()

    def _unwatched(self) -> None:
        """No timer where there is nothing to wait for."""
        if self._timer is not None and not self._sessions:
            self._timer.cancel()
            self._timer = None


def _sweep(method: WeakMethod[Callable[[], None]]) -> None:
    """Call it, unless its object is gone."""
    sweep = method()
    if sweep is not None:
        sweep()


def _close_all(sessions: Sequence[Session]) -> None:
    """Close each, whatever becomes of the others."""
    for session in sessions:
        try:
            session.close()
        except Exception:
            logger.exception("a session could not be closed")
