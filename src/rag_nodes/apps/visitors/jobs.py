"""Work in a thread of its own: it goes on when nobody looks, until it is done or cancelled."""

from __future__ import annotations

import time
from concurrent import futures
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from llama_index.core.callbacks import CallbackManager, CBEventType
from llama_index.core.callbacks.base_handler import BaseCallbackHandler

from rag_nodes.core.errors import CancelledError
from rag_nodes.core.processes import BackgroundThread, Interrupt, interruptible

if TYPE_CHECKING:
    from collections.abc import Callable

    from llama_index.core.base.embeddings.base import BaseEmbedding

Stage = TypeVar("Stage")
"""Type of the progress of the work."""
Made = TypeVar("Made")
"""Type of the result of the work."""


class Job(Generic[Stage, Made]):
    """One run of what takes long, such as loading.

    Whoever looks at it may stop looking: the work goes on. Cancelling returns to whoever waits at
    once. The process that reads a file is killed; a parser, or a request to a model, ends
    on its own, and nothing comes after it.

    Args:
        remedy: what to do where it was cancelled.

    Attributes:
        latest: the stage it is at; None before the first.
    """

    def __init__(self, remedy: str = "start it again") -> None:
        self._remedy = remedy
        self._interrupt = Interrupt()
        self._outcome: futures.Future[Made] = futures.Future()
        self._started = time.monotonic()
        self.latest: Stage | None = None

    @property
    def done(self) -> bool:
        """True once it has ended, in whatever way."""
        return self._outcome.done()

    @property
    def seconds(self) -> float:
        """Seconds since the job was made, or since `restart_clock`."""
        return time.monotonic() - self._started

    def restart_clock(self) -> None:
        """Count seconds from now: the rest is estimated from the work that follows."""
        self._started = time.monotonic()

    def start(
        self,
        work: Callable[[], Made],
        room: AbstractContextManager[Any] = nullcontext(),  # noqa: B008 - it holds nothing
    ) -> None:
        """Begin the work.

        Args:
            work: calls `step` now and then, and `settle` before it changes anything.
            room: waited for and held meanwhile.
        """
        BackgroundThread(partial(self._run, work, room), "job", end=self.cancel).start()

    def result(self) -> Made:
        """Wait for the work to end and return its result.

        Raises:
            CancelledError: it was cancelled.
            RagNodesError: what the work raised.
        """
        try:
            return self._outcome.result()
        except futures.CancelledError:
            raise CancelledError(f"Cancelled; {self._remedy}") from None

    def cancel(self) -> None:
        """End it, unless it is settled; safe from any thread, and twice."""
        if self._outcome.cancel():
            self._interrupt.set()

    def step(self, stage: Stage) -> None:
        """Say how far it is; ends the work where it was cancelled."""
        self.check()
        self.latest = stage

    def check(self) -> None:
        """End the work where it was cancelled."""
        if self._outcome.cancelled():
            raise _AbandonedError

    def settle(self) -> None:
        """End the work where it was cancelled; from here on it cannot be."""
        if not self._outcome.running() and not self._outcome.set_running_or_notify_cancel():
            raise _AbandonedError

    def then(self, work: Callable[[], None]) -> None:
        """Do something once it has ended, in whatever way."""
        self._outcome.add_done_callback(lambda _: work())

    def watch(self, embedding: BaseEmbedding) -> None:
        """Have every request to an embedding model end the work where it was cancelled.

        A parser that compares sentences may make hundreds of them within one step.
        """
        embedding.callback_manager = CallbackManager([_BeforeRequest(self.check)])

    def _run(self, work: Callable[[], Made], room: AbstractContextManager[Any]) -> None:
        try:
            with room, interruptible(self._interrupt):
                self.check()
                result = work()
                self.settle()
        except _AbandonedError:
            return
        except BaseException as error:  # noqa: BLE001 - it is raised again by `result`
            if self._outcome.running() or self._outcome.set_running_or_notify_cancel():
                self._outcome.set_exception(error)
            return
        self._outcome.set_result(result)


class _AbandonedError(BaseException):
    """Nobody waits any longer.

    No `Exception`: those of parsers and models are noted as a column's failure, and the other
    documents follow.
    """


class _BeforeRequest(BaseCallbackHandler):
    """Calls a function before each request to an embedding model."""

    def __init__(self, check: Callable[[], None]) -> None:
        super().__init__(event_starts_to_ignore=[], event_ends_to_ignore=[])
        self._check = check

    def on_event_start(
        self, event_type: CBEventType, *_: Any, event_id: str = "", **__: Any
    ) -> str:
        """Call it."""
        if event_type is CBEventType.EMBEDDING:
            self._check()
        return event_id

    def on_event_end(self, *_: Any, **__: Any) -> None:
        """Nothing to do."""

    def start_trace(self, trace_id: str | None = None) -> None:
        """Nothing to do."""

    def end_trace(
        self, trace_id: str | None = None, trace_map: dict[str, list[str]] | None = None
    ) -> None:
        """Nothing to do."""
