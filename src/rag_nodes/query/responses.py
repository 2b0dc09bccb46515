"""Answers as LlamaIndex passes them on: whole responses and streaming ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    Response,
    StreamingResponse,
)

from rag_nodes.query.events import Delta, Failed, Finished, Retrieved
from rag_nodes.query.replacement import replaced

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from llama_index.core.schema import NodeWithScore

    from rag_nodes.query.events import Event
    from rag_nodes.query.types import Answer


def response_of(answer: Answer) -> Response:
    """The answer's text and nodes, with all of it as plain data in the metadata."""
    return Response(
        response=answer.text,
        source_nodes=replaced(answer.hits),
        metadata={"answer": answer.as_dict()},
    )


def streaming_response(events: Generator[Event]) -> StreamingResponse:
    """A response whose text arrives while it is read.

    Its metadata gets the whole answer with the last piece; a model that fails raises there.
    """
    nodes, metadata = _nodes(next(events)), dict[str, Any]()

    def texts() -> Generator[str]:
        for event in events:
            if text := _text(event, metadata):
                yield text

    return StreamingResponse(texts(), source_nodes=nodes, metadata=metadata)


async def astreaming_response(events: AsyncGenerator[Event]) -> AsyncStreamingResponse:
    """Like `streaming_response`, for an async stream."""
    nodes, metadata = _nodes(await anext(events)), dict[str, Any]()

    async def texts() -> AsyncGenerator[str]:
        async for event in events:
            if text := _text(event, metadata):
                yield text

    return AsyncStreamingResponse(texts(), source_nodes=nodes, metadata=metadata)


def _nodes(first: Event) -> list[NodeWithScore]:
    return replaced(first.hits) if isinstance(first, Retrieved) else []


def _text(event: Event, metadata: dict[str, Any]) -> str:
    """The text an event adds; the answer goes into the metadata."""
    if isinstance(event, Failed):
        raise event.error
    if isinstance(event, Finished):
        metadata["answer"] = event.answer.as_dict()
    return event.text if isinstance(event, Delta) else ""
