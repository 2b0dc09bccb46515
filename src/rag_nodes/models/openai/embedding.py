"""Texts in, vectors of an OpenAI or compatible embedding model out."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from llama_index.embeddings.openai import OpenAIEmbedding
from pydantic import Field, PrivateAttr

from rag_nodes.core.errors import DimensionError, ModelResponseError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.models.openai.client import ServerModel
from rag_nodes.models.pacing import BATCH_TEXTS, requests_of

_BLANK = "(blank)"
"""Sent instead of blank text, which servers refuse; its vector has the right length."""
_LARGEST = 1e15
"""Magnitude that no value of an embedding has; vectors of unit length end at 1."""


@checks_keywords
class OpenAIServerEmbedding(ServerModel, OpenAIEmbedding):  # type: ignore[misc]
    """Embedding model of OpenAI or any compatible server, by any name the server knows.

    Unlike LlamaIndex's class it sends texts as they are (line breaks included), limits requests
    by size as well as by count, and checks every response. Async calls run in threads, so one
    client serves every event loop.

    Args:
        model_name: as the server knows it.
        values: options of `ServerModel`, and of LlamaIndex's class, such as `dimensions`.

    Examples:
        >>> from rag_nodes.models.openai.embedding import OpenAIServerEmbedding
        >>> OpenAIServerEmbedding(model_name="nomic", api_base="http://127.0.0.1:11434/v1").place
        'http://127.0.0.1:11434/v1'
    """

    embed_batch_size: int = Field(default=BATCH_TEXTS, gt=0, le=2048)
    _dimension: int | None = PrivateAttr(default=None)
    """Length of the first vector, if none was requested."""

    def __init__(
        self,
        *,
        model_name: str = "text-embedding-3-small",
        num_workers: int | None = 4,
        **values: Any,
    ) -> None:
        super().__init__(**values, model_name=model_name, num_workers=num_workers)
        self._dimension = self.dimensions

    @classmethod
    def class_name(cls) -> str:
        """Name LlamaIndex files this under; its own class is `OpenAIEmbedding`."""
        return "RagNodesOpenAIEmbedding"

    @property
    def _asked_for(self) -> str:
        return self.model_name

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        sent = (text if text.strip() else _BLANK for text in texts)
        for batch in requests_of(sent, str, self, BATCH_TEXTS):
            if self._window:
                self._window.acquire_for(batch)
            with self._asking():
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
        """One request; its response put in order and checked for count, length and numbers."""
        response = self._get_client().embeddings.create(
            model=self._text_engine, input=texts, **self.additional_kwargs
        )
        rows = sorted(response.data, key=lambda row: row.index)
        vectors = [list(map(float, row.embedding)) for row in rows]
        if len(vectors) != len(texts):
            raise ModelResponseError(
                f"{self._here}: {len(vectors)} vectors for {len(texts)} texts; check "
                "that the server supports lists of texts"
            )
        for vector in vectors:
            self._check(vector)
        return vectors

    def _check(self, vector: list[float]) -> None:
        if not vector:
            raise ModelResponseError(
                f"{self._here}: a vector without numbers; check that model and server "
                "belong together"
            )
        expected = self._dimension = self._dimension or len(vector)
        if len(vector) != expected:
            raise DimensionError(
                f"{self._here}: a vector of {len(vector)} numbers where {expected} were "
                "expected; check that model and server belong together"
            )
        sizes = np.abs(vector)
        # Their squares are summed in the 32 bits of a store, where more is infinite.
        if not (sizes < _LARGEST).all() or not sizes.any():
            raise ModelResponseError(
                f"{self._here}: an unusable vector (NaN, infinite, too large for a store, or all "
                f"zeros); restart the server or choose another model"
            )
