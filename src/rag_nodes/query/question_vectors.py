"""Each question embedded once, however many engines ask it and however soon it is asked again."""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import RagNodesError
from rag_nodes.models import failure_of
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_nodes.models import Models
    from rag_nodes.store import SearchMode

_HOUR = 3600.0
_CAPACITY = 256
"""Questions remembered; the one not asked for longest goes first."""


class QuestionVector(NamedTuple):
    """The embedding of a question.

    Attributes:
        vector: None where the search needs none.
        cached: True where no model was asked for it.
        tokens: tokens a model was given for it, counted here; 0 where it runs offline.
    """

    vector: list[float] | None
    cached: bool = False
    tokens: int = 0


class QuestionVectors:
    """Embeds questions and remembers the vectors for a while; safe to share by threads.

    Args:
        ttl_hours: how long a vector is remembered; 0 for not at all.
        size: questions remembered at most.
        clock: seconds that only ever grow.
    """

    def __init__(
        self,
        *,
        ttl_hours: float = 24.0,
        size: int = _CAPACITY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ttl = ttl_hours * _HOUR
        self._size = size
        self._clock = clock
        self._lock = Lock()
        self._known: OrderedDict[tuple[str, str], tuple[float, list[float]]] = OrderedDict()

    def get(self, models: Models, question: str, *, mode: SearchMode = "hybrid") -> QuestionVector:
        """The vector of a question; none where the mode of search needs none.

        Raises:
            ModelError: the embedding model failed.
            CredentialsError: its server refused the key.
        """
        known = self._known_for(models, question, mode)
        if known is not None:
            return known
        try:
            vector = models.embedding.get_query_embedding(question)
        except Exception as error:
            raise _translated(error, models) from error
        return self._remember(models, question, vector)

    async def aget(
        self, models: Models, question: str, *, mode: SearchMode = "hybrid"
    ) -> QuestionVector:
        """Like `get`, without blocking the event loop."""
        known = self._known_for(models, question, mode)
        if known is not None:
            return known
        try:
            vector = await models.embedding.aget_query_embedding(question)
        except Exception as error:
            raise _translated(error, models) from error
        return self._remember(models, question, vector)

    def _known_for(self, models: Models, question: str, mode: SearchMode) -> QuestionVector | None:
        """What can be said without asking the model."""
        if mode == "sparse":
            return QuestionVector(None)
        vector = self._remembered(models, question)
        return None if vector is None else QuestionVector(vector, cached=True)

    def _remembered(self, models: Models, question: str) -> list[float] | None:
        key = (models.embedding_name, question)
        with self._lock:
            since, vector = self._known.get(key, (0.0, None))
            if vector is None:
                return None
            if self._clock() - since >= self._ttl:
                del self._known[key]
                return None
            self._known.move_to_end(key)
            return vector

    def _remember(self, models: Models, question: str, vector: list[float]) -> QuestionVector:
        if self._ttl > 0:
            with self._lock:
                self._known[models.embedding_name, question] = (self._clock(), vector)
                while len(self._known) > self._size:
                    self._known.popitem(last=False)
        asked = 0 if models.embeds_offline else count_tokens(question)
        return QuestionVector(vector, tokens=asked)


def _translated(error: Exception, models: Models) -> Exception:
    """Any LlamaIndex embedding can be plugged in, and each raises its provider's errors."""
    if isinstance(error, RagNodesError):
        return error
    return failure_of(error, models.embedding, name=models.embedding_name)
