"""Models of ingests in tests: one that counts what it embeds, and those of a loopback server."""

from collections.abc import Callable
from itertools import repeat
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from openai_server import OpenAIServer
from pydantic import PrivateAttr

from rag_nodes.core.settings import Settings
from rag_nodes.models import Models, choose_models

Prices = dict[str, tuple[float, float]]


class CountingEmbedding(BaseEmbedding):
    """Remembers every text it embedded; `before` may raise to play a failing server."""

    _texts: list[str] = PrivateAttr(default_factory=list)
    _before: Any = PrivateAttr(default=None)

    @classmethod
    def class_name(cls) -> str:
        return "CountingEmbedding"

    @property
    def texts(self) -> list[str]:
        return self._texts

    def fail(self, before: Callable[[list[str]], None]) -> None:
        # Another function would be another code of the model, had it a name here.
        self._before = repeat(before)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        if self._before is not None:
            next(self._before)(texts)
        self._texts.extend(texts)
        return [[1.0, float(len(text)), float(sum(map(ord, text)) % 97)] for text in texts]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embeddings([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def served_by(server: OpenAIServer) -> Models:
    """Models of a loopback server, which is asked once for each request."""
    return choose_models(
        Settings(
            embedding="openai",
            embedding_model="mine",
            llm="extractive",
            api_key="sk-any",
            api_base=server.base,
            retry_seconds=0,
        )
    )
