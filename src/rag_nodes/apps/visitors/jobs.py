"""Work that can be cancelled: in a thread of its own, on state of its own, until it is done."""

from __future__ import annotations

import threading
from concurrent import futures
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from llama_index.core.callbacks import CallbackManager, CBEventType
from llama_index.core.callbacks.base_handler import BaseCallbackHandler

from rag_nodes.errors import CancelledError
from rag_nodes.processes import Interrupt, interruptible

if TYPE_CHECKING:
    from collections.abc import Callable

    from llama_index.core.base.embeddings.base import BaseEmbedding

Stage = TypeVar("Stage")
"""What says how far the work is."""
Made = TypeVar("Made")
"""What comes of it."""


class Job(Generic[Stage, Made]):
    """One run of what takes long, such as loading.

    Cancelling returns to the caller at once. The process that reads a file is killed; a parser,
    or a request to a model, ends by itself, and nothing comes after it.

    Args:
        progress: called after every step, from any thread, until it is cancelled.
        remedy: what to do where it was cancelled.
    """

    def __init__(self, progress: Callable[[Stage], None], remedy: str) -> None:
        self._progress, self._remedy = progress, remedy
        self._interrupt = Interrupt()
        self._outcome: futures.Future[Made] = futures.Future()

    def run(self, work: Callable[[], Made], discard: Callable[[Made], None]) -> Made:
        """Do the work, and wait for it or for `cancel`.

        Args:
            work: calls `step` now and then.
            discard: frees what was made although it had been cancelled.

        Raises:
            CancelledError: it was cancelled.
            RagNodesError: what the work raised.
        """
        threading.Thread(target=self._run, args=(work, discard), name="job", daemon=True).start()
        try:
            return self._outcome.result()
        except futures.CancelledError:
            raise CancelledError(f"Cancelled; {self._remedy}") from None

    def cancel(self) -> None:
        """End it, unless it is done; safe from any thread, and twice."""
        if self._outcome.cancel():
            self._interrupt.set()

    def step(self, progress: Stage) -> None:
        """Pass a step on; ends the work where it was cancelled."""
        self.check()
        self._progress(progress)

    def check(self) -> None:
        """End the work where it was cancelled."""
        if self._outcome.cancelled():
            raise _AbandonedError

    def watch(self, embedding: BaseEmbedding) -> None:
        """Have every request to an embedding model end the work where it was cancelled.

        A parser that compares sentences may make hundreds of them within one step.
        """
        embedding.callback_manager = CallbackManager([_BeforeRequest(self.check)])

    def _run(self, work: Callable[[], Made], discard: Callable[[Made], None]) -> None:
        try:
            with interruptible(self._interrupt):
                made = work()
        except _AbandonedError:
            return
        except BaseException as error:  # noqa: BLE001 - it is raised again where `run` waits
            with suppress(futures.InvalidStateError):  # nobody waits for it
                self._outcome.set_exception(error)
            return
        try:
            self._outcome.set_result(made)
        except futures.InvalidStateError:
            discard(made)


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
