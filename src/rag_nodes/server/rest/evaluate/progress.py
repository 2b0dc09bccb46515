"""A run as it goes: the steps worth a message, and a response that sends them as events."""

from __future__ import annotations

import asyncio
import logging
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from starlette.responses import StreamingResponse

from rag_nodes.errors import RagNodesError
from rag_nodes.evaluation.plan import Step
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.processes import Interrupt, interruptible
from rag_nodes.server.failures import public
from rag_nodes.server.rest.evaluate.replies import public_report
from rag_nodes.server.rest.events import MEDIA_TYPE, line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import Receive, Scope, Send

    from rag_nodes.server.workers import Workers

    Tell = Callable[[Step], None]

logger = logging.getLogger(__name__)


class Milestones:
    """Passes on the steps worth a message: where a row begins, and every hundredth of the way.

    Args:
        tell: hears of them.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._last: tuple[str, str, int] | None = None

    def __call__(self, step: Step) -> None:
        """Pass the step on, unless hardly anything has changed."""
        reached = (step.stage, step.name, 100 * step.done // step.total if step.total else 0)
        if reached != self._last:
            self._last = reached
            self._tell(step)


class EvaluationStream(StreamingResponse):
    """An evaluation that begins with `begin`, and ends where nobody reads its events any more.

    Args:
        run: makes the report, and tells its steps.
        workers: threads for the run, and for waiting for it.
        release: called once the run has ended.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self,
        run: Callable[[Tell], EvaluationReport],
        workers: Workers,
        release: Callable[[], None],
    ) -> None:
        self._make = run
        self._workers = workers
        self._release = release
        self._queue: SimpleQueue[Step | EvaluationReport | Exception] = SimpleQueue()
        self._interrupt = Interrupt()
        super().__init__(self._lines(), headers={"cache-control": "no-store"})

    async def begin(self) -> None:
        """Start the run and wait for its first step.

        Raises:
            Exception: what the run raised before that, so that it is answered as any other error.
        """
        with interruptible(self._interrupt):
            self._running = asyncio.create_task(self._workers.thread(self._run))
        self._running.add_done_callback(lambda _: self._release())
        self._first = await self._next()
        if isinstance(self._first, Exception):
            raise self._first

    def stop(self) -> None:
        """End the run at its next step; safe from any thread."""
        self._interrupt.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until there are no more, or nobody listens."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.stop()

    def _run(self) -> None:
        try:
            self._queue.put(public_report(self._make(Milestones(self._queue.put))))
        except Exception as error:  # noqa: BLE001 -- whoever waits for the end must hear of it
            self._queue.put(error)

    async def _next(self) -> Step | EvaluationReport | Exception:
        return await self._workers.thread(self._queue.get)

    async def _lines(self) -> AsyncIterator[str]:
        event = self._first
        while isinstance(event, Step):
            yield line("progress", event._asdict())
            event = await self._next()
        yield line(*_last(event))
        yield line("end", {})


def _last(event: EvaluationReport | Exception) -> tuple[str, dict[str, Any]]:
    """Name and data of what ends a run."""
    if isinstance(event, EvaluationReport):
        return "finished", {"report": event.as_dict()}
    if not isinstance(event, RagNodesError):
        logger.error("an evaluation failed", exc_info=event)
    _, what, remedy = public(event)
    return "failed", {"error": what, "remedy": remedy}
