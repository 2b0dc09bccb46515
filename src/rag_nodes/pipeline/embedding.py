"""The requests of a unit to its embedding model, and the tokens they hold.

One that is refused costs no other.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from llama_index.core import instrumentation
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.embedding import (
    EmbeddingEndEvent,
    EmbeddingStartEvent,
)
from llama_index.core.schema import BaseNode, MetadataMode

from rag_nodes.errors import (
    CancelledError,
    ModelRequestError,
    ModelResponseError,
    RagNodesError,
    UnknownModelError,
)
from rag_nodes.models import failure_of
from rag_nodes.pipeline.build import lacks_vector
from rag_nodes.pipeline.units import DocumentResult
from rag_nodes.processes import BackgroundThread, current_interrupt
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding

    from rag_nodes.models import Models
    from rag_nodes.pipeline.build import LeafEmbedding
    from rag_nodes.pipeline.recipe import IngestRecipe
    from rag_nodes.pipeline.work import ColumnWork

    Asked = deque[tuple[ColumnWork, Future["Embedded"]]]
    """Requests that were made and not taken, in order."""

logger = logging.getLogger(__name__)
MOST_AT_ONCE = 8
"""Columns whose requests to a server are under way at the same time."""
GRACE = 5.0
"""Seconds for which a unit that is given up waits for what it has asked for."""
_POLL = 0.1
"""Seconds after which a request that is waited for notices that it was given up."""

Waiting = list[tuple[BaseNode, DocumentResult]]
"""Nodes that are to be stored, each with the document it belongs to."""


class Embedded(NamedTuple):
    """What became of a request; what it asked for and was not refused has its vectors now.

    `refused` is what the model refuses by itself, and why; `error` why there is no more.
    """

    part: Waiting
    refused: Sequence[tuple[BaseNode, DocumentResult, ModelRequestError]] = ()
    error: Exception | None = None


def embed_all(columns: Sequence[ColumnWork], recipe: IngestRecipe) -> None:
    """Have all that waits embedded, by several requests at a time where a server does it.

    Columns take turns. What would refuse every request is asked once: the first one of each column
    is waited for.
    """
    at_once = 0
    if not recipe.models.offline:
        at_once = (recipe.models.embedding.num_workers or 1) * min(len(columns), MOST_AT_ONCE)
    asked: Asked = deque()
    parts = [list(_requests(one.waiting, recipe.models)) for one in columns]
    try:
        for turn in zip_longest(*parts):
            for column, part in zip(columns, turn, strict=True):
                _receive(asked, leaving=max(0, at_once - 1))
                if part and column.may_ask():
                    _ask(asked, column, part, recipe, is_threaded=bool(at_once))
            if not recipe.has_embedded:
                _receive(asked)
            recipe.has_embedded = True
        _receive(asked)
    except (CancelledError, KeyboardInterrupt):
        wait([answer for _, answer in asked], GRACE)
        for column, answer in filter(lambda one: one[1].done(), asked):
            column.receive(answer.result())
        raise


def _ask(
    asked: Asked, column: ColumnWork, part: Waiting, recipe: IngestRecipe, *, is_threaded: bool
) -> None:
    """Make a request, in a thread of its own where a server answers it.

    Unlike a thread of an executor, it keeps no process alive if the server never answers.
    """
    answer: Future[Embedded] = Future()

    def run() -> None:
        try:
            with column.embedded.counting():
                answer.set_result(_embed(part, column.step, recipe.models.embedding_name))
        except BaseException as error:
            if not is_threaded:
                raise
            answer.set_exception(error)  # raised where it is waited for

    if is_threaded:
        work = partial(copy_context().run, run)
        BackgroundThread(work, "embedding", end=current_interrupt().set).start()
    else:
        with column.timed("embed"):
            run()
    asked.append((column, answer))


def _receive(asked: Asked, leaving: int = 0) -> None:
    """Keep what came of the first requests: of those with an answer, and until few are left.

    Raises:
        CancelledError: see `interruptible`; the request that was waited for stays.
    """
    while asked and (len(asked) > leaving or asked[0][1].done()):
        column, answer = asked[0]
        with column.timed("embed"):
            while not answer.done():
                current_interrupt().check("embedding")
                wait([answer], _POLL)
        asked.popleft()
        column.receive(answer.result())


def _requests(waiting: Waiting, models: Models) -> Iterator[Waiting]:
    """What is to be embedded in runs that a server takes with one request; offline all at once."""
    due = [(node, document) for node, document in waiting if lacks_vector(node)]
    if models.offline:
        if due:
            yield due
        return
    from rag_nodes.models.pacing import requests_of

    model = models.embedding
    yield from requests_of(due, _text_of, model, model.embed_batch_size)


def _text_of(one: tuple[BaseNode, DocumentResult]) -> str:
    return one[0].get_content(MetadataMode.EMBED)


def _embed(part: Waiting, step: LeafEmbedding, model: str) -> Embedded:
    """Give chunks their vectors; where a request is refused, each chunk goes alone.

    What was answered before something else failed is kept, as it was paid for.
    """
    try:
        _run([node for node, _ in part], step, model)
    except UnknownModelError as error:  # every chunk would be refused alike
        return Embedded(part, error=error)
    except ModelRequestError as error:
        if len(part) == 1:
            return Embedded(part, [(*part[0], error)])
        logger.info("a request was refused, embedding its chunks one by one")
        refused: list[tuple[BaseNode, DocumentResult, ModelRequestError]] = []
        for alone in part:
            one = _embed([alone], step, model)
            refused.extend(one.refused)
            if one.error:
                return Embedded(part, refused, one.error)
        return Embedded(part, refused)
    except Exception as error:  # noqa: BLE001 - whoever stores the others raises it
        return Embedded(part, error=error)
    return Embedded(part)


def _run(nodes: list[BaseNode], step: LeafEmbedding, model: str) -> None:
    try:
        step(nodes)
    except RagNodesError:
        raise
    except asyncio.CancelledError as error:  # by a client with a loop of its own; no `Exception`
        raise ModelResponseError(f"{model}: its client gave the request up; try again") from error
    except Exception as error:
        # Any LlamaIndex embedding can be plugged in, and each raises its provider's errors.
        raise failure_of(error, step.embed_model, name=model) from error


class EmbeddedTokens:
    """A sum of tokens; counted here, so a server may bill a few more or less. Any thread may add.

    Args:
        model: whose requests are counted, by its class and name; one that runs offline has none.

    Attributes:
        tokens: so far.
    """

    def __init__(self, model: BaseEmbedding) -> None:
        self.tokens = 0
        self._is_offline = getattr(model, "place", None) == "offline"
        self._name = (model.class_name(), model.model_name)
        self._spans: set[str | None] = set()
        self._lock = threading.Lock()

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Add what the model embeds inside the block, in this context."""
        before = _CURRENT.set(None if self._is_offline else self)
        try:
            yield
        finally:
            _CURRENT.reset(before)

    def note(self, event: Any) -> None:
        """Add the tokens of a request that was answered; only its start names the model."""
        if isinstance(event, EmbeddingStartEvent):
            asked = event.model_dict
            if (asked.get("class_name"), asked.get("model_name")) == self._name:
                self._spans.add(event.span_id)
        elif isinstance(event, EmbeddingEndEvent) and event.span_id in self._spans:
            tokens = sum(map(count_tokens, event.chunks))
            with self._lock:
                self.tokens += tokens


_CURRENT: ContextVar[EmbeddedTokens | None] = ContextVar("embedded_tokens", default=None)


class _Meter(BaseEventHandler):
    def handle(self, event: Any, **_: Any) -> None:
        if total := _CURRENT.get():
            total.note(event)


instrumentation.get_dispatcher().add_event_handler(_Meter())  # type: ignore[attr-defined] # re-exported
