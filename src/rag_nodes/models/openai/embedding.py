"""Texts in, vectors of an OpenAI or compatible embedding model out (S0-29, S4-06)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from llama_index.embeddings.openai import OpenAIEmbedding
from pydantic import Field, PrivateAttr, SecretStr

from rag_nodes.errors import DimensionError, ModelResponseError
from rag_nodes.models.openai.connection import NO_KEY, Connection
from rag_nodes.models.pacing import BATCH_TEXTS, RequestWindow, request_bytes, within
from rag_nodes.settings import OPENAI_API_BASE
from rag_nodes.text.tokens import encodable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag_nodes.models.openai.client import ServerClient

_BLANK = "(blank)"
"""Sent instead of blank text, which servers refuse; its vector has the right length."""
_LARGEST = 1e15
"""Magnitude that no value of an embedding has; vectors of unit length end at 1."""
_DIMENSIONS = {
    "text-embedding-ada-002": 1536,
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
}
"""Known lengths at OpenAI itself; elsewhere the first response decides."""


class OpenAIServerEmbedding(OpenAIEmbedding):
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
        requests_per_minute: started in any minute at most; None for no limit.
        tokens_per_minute: of the requests of any minute at most, as they are counted here.
        default_headers: sent with every request; kept like the key.
        values: other options of LlamaIndex's class, such as `dimensions`; its `max_retries` is 0,
            since all repeating is done by `retry_seconds`.

    Example:
        >>> OpenAIServerEmbedding(model_name="nomic", api_base="http://127.0.0.1:11434/v1").place
        'http://127.0.0.1:11434/v1'
    """

    api_key: str | None = Field(default=None, exclude=True, repr=False)  # type: ignore[assignment]
    default_headers: dict[str, str] | None = Field(default=None, exclude=True, repr=False)
    embed_batch_size: int = Field(default=BATCH_TEXTS, gt=0, le=2048)
    timeout: float = Field(default=60.0, gt=0)
    retry_seconds: float = Field(default=10.0, ge=0)
    public_only: bool = False
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: int | None = Field(default=None, gt=0)
    _connection: Connection = PrivateAttr()
    _dimension: int | None = PrivateAttr()
    _window: RequestWindow | None = PrivateAttr(default=None)

    def __init__(
        self,
        *,
        model_name: str = "text-embedding-3-small",
        api_key: SecretStr | str | None = None,
        api_base: str | None = None,
        default_headers: dict[str, str] | None = None,
        num_workers: int | None = 4,
        **values: Any,
    ) -> None:
        # What LlamaIndex is not told, it looks for in the environment, and shows in its repr.
        told = {"api_key": NO_KEY, "api_base": api_base or OPENAI_API_BASE, "max_retries": 0}
        super().__init__(**{**values, **told, "model_name": model_name, "num_workers": num_workers})
        self.api_key, self.api_base = None, api_base
        self._connection = Connection(
            model=self.model_name,
            api_key=api_key,
            api_base=api_base,
            timeout=self.timeout,
            retry_seconds=self.retry_seconds,
            public_only=self.public_only,
            headers=default_headers,
        )
        self._window = RequestWindow.of(self.requests_per_minute, self.tokens_per_minute)
        known = _DIMENSIONS if api_base in (None, OPENAI_API_BASE) else {}
        self._dimension = self.dimensions or known.get(self.model_name)

    @classmethod
    def class_name(cls) -> str:
        """Name LlamaIndex files this under; its own class is `OpenAIEmbedding`."""
        return "RagNodesOpenAIEmbedding"

    @property
    def place(self) -> str:
        """Where texts are sent, for display."""
        return self._connection.place

    @property
    def given_keys(self) -> dict[str, Any]:
        """Key and headers it was made with, for a process that is to make an equal one."""
        return self._connection.given_keys

    def begin_spent(self) -> None:
        """Ask nothing for a minute where requests are limited: another may have had it all."""
        if self._window:
            self._window.spend()

    def _get_client(self) -> ServerClient:
        return self._connection.client

    def _get_aclient(self) -> NoReturn:
        raise NotImplementedError("async calls run in threads, with the one client there is")

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        sent = [encodable(text) if text.strip() else _BLANK for text in texts]
        for batch in _batches(sent, request_bytes(self)):
            with within(self._window, batch), self._connection.asking():
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
                f"{self._connection.here}: {len(vectors)} vectors for {len(texts)} texts; check "
                "that the server supports lists of texts"
            )
        for vector in vectors:
            self._check(vector)
        return vectors

    def _check(self, vector: list[float]) -> None:
        if not vector:
            raise ModelResponseError(
                f"{self._connection.here}: a vector without numbers; check that model and server "
                "belong together"
            )
        expected = self._dimension = self._dimension or len(vector)
        if len(vector) != expected:
            raise DimensionError(
                f"{self._connection.here}: a vector of {len(vector)} numbers where {expected} were "
                "expected; check that model and server belong together"
            )
        # Their squares are summed in the 32 bits of a store, where more is infinite.
        if not (np.abs(vector) < _LARGEST).all():
            raise ModelResponseError(
                f"{self._connection.here}: a vector with values that are no numbers (NaN, infinite "
                "or beyond a store); restart the server or choose another model"
            )


def _batches(texts: Sequence[str], most_bytes: int) -> Iterator[list[str]]:
    """Runs of texts within both limits; a text over the size limit goes alone."""
    batch: list[str] = []
    size = 0
    for text in texts:
        length = len(text.encode())
        if batch and (len(batch) == BATCH_TEXTS or size + length > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch
