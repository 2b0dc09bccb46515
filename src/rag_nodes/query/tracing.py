"""Instrumentation events of a question, as LlamaIndex's engines give them to tracers."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llama_index.core import instrumentation
from llama_index.core.instrumentation.event_handlers import NullEventHandler
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.instrumentation.events.synthesis import (
    SynthesizeEndEvent,
    SynthesizeStartEvent,
)

from rag_nodes.query.responses import replaced, response_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from rag_nodes.query.types import Answer
    from rag_nodes.store import Hit

dispatcher = instrumentation.get_dispatcher(__name__)  # type: ignore[attr-defined] # re-exported


@contextmanager
def retrieving(question: str) -> Generator[Callable[[Sequence[Hit]], None]]:
    """A search; call what it gives with what was found."""
    dispatcher.event(RetrievalStartEvent(str_or_query_bundle=question))

    def report(hits: Sequence[Hit]) -> None:
        nodes = replaced(hits) if _heard() else []
        dispatcher.event(RetrievalEndEvent(str_or_query_bundle=question, nodes=nodes))

    yield report


def begun(question: str) -> None:
    """An answer is being made."""
    dispatcher.event(SynthesizeStartEvent(query=question))


def ended(answer: Answer) -> None:
    """It is there."""
    if _heard():
        dispatcher.event(SynthesizeEndEvent(query=answer.question, response=response_of(answer)))


def _heard() -> bool:
    """Return True if anyone listens: copying the nodes for nobody takes a tenth of the search."""
    place: Any = dispatcher
    handlers: list[Any] = []
    while place is not None:
        handlers += place.event_handlers
        place = place.parent if place.propagate else None
    return any(not isinstance(handler, NullEventHandler) for handler in handlers)
