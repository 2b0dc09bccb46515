"""Answers as server-sent events: a name, a line of JSON, an empty line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.responses import StreamingResponse

from rag_nodes.query import (
    Cancelled,
    CitationSeen,
    Delta,
    Event,
    Failed,
    Finished,
    Retrieved,
    UnknownSource,
)
from rag_nodes.server.failures import public, without_paths
from rag_nodes.server.rest.replies import AnswerReply, Chunk, CitationReply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import Receive, Scope, Send

    from rag_nodes.server.clients import HeldStream
    from rag_nodes.server.workers import Workers

MEDIA_TYPE = "text/event-stream"


class EventStream(StreamingResponse):
    """One question's events; the session is let go whichever way the response ends.

    Args:
        asking: the question being answered.
        workers: threads in which the events are waited for.
        release: called once the response has ended.
    """

    media_type = MEDIA_TYPE

    def __init__(self, asking: HeldStream, workers: Workers, release: Callable[[], None]) -> None:
        self._asking = asking
        self._workers = workers
        self._release = release
        super().__init__(self._lines(), headers={"cache-control": "no-store"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until there are no more, or nobody listens."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._asking.close()
            self._release()

    async def _lines(self) -> AsyncIterator[str]:
        while (named := await self._workers.thread(self._asking.take)) is not None:
            parser, event = named
            name, data = described(event)
            yield line(name, {"parser": parser, **data})
        report = self._asking.report()
        lacks = ((one.name, one.statistics.error) for one in report.columns)
        incomplete = {name: without_paths(why) for name, why in lacks if why}
        yield line("end", {"seconds": report.seconds, "incomplete": incomplete})


def line(name: str, data: dict[str, Any]) -> str:
    """One event; line breaks inside the data are escaped by JSON."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def described(event: Event) -> tuple[str, dict[str, Any]]:
    """Name and data of an event."""
    data: dict[str, Any]
    match event:
        case Retrieved(hits=hits):
            chunks = [Chunk.found(hit, index).model_dump() for index, hit in enumerate(hits)]
            name, data = "retrieved", {"chunks": chunks}
        case Delta(text=text):
            name, data = "delta", {"text": text}
        case CitationSeen(citation=citation):
            name, data = "citation", {"citation": CitationReply.of(citation).model_dump()}
        case UnknownSource(number=number):
            name, data = "unknown_source", {"number": number}
        case Finished(answer=answer):
            name, data = "finished", {"answer": AnswerReply.of(answer).model_dump()}
        case Failed(error=error, text=text):
            _, what, remedy = public(error)
            name, data = "failed", {"error": what, "remedy": remedy, "text": text}
        case Cancelled(text=text):
            name, data = "cancelled", {"text": text}
    return name, data
