"""How many tokens an embedding model was given, by whoever asked for it."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

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
        self._lock = Lock()

    def add(self, tokens: int) -> None:
        """Count so many more."""
        with self._lock:
            self.tokens += tokens

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Add what the model embeds inside the block, in this context."""
        before = _CURRENT.set(None if self._is_offline else _Counting(self, self._name, set()))
        try:
            yield
        finally:
            _CURRENT.reset(before)


class _Counting(NamedTuple):
    """Into which sum requests go, of which model, and the spans in which it was asked."""

    total: EmbeddedTokens
    name: tuple[str, str]
    spans: set[str | None]


_CURRENT: ContextVar[_Counting | None] = ContextVar("embedded_tokens", default=None)


class _Meter(BaseEventHandler):
    """Counts the texts of every request that was answered; only its start names the model."""

    def handle(self, event: Any, **_: Any) -> None:
        """Add the tokens of what was embedded."""
        counting = _CURRENT.get()
        if counting is None:
            return
        if isinstance(event, EmbeddingStartEvent):
            asked = event.model_dict
            if (asked.get("class_name"), asked.get("model_name")) == counting.name:
                counting.spans.add(event.span_id)
        elif isinstance(event, EmbeddingEndEvent) and event.span_id in counting.spans:
            counting.total.add(sum(map(count_tokens, event.chunks)))


instrumentation.get_dispatcher().add_event_handler(_Meter())  # type: ignore[attr-defined] # re-exported
