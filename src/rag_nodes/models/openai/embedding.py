"""Texts in, vectors of an OpenAI or compatible embedding model out (S0-29, S4-06)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import Field, PrivateAttr, SecretStr

from rag_nodes.errors import DimensionError, ModelResponseError
from rag_nodes.models.openai.connection import Connection
from rag_nodes.settings import OPENAI_API_BASE
from rag_nodes.text.tokens import encodable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openai.types import CreateEmbeddingResponse

BATCH_TEXTS = 100
"""Texts of one request at most (S0-29)."""
BATCH_BYTES = 250_000
"""UTF-8 bytes of one request at most. No token is shorter than a byte, so this stays below the
300,000 tokens OpenAI accepts, whatever the tokenizer."""
_BLANK = "(blank)"
"""Sent instead of blank text, which servers refuse; its vector has the right length."""
_DIMENSIONS = {
    "text-embedding-ada-002": 1536,
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
}
"""Known lengths at OpenAI itself; elsewhere the first response decides."""


class OpenAIServerEmbedding(BaseEmbedding):
    """Embedding model of OpenAI or any compatible server, by any name the server knows.

    Unlike LlamaIndex's class it sends texts as they are (line breaks included), limits requests
    by size as well as by count, checks every response, and keeps the key out of `to_dict()`,
    `repr` and pickles. Async calls run in threads, so one client serves every event loop.

    Args:
        model_name: as the server knows it.
        api_key: None for the configured one, or for a server without keys.
        api_base: None for OpenAI itself.
        timeout: seconds without a sign of life.
        retry_seconds: seconds for which a failing request is repeated; 0 for one attempt.
        public_only: refuse a server that is not on the public internet.

    Example:
        >>> OpenAIServerEmbedding(model_name="nomic", api_base="http://127.0.0.1:11434/v1").place
        'http://127.0.0.1:11434/v1'
    """

    model_name: str = "text-embedding-3-small"
    embed_batch_size: int = Field(default=BATCH_TEXTS, gt=0, le=2048)
    num_workers: int | None = 4
    api_base: str | None = None
    timeout: float = Field(default=60.0, gt=0)
    retry_seconds: float = Field(default=10.0, ge=0)
    public_only: bool = False
    _connection: Connection = PrivateAttr()
    _dimension: int | None = PrivateAttr()

    def __init__(self, *, api_key: SecretStr | None = None, **values: Any) -> None:
        super().__init__(**values)
        self._connection = Connection(
            model=self.model_name,
            api_key=api_key,
            api_base=self.api_base,
            timeout=self.timeout,
            retry_seconds=self.retry_seconds,
            public_only=self.public_only,
        )
        at_openai = self.api_base in (None, OPENAI_API_BASE)
        self._dimension = _DIMENSIONS.get(self.model_name) if at_openai else None

    @classmethod
    def class_name(cls) -> str:
        """Name LlamaIndex files this under; its own class is `OpenAIEmbedding`."""
        return "RagNodesOpenAIEmbedding"

    @property
    def place(self) -> str:
        """Where texts are sent, for display."""
        return self.api_base or "OpenAI"

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for batch in _batches([encodable(text) if text.strip() else _BLANK for text in texts]):
            vectors.extend(self._request(batch))
        return vectors

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await self._aget_text_embedding(query)

    def _request(self, texts: list[str]) -> list[list[float]]:
        """One request; its response checked for count, length and numbers."""
        response = self._connection.call(
            lambda client: client.embeddings.create(model=self.model_name, input=texts)
        )
        vectors = self._vectors(response)
        if len(vectors) != len(texts):
            raise ModelResponseError(
                f"{self._here}: {len(vectors)} vectors for {len(texts)} texts; check that the "
                "server supports lists of texts"
            )
        for vector in vectors:
            self._check(vector)
        return vectors

    def _vectors(self, response: CreateEmbeddingResponse) -> list[list[float]]:
        try:
            rows = sorted(response.data, key=lambda row: row.index)
            return [list(map(float, row.embedding)) for row in rows]
        except (AttributeError, TypeError, ValueError) as error:
            raise self._connection.mapped(error) from None

    def _check(self, vector: list[float]) -> None:
        expected = self._dimension = self._dimension or len(vector)
        if len(vector) != expected or not vector:
            raise DimensionError(
                f"{self._here}: a vector of {len(vector)} numbers where {expected} were "
                "expected; check that model and server belong together"
            )
        if not np.isfinite(vector).all():
            raise ModelResponseError(
                f"{self._here}: a vector with values that are no numbers (NaN or infinite); "
                "restart the server or choose another model"
            )

    @property
    def _here(self) -> str:
        return f"{self.model_name} at {self.api_base or OPENAI_API_BASE}"


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Runs of texts within both limits; a text over the size limit goes alone."""
    batch: list[str] = []
    size = 0
    for text in texts:
        length = len(text.encode())
        if batch and (len(batch) == BATCH_TEXTS or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch
