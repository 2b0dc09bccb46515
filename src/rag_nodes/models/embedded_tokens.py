"""How many tokens an embedding model was given, by whoever asked for it."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, Any

from llama_index.core import instrumentation
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.embedding import (
    EmbeddingEndEvent,
    EmbeddingStartEvent,
)

from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llama_index.core.base.embeddings.base import BaseEmbedding


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
        self._lock = Lock()

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
