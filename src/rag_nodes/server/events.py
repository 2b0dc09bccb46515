"""Progress towards a result, as events for a client of REST."""

from __future__ import annotations

import asyncio
import json
import logging
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import Response, StreamingResponse

from rag_nodes.core.errors import RagNodesError
from rag_nodes.core.keys import trace_of
from rag_nodes.operations.run import Said
from rag_nodes.query.types import CitationSeen, Failed, Finished, Retrieved, UnknownSource
from rag_nodes.server.messages import public, public_words
from rag_nodes.server.served import Milestones

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import Receive, Scope, Send

    from rag_nodes.core.processes import Interrupt
    from rag_nodes.server.limits import Workers

MEDIA_TYPE = "text/event-stream"
_PASSAGE = ("number", "document_id", "file_name", "page", "start", "end", "quote")
"""Citation in an event."""
_STEP = ("stage", "name", "done", "total", "seconds_left")
"""Step in an event."""
logger = logging.getLogger(__name__)


class _Result(NamedTuple):
    """The last event of what went well."""

    data: dict[str, Any]


async def streamed(
    perform: Callable[[Callable[[object], None]], dict[str, Any]],
    workers: Workers,
    interrupt: Interrupt,
    release: Callable[[], None],
) -> Response:
    """The events of one operation, of which the first is waited for: what fails at once is none.

    Args:
        perform: does it, telling its events, and gives back the reply.
        workers: threads for the work, and for waiting for it.
        interrupt: ends it where nobody reads the events any more.
        release: called once it has ended, and so has what it left behind.

    Raises:
        Exception: what the work raised before there was anything to tell.
    """
    events: SimpleQueue[object] = SimpleQueue()

    def run() -> None:
        try:
            events.put(_Result(perform(Milestones(events.put))))
        except Exception as error:  # noqa: BLE001 -- whoever waits for the end must hear of it
            events.put(error)

    running = asyncio.create_task(workers.thread(run))
    running.add_done_callback(lambda _: interrupt.afterwards(release))
    first = await workers.thread(events.get)
    if isinstance(first, Exception):
        raise first

    async def lines() -> AsyncIterator[str]:
        event = first
        while not isinstance(event, _Result | Exception):
            yield _line(*described(event))
            event = await workers.thread(events.get)
        if isinstance(event, _Result):
            yield _line("result", event.data)
        else:
            if not isinstance(event, RagNodesError):
                logger.error("a request failed\n%s", trace_of(event))
            yield _line("failed", _problem(event))
        yield _line("end", {})

    return _Events(lines(), interrupt)


class _Events(StreamingResponse):
    """Ends the work where nobody reads its events any more."""

    media_type = MEDIA_TYPE

    def __init__(self, lines: AsyncIterator[str], interrupt: Interrupt) -> None:
        super().__init__(lines, headers={"cache-control": "no-store"})
        self._interrupt = interrupt

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until there are no more, or nobody listens."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._interrupt.set()


def described(event: Any) -> tuple[str, dict[str, Any]]:
    """Name and data of an event; those of an answer say which parser it is of."""
    if type(event) is tuple:
        parser, inner = event
        name, data = _of_an_answer(inner)
        return name, {"parser": parser, **data}
    if isinstance(event, Said):
        return event.level, {"words": public_words(event.words)}
    if hasattr(event, "done"):
        return "progress", {field: getattr(event, field, None) for field in _STEP}
    return type(event).__name__.lower(), event._asdict()


def _of_an_answer(event: Any) -> tuple[str, dict[str, Any]]:
    match event:
        case Retrieved(hits=hits):
            return "retrieved", {"found": len(hits)}
        case CitationSeen(citation=citation):
            return "citation", {field: getattr(citation, field) for field in _PASSAGE}
        case UnknownSource(number=number):
            return "unknown_source", {"number": number}
        case Failed(error=error, text=text):
            return "failed", {**_problem(error), "text": text}
        case Finished():
            return "finished", {}
    return type(event).__name__.lower(), {"text": event.text}  # a piece, or what had come


def _problem(error: Exception) -> dict[str, Any]:
    _, what, remedy = public(error)
    return {"error": what, "remedy": remedy}


def _line(name: str, data: dict[str, Any]) -> str:
    """One event; line breaks inside the data are escaped by JSON."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
