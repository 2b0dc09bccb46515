"""Requests that a model has not answered yet: several at a time, taken in the order they were made.

Their threads are daemons, so a server that never answers keeps no process alive.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from contextvars import copy_context
from typing import TYPE_CHECKING, Generic, TypeVar

from rag_nodes.processes import current_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AskerT = TypeVar("AskerT")
AnswerT = TypeVar("AnswerT")


class RequestsUnderWay(Generic[AskerT, AnswerT]):
    """Requests, started and taken by one thread.

    Args:
        at_once: how many may be under way; 0 to make each in the thread that starts it, which is
            for models whose work is computation here.
    """

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self._requests: deque[_Request[AskerT, AnswerT]] = deque()
        self._changed = threading.Condition()

    def __len__(self) -> int:
        """Requests that were started and not taken."""
        return len(self._requests)

    def start(self, asker: AskerT, ask: Callable[[], AnswerT]) -> None:
        """Make a request in a thread of its own, where `ask` knows the context of this one."""
        request = _Request(asker, ask)
        self._requests.append(request)
        if self.at_once:
            work = (request.make, self._changed)
            threading.Thread(
                target=copy_context().run, args=work, daemon=True, name="embedding"
            ).start()
        else:
            request.make(self._changed)

    @property
    def first(self) -> AskerT:
        """Who made the first request."""
        return self._requests[0].asker

    @property
    def is_answered(self) -> bool:
        """Whether the first request need not be waited for."""
        return bool(self._requests) and self._requests[0].answer is not None

    def take(self) -> tuple[AskerT, AnswerT]:
        """Who made the first request and what became of it, waited for.

        Raises:
            CancelledError: see `interruptible`; the request stays.
        """
        interrupt, first = current_interrupt(), self._requests[0]
        with interrupt.killing(self._wake), self._changed:
            while first.answer is None:
                interrupt.check("embedding")
                self._changed.wait()
        self._requests.popleft()
        return first.asker, first.answer

    def settled(self, seconds: float) -> Iterator[tuple[AskerT, AnswerT]]:
        """What became of all requests, as far as they are answered in so many seconds from now."""
        end = time.monotonic() + seconds
        while self._requests:
            first = self._requests.popleft()
            with self._changed:
                self._changed.wait_for(lambda: first.answer, max(0.0, end - time.monotonic()))  # noqa: B023 - called at once
            if first.answer is not None:
                yield first.asker, first.answer

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


class _Request(Generic[AskerT, AnswerT]):
    def __init__(self, asker: AskerT, ask: Callable[[], AnswerT]) -> None:
        self.asker = asker
        self.answer: AnswerT | None = None
        self._ask = ask

    def make(self, changed: threading.Condition) -> None:
        answer = self._ask()
        with changed:
            self.answer = answer
            changed.notify_all()
