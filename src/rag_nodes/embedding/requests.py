"""Requests to an embedding model, and the tokens they hold; a refused chunk costs no other."""

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
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from llama_index.core import instrumentation
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.embedding import EmbeddingEndEvent, EmbeddingStartEvent
from llama_index.core.schema import BaseNode, MetadataMode

from rag_nodes.core.errors import (
    CancelledError,
    ModelRequestError,
    ModelResponseError,
    RagNodesError,
    UnknownModelError,
)
from rag_nodes.core.processes import BackgroundThread, current_interrupt
from rag_nodes.embedding.build import lacks_vector
from rag_nodes.models import failure_of
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding

    from rag_nodes.embedding.column import SplittingColumn
    from rag_nodes.embedding.report import SplitDocument
    from rag_nodes.models import Models

logger = logging.getLogger(__name__)
MOST_AT_ONCE = 8
"""Columns whose requests to a server are under way at the same time."""
GRACE = 5.0
"""Seconds for which requests that are under way may still be answered after a cancellation."""
_POLL = 0.1
"""Seconds after which a request that is waited for notices that it was given up."""

Owner = TypeVar("Owner", bound="SplitDocument")
"""The document that a node belongs to, in the form that a path keeps it."""


class Embedded(NamedTuple, Generic[Owner]):
    """Outcome of a request: what it asked for and was not refused has its vectors now.

    `refused` has the nodes rejected individually, and why; `error` says why there are no more.
    """

    part: list[tuple[BaseNode, Owner]]
    refused: Sequence[tuple[BaseNode, Owner, ModelRequestError]] = ()
    error: Exception | None = None


def embed(
    columns: Sequence[SplittingColumn[Owner]], models: Models, *, has_answered: bool = False
) -> bool:
    """Give all nodes that wait their vectors, by several requests at a time to a server.

    Columns take turns. What would refuse every request is asked once: unless the model
    `has_answered` before, the first request of each column is waited for.

    Returns:
        True if the model has been asked by now.

    Raises:
        CancelledError: see `interruptible`; answers that came by then are taken down.
    """
    at_once = 0
    if not models.offline:
        at_once = (models.embedding.num_workers or 1) * min(len(columns), MOST_AT_ONCE)
    asked: deque[tuple[SplittingColumn[Owner], Future[Embedded[Owner]]]] = deque()
    parts = [list(_requests(column.waiting, models)) for column in columns]
    try:
        for turn in zip_longest(*parts):
            for column, part in zip(columns, turn, strict=True):
                _receive(asked, leaving=max(0, at_once - 1))
                if part and column.may_ask():
                    asked.append((column, _ask(column, part, models, is_threaded=bool(at_once))))
            if not has_answered:
                _receive(asked)
            has_answered = True
        _receive(asked)
    except (CancelledError, KeyboardInterrupt):
        wait([answer for _, answer in asked], GRACE)
        for column, answer in filter(lambda pair: pair[1].done(), asked):
            column.receive(answer.result())
        raise
    return has_answered


def _ask(
    column: SplittingColumn[Owner],
    part: list[tuple[BaseNode, Owner]],
    models: Models,
    *,
    is_threaded: bool,
) -> Future[Embedded[Owner]]:
    """Make a request, in a thread of its own where a server answers it.

    Unlike a thread of an executor, it keeps no process alive if the server never answers.
    """
    answer: Future[Embedded[Owner]] = Future()

    def run() -> None:
        try:
            with column.embedded.counting():
                answer.set_result(_embed(part, models))
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
    return answer


def _receive(
    asked: deque[tuple[SplittingColumn[Owner], Future[Embedded[Owner]]]], leaving: int = 0
) -> None:
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


def _requests(
    waiting: Sequence[tuple[BaseNode, Owner]], models: Models
) -> Iterator[list[tuple[BaseNode, Owner]]]:
    """Yield what is to be embedded in runs that a server takes with one request; offline in one."""
    due = [pair for pair in waiting if lacks_vector(pair[0])]
    if models.offline:
        if due:
            yield due
        return
    from rag_nodes.models.pacing import requests_of

    model = models.embedding
    yield from requests_of(due, _text_of, model, model.embed_batch_size)


def _text_of(pair: tuple[BaseNode, object]) -> str:
    return pair[0].get_content(MetadataMode.EMBED)


def _embed(part: list[tuple[BaseNode, Owner]], models: Models) -> Embedded[Owner]:
    """Give chunks their vectors; where a request is refused, each chunk goes alone.

    What was answered before something else failed is kept, as it was paid for.
    """
    try:
        _run([node for node, _ in part], models)
    except UnknownModelError as error:  # every chunk would be refused alike
        return Embedded(part, error=error)
    except ModelRequestError as error:
        if len(part) == 1:
            return Embedded(part, [(*part[0], error)])
        logger.info("a request was refused, embedding its chunks one by one")
        refused: list[tuple[BaseNode, Owner, ModelRequestError]] = []
        for alone in part:
            answer = _embed([alone], models)
            refused.extend(answer.refused)
            if answer.error:
                return Embedded(part, refused, answer.error)
        return Embedded(part, refused)
    except Exception as error:  # noqa: BLE001 - whoever stores the others raises it
        return Embedded(part, error=error)
    return Embedded(part)


def _run(nodes: list[BaseNode], models: Models) -> None:
    model, name = models.embedding, models.embedding_name
    try:
        model(nodes)
    except RagNodesError:
        raise
    except asyncio.CancelledError as error:  # by a client with a loop of its own; no `Exception`
        raise ModelResponseError(f"{name}: its client gave the request up; try again") from error
    except Exception as error:
        # Any LlamaIndex embedding can be plugged in, and each raises its provider's errors.
        raise failure_of(error, model, name=name) from error


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
