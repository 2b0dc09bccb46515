"""How many tokens an embedding model was given, by whoever asked for it."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, Any

from llama_index.core.callbacks import CallbackManager, CBEventType
from llama_index.core.callbacks.schema import EventPayload

from rag_nodes.models.handlers import QuietHandler
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llama_index.core.base.embeddings.base import BaseEmbedding


class EmbeddedTokens:
    """A sum of tokens; counted here, so a server may bill a few more or less. Any thread may add.

    Attributes:
        tokens: so far.
    """

    def __init__(self) -> None:
        self.tokens = 0
        self._lock = Lock()

    def add(self, tokens: int) -> None:
        """Count so many more."""
        with self._lock:
            self.tokens += tokens

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Add what metered models embed inside the block, in this context."""
        before = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(before)


_CURRENT: ContextVar[EmbeddedTokens | None] = ContextVar("embedded_tokens", default=None)


@contextmanager
def metered(embedding: BaseEmbedding) -> Iterator[None]:
    """Have the model's requests counted inside the block; one that runs offline is not asked."""
    if getattr(embedding, "place", None) == "offline":
        yield
        return
    manager = embedding.callback_manager
    with _LOCK:
        _USES[manager] += 1
        if _USES[manager] == 1:
            # A list of its own: those of models without handlers may be LlamaIndex's global one.
            manager.handlers = [*manager.handlers, _METER]
    try:
        yield
    finally:
        with _LOCK:
            _USES[manager] -= 1
            if not _USES[manager]:
                del _USES[manager]
                manager.handlers = [one for one in manager.handlers if one is not _METER]


class _Meter(QuietHandler):
    """Counts the texts of every request that was answered."""

    def on_event_end(
        self,
        event_type: CBEventType,
        payload: dict[str, Any] | None = None,
        event_id: str = "",
        **kwargs: Any,
    ) -> None:
        """Add the tokens of what was embedded."""
        del event_id, kwargs
        counted = _CURRENT.get()
        if counted is not None and event_type is CBEventType.EMBEDDING:
            texts = (payload or {}).get(EventPayload.CHUNKS) or ()
            counted.add(sum(count_tokens(str(text)) for text in texts))


_LOCK = Lock()
_METER = _Meter()
_USES: Counter[CallbackManager] = Counter()
"""By how many at once the requests of a model are counted: one meter does for all of them."""
