"""How much is asked of a model's server: in one request, in a minute, and again after a failure."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rag_nodes.processes import pause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llama_index.core.base.embeddings.base import BaseEmbedding

Response = TypeVar("Response")

BATCH_TEXTS = 100
"""Texts that are embedded with one request at most."""
BATCH_BYTES = 250_000
"""UTF-8 bytes that are embedded with one request at most. No token is shorter than a byte, so this
stays below the 300,000 tokens OpenAI accepts, whatever the tokenizer."""
FIRST_WAIT = 0.5
"""Seconds before the second attempt; doubles from one attempt to the next."""
LONGEST_WAIT = 8.0
"""Seconds to which the pauses grow."""
_MINUTE = 60.0
_WAY = 1.0
"""Seconds by which one request may be longer on its way to the server than another."""


def request_bytes(model: BaseEmbedding) -> int:
    """UTF-8 bytes that a model is sent with one request at most: never more than its minute has."""
    return min(BATCH_BYTES, getattr(model, "tokens_per_minute", None) or BATCH_BYTES)


class RequestWindow:
    """A window that slides over the requests of the last minute; many threads may share it.

    Args:
        per_minute: requests started in any minute at most; 0.5 is one in two minutes, None for no
            limit.
        clock: seconds, monotonic; the system's by default.
        tokens_per_minute: tokens of the requests of any minute at most; one request that has more
            by itself waits until no other is in the window. None for no limit.
    """

    def __init__(
        self,
        per_minute: float | None,
        clock: Callable[[], float] | None = None,
        *,
        tokens_per_minute: int | None = None,
    ) -> None:
        self.per_minute = per_minute
        self.tokens_per_minute = tokens_per_minute
        self._clock = clock or time.monotonic
        self._length = _MINUTE / min(1.0, per_minute or 1.0) + _WAY
        self._most = max(1, int(per_minute)) if per_minute else None
        self._starts: deque[tuple[float, int]] = deque()
        self._tokens = 0
        self._lock = Lock()

    @classmethod
    def of(cls, per_minute: float | None, tokens_per_minute: int | None) -> Self | None:
        """The window of a model with these limits; None where it has none."""
        if not (per_minute or tokens_per_minute):
            return None
        return cls(per_minute, tokens_per_minute=tokens_per_minute)

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process nothing was asked yet."""
        return _window_of, (self.per_minute, self.tokens_per_minute)

    def shared_by(self, workers: int) -> Self:
        """The window of each of so many that ask one account."""
        tokens = self.tokens_per_minute and max(1, self.tokens_per_minute // workers)
        return type(self)(self.per_minute and self.per_minute / workers, tokens_per_minute=tokens)

    def take(self, tokens: int = 0) -> float:
        """Start a request of so many tokens now and get 0, or get the seconds to wait first."""
        with self._lock:
            now = self._clock()
            while self._starts and self._starts[0][0] + self._length - now <= 0:
                self._tokens -= self._starts.popleft()[1]
            if (last := self._last_in_the_way(tokens)) is not None:
                return last + self._length - now
            self._starts.append((now, tokens))
            self._tokens += tokens
            return 0.0

    def spend(self) -> None:
        """Count as if all that a minute has were asked now, by somebody before us."""
        with self._lock:
            now, tokens = self._clock(), self.tokens_per_minute or 0
            self._starts.extend([(now, tokens), *[(now, 0)] * ((self._most or 1) - 1)])
            self._tokens += tokens

    def _last_in_the_way(self, tokens: int) -> float | None:
        """When the last request was started that has to leave the window first; None for none."""
        last, count, sum_ = None, len(self._starts), self._tokens + tokens
        for start, freed in self._starts:
            many = self._most is not None and count >= self._most
            large = self.tokens_per_minute is not None and sum_ > self.tokens_per_minute
            if not many and not large:
                break
            last, count, sum_ = start, count - 1, sum_ - freed
        return last

    def acquire(self, tokens: int = 0) -> None:
        """Wait until a request of so many tokens may start."""
        while wait := self.take(tokens):
            pause(wait)

    async def async_acquire(self, tokens: int = 0) -> None:
        """Wait until a request of so many tokens may start."""
        while wait := self.take(tokens):  # noqa: ASYNC110 -- time itself is waited for
            await asyncio.sleep(wait)


def _window_of(per_minute: float | None, tokens_per_minute: int | None) -> RequestWindow:
    return RequestWindow(per_minute, tokens_per_minute=tokens_per_minute)


_WINDOWS: ContextVar[tuple[RequestWindow, ...]] = ContextVar("requests", default=())


@contextmanager
def repeats_counted(window: RequestWindow | None) -> Iterator[None]:
    """Meanwhile let `window` count the requests that our models repeat, also in other threads.

    One that was told so before, by whoever asks the model, counts them as well.
    """
    token = _WINDOWS.set((*_WINDOWS.get(), window) if window else _WINDOWS.get())
    try:
        yield
    finally:
        _WINDOWS.reset(token)


@contextmanager
def within(
    window: RequestWindow | None, texts: Iterable[str], *, answer: int = 0
) -> Iterator[None]:
    """Wait until a request may be made; what is repeated of it meanwhile counts as well.

    Args:
        window: of the model; None for no limit.
        texts: that are sent, of which tokens are counted where these are limited.
        answer: tokens that it may have.
    """
    if window is None:
        yield
        return
    from rag_nodes.text.tokens import count_tokens  # who has no limit counts nothing

    limited = window.tokens_per_minute is not None
    window.acquire(sum(map(count_tokens, texts)) + answer if limited else 0)
    with repeats_counted(window):
        yield


def before_repeating() -> None:
    """Wait until a request may be made that nobody but the model knows of."""
    for window in _WINDOWS.get():
        window.acquire()


def retried(
    request: Callable[[], Response],
    *,
    seconds: float,
    asked_to_wait: Callable[[Exception], float | None],
    on_wait: Callable[[Exception, float], None],
) -> Response:
    """The response of `request`, repeated while that may help and time is left.

    The last attempt is made when the time is up, so a server that is away for less loses nothing.
    A server that asks for a longer pause gets it; where that is more than the time left, its
    error is raised at once. Every repetition is one that `repeats_counted` counts.

    Args:
        request: to be made again as it is.
        seconds: time from the first attempt to the start of the last; 0 for one attempt.
        asked_to_wait: seconds the server asks for, 0 where it does not say; None for an error
            that another attempt would not cure.
        on_wait: told the error and the seconds, before each pause.
    """
    end, longest = time.monotonic() + seconds, FIRST_WAIT
    while True:
        try:
            return request()
        except Exception as error:
            asked, left = asked_to_wait(error), end - time.monotonic()
            if asked is None or left <= 0 or asked > left:
                raise
            wait = max(asked, min(longest, left))
            on_wait(error, wait)
        pause(wait)
        before_repeating()
        longest = min(2 * longest, LONGEST_WAIT)
