"""Limits on requests to a model's server: their size, their rate, and retries after a failure."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from llama_index.core.rate_limiter import BaseRateLimiter

from rag_nodes.core.processes import pause
from rag_nodes.models.pickling import Sharing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding

_log = logging.getLogger(__name__)
Response = TypeVar("Response")
Thing = TypeVar("Thing")

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
"""Seconds."""
_WAY = 1.0
"""Seconds by which one request may be longer on its way to the server than another."""


class RequestWindow(BaseRateLimiter):
    """A window that slides over the requests of the last minute; many threads may share it.

    LlamaIndex's own lets a request pass at once that has more tokens than a minute, takes 7.5
    requests for 8, and sleeps where nobody can end it.

    Args:
        per_minute: requests started in any minute at most; 0.5 is one in two minutes, None for no
            limit.
        tokens_per_minute: tokens of the requests of any minute at most; one request that has more
            alone waits until no other is in the window. None for no limit.
    """

    def __init__(
        self, per_minute: float | None = None, *, tokens_per_minute: int | None = None
    ) -> None:
        self.per_minute = per_minute
        self.tokens_per_minute = tokens_per_minute
        self._starts: deque[tuple[float, int]] = deque()
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process nothing was asked yet."""
        return partial(RequestWindow, tokens_per_minute=self.tokens_per_minute), (self.per_minute,)

    def take(self, tokens: int = 0) -> float:
        """Start a request of so many tokens now and get 0, or get the seconds to wait first."""
        per_minute = (self.per_minute or 1) / Sharing.processes
        length = _MINUTE / min(1.0, per_minute) + _WAY if self.per_minute else _MINUTE + _WAY
        with self._lock:
            now, wait = time.monotonic(), 0.0
            while self._starts and self._starts[0][0] + length <= now:
                self._starts.popleft()
            before = deque(self._starts)
            while before and not self._has_room(before, tokens):
                wait = before.popleft()[0] + length - now
            if not wait:
                self._starts.append((now, tokens))
            return wait

    def _has_room(self, before: Collection[tuple[float, int]], tokens: int) -> bool:
        """Return True if one more request may follow the recent ones."""
        if self.per_minute and len(before) >= max(1, int(self.per_minute / Sharing.processes)):
            return False
        share = _share(self.tokens_per_minute)
        return not share or sum(tokens_before for _, tokens_before in before) + tokens <= share

    def acquire(self, num_tokens: int = 0) -> None:
        """Wait until a request of so many tokens may start."""
        while wait := self.take(num_tokens):
            pause(wait)

    async def async_acquire(self, num_tokens: int = 0) -> None:
        """Wait until a request of so many tokens may start."""
        while wait := self.take(num_tokens):  # noqa: ASYNC110 -- time itself is waited for
            await asyncio.sleep(wait)

    def acquire_for(self, texts: Sequence[str], answer: int = 0) -> None:
        """Wait until texts may be sent, and an answer of so many tokens be given.

        LlamaIndex calls `acquire` without a number of tokens.
        """
        from rag_nodes.text.tokens import count_tokens  # who has no limit counts nothing

        limited = self.tokens_per_minute is not None
        self.acquire(sum(map(count_tokens, texts)) + answer if limited else 0)


def requests_of(
    things: Iterable[Thing], text: Callable[[Thing], str], model: BaseEmbedding, most: int
) -> Iterator[list[Thing]]:
    """Runs of what is embedded that a model is sent with one request each, in their order.

    Args:
        things: what is embedded; one whose text is longer than a request may be goes alone.
        text: of one of them.
        model: is sent no more bytes with a request than its minute has tokens.
        most: texts of a request.
    """
    limit = min(BATCH_BYTES, _share(getattr(model, "tokens_per_minute", None)) or BATCH_BYTES)
    run: list[Thing] = []
    size = 0
    for thing in things:
        length = len(text(thing).encode("utf-8", "surrogatepass"))
        if run and (len(run) == most or size + length > limit):
            yield run
            run, size = [], 0
        run.append(thing)
        size += length
    if run:
        yield run


def _share(tokens: int | None) -> int | None:
    return tokens and max(1, tokens // Sharing.processes)


def retried(
    request: Callable[[], Response],
    seconds: float,
    asked_to_wait: Callable[[Exception], float | None],
    before_repeating: Callable[[], None],
    *,
    name: str,
) -> Response:
    """The response of `request`, repeated while that may help and time is left.

    The last attempt is made when the time is up, so a server that is away for less loses nothing;
    a number of attempts, which OpenAI's client counts, would be any time with a server that is
    silent. A server that asks for a longer pause gets it; where that is more than the time left,
    its error is raised at once.

    Args:
        request: to be made again as it is.
        seconds: time from the first attempt to the start of the last; 0 for one attempt.
        asked_to_wait: seconds the server asks for, 0 where it does not say; None for an error
            that another attempt would not cure.
        before_repeating: called before each attempt but the first.
        name: of the model, for the log.
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
            _log.warning("%s: %s; next attempt in %.1f s", name, type(error).__name__, wait)
        pause(wait)
        before_repeating()
        longest = min(2 * longest, LONGEST_WAIT)
