"""No more requests to a model in any minute than its account allows, repeated ones included."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MINUTE = 60.0
_WAY = 1.0
"""Seconds by which one request may be longer on its way to the server than another."""


class RequestWindow:
    """A window that slides over the requests of the last minute; many threads may share it.

    Args:
        per_minute: requests started in any minute at most; 0.5 is one in two minutes.
        clock: seconds, monotonic; the system's by default.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] | None = None) -> None:
        self.per_minute = per_minute
        self._clock = clock or time.monotonic
        self._length = _MINUTE / min(1.0, per_minute) + _WAY
        self._starts: deque[float] = deque(maxlen=max(1, int(per_minute)))
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[RequestWindow], tuple[float]]:
        """In another process nothing was asked yet."""
        return type(self), (self.per_minute,)

    def take(self) -> float:
        """Start a request now and get 0, or get the seconds after which to ask again."""
        with self._lock:
            now = self._clock()
            if len(self._starts) == self._starts.maxlen:
                wait = self._starts[0] + self._length - now
                if wait > 0:
                    return wait
            self._starts.append(now)
            return 0.0

    def acquire(self) -> None:
        """Wait until a request may start."""
        while wait := self.take():
            time.sleep(wait)

    async def async_acquire(self) -> None:
        """Wait until a request may start."""
        while wait := self.take():  # noqa: ASYNC110 -- time itself is waited for
            await asyncio.sleep(wait)


_WINDOW: ContextVar[RequestWindow | None] = ContextVar("requests", default=None)


@contextmanager
def repeats_counted(window: RequestWindow | None) -> Iterator[None]:
    """Meanwhile let `window` count the requests that our models repeat, also in other threads."""
    token = _WINDOW.set(window)
    try:
        yield
    finally:
        _WINDOW.reset(token)


def before_repeating() -> None:
    """Wait until a request may be made that nobody but the model knows of."""
    if window := _WINDOW.get():
        window.acquire()
