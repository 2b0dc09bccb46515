"""What tracers see of a question: LlamaIndex's own events, as its query engines give them.

Both kinds: the instrumentation events that go to handlers of its dispatcher, and the events of a
callback manager. None of the latter spans a piece of a stream: they nest by a stack that the caller
of a generator would share.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llama_index.core import instrumentation
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks.schema import CBEventType, EventPayload
from llama_index.core.instrumentation.event_handlers import NullEventHandler
from llama_index.core.instrumentation.events.retrieval import (
    RetrievalEndEvent,
    RetrievalStartEvent,
)
from llama_index.core.instrumentation.events.synthesis import (
    SynthesizeEndEvent,
    SynthesizeStartEvent,
)

from rag_nodes.query.responses import replaced, response_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from llama_index.core.base.response.schema import RESPONSE_TYPE
    from llama_index.core.callbacks import CallbackManager

    from rag_nodes.models import Models
    from rag_nodes.query.types import Answer, Hit

dispatcher = instrumentation.get_dispatcher(__name__)  # type: ignore[attr-defined] # re-exported


def connect(manager: CallbackManager, models: Models) -> None:
    """Have the models tell the same manager, as LlamaIndex does.

    Where it has no handlers, the models' own ones stay in place.
    """
    if manager.handlers:
        for model in (models.embedding, models.llm):
            if model is not None:
                model.callback_manager = manager


@contextmanager
def querying(manager: CallbackManager, question: str) -> Generator[Callable[[RESPONSE_TYPE], None]]:
    """A whole question; call what it gives with the response."""
    with manager.event(CBEventType.QUERY, payload={EventPayload.QUERY_STR: question}) as event:
        yield lambda response: event.on_end(payload={EventPayload.RESPONSE: response})


@contextmanager
def retrieving(
    manager: CallbackManager, question: str
) -> Generator[Callable[[Sequence[Hit]], None]]:
    """A search; call what it gives with what was found."""
    dispatcher.event(RetrievalStartEvent(str_or_query_bundle=question))
    payload: dict[str, Any] = {EventPayload.QUERY_STR: question}
    with manager.as_trace("query"), manager.event(CBEventType.RETRIEVE, payload=payload) as event:

        def found(hits: Sequence[Hit]) -> None:
            nodes = replaced(hits) if _heard(manager) else []
            event.on_end(payload={EventPayload.NODES: nodes})
            dispatcher.event(RetrievalEndEvent(str_or_query_bundle=question, nodes=nodes))

        yield found


@contextmanager
def writing(manager: CallbackManager, question: str) -> Generator[Callable[[Answer], None]]:
    """The making of an answer from what was found; call what it gives with the answer."""
    payload: dict[str, Any] = {EventPayload.QUERY_STR: question}
    with manager.as_trace("query"), manager.event(CBEventType.SYNTHESIZE, payload=payload) as event:

        def written(answer: Answer) -> None:
            if _heard(manager):
                event.on_end(payload={EventPayload.RESPONSE: response_of(answer)})

        yield written


@contextmanager
def starting(manager: CallbackManager, question: str, hits: Sequence[Hit]) -> Generator[None]:
    """The request for an answer that is streamed: to callbacks, its start is all of it."""
    payload: dict[str, Any] = {EventPayload.QUERY_STR: question}
    with manager.as_trace("query"), manager.event(CBEventType.SYNTHESIZE, payload=payload) as event:
        yield
        if manager.handlers:
            response = Response(response=None, source_nodes=replaced(hits))
            event.on_end(payload={EventPayload.RESPONSE: response})


def begun(question: str) -> None:
    """An answer is being made."""
    dispatcher.event(SynthesizeStartEvent(query=question))


def ended(answer: Answer) -> None:
    """It is there."""
    if _heard():
        dispatcher.event(SynthesizeEndEvent(query=answer.question, response=response_of(answer)))


def _heard(manager: CallbackManager | None = None) -> bool:
    """Whether anyone listens: copying what was found for nobody takes a tenth of the search."""
    place: Any = dispatcher
    handlers: list[Any] = list(manager.handlers) if manager else []
    while place is not None:
        handlers += place.event_handlers
        place = place.parent if place.propagate else None
    return any(not isinstance(one, NullEventHandler) for one in handlers)
