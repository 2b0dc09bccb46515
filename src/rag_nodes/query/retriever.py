"""LlamaIndex's retriever over one collection."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from rag_nodes.errors import RagNodesError
from rag_nodes.models import map_model_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.models import Models
    from rag_nodes.store import Hit, SearchMode, Store

CANDIDATES = 50
"""Chunks retrieved where a token budget decides how many are used."""


class RagNodesRetriever(BaseRetriever):
    """Hybrid retrieval for any LlamaIndex query engine, sync and async, embedded and served.

    Args:
        store: where the chunks are.
        collection: which of its collections.
        models: embeds the question.
        top_k: chunks per question.
        mode: "hybrid", "dense" or "sparse".
        document_ids: search only these documents; None for all.
        similarity_cutoff: leave out chunks of a lower cosine similarity; None to keep all (C9).
    """

    def __init__(
        self,
        *,
        store: Store,
        collection: str,
        models: Models,
        top_k: int = CANDIDATES,
        mode: SearchMode = "hybrid",
        document_ids: Sequence[str] | None = None,
        similarity_cutoff: float | None = None,
    ) -> None:
        super().__init__()
        self.store = store
        self.collection = collection
        self.models = models
        self.top_k = top_k
        self.mode = mode
        self.document_ids = document_ids
        self.similarity_cutoff = similarity_cutoff

    def embed(self, question: str) -> list[float] | None:
        """Vector of a question; None where the mode needs none.

        Raises:
            ModelError: the embedding model failed.
        """
        if self.mode == "sparse":
            return None
        try:
            return self.models.embedding.get_query_embedding(question)
        except Exception as error:
            raise self._translated(error) from error

    async def aembed(self, question: str) -> list[float] | None:
        """Like `embed`, without blocking the event loop."""
        if self.mode == "sparse":
            return None
        try:
            return await self.models.embedding.aget_query_embedding(question)
        except Exception as error:
            raise self._translated(error) from error

    def hits(self, question: str, vector: Sequence[float] | None) -> list[Hit]:
        """The best chunks for a question that is embedded already.

        Raises:
            CollectionMissingError: nothing was ingested.
            DimensionError: the vector is not from the model the chunks were embedded with.
        """
        found = self.store.search(
            self.collection,
            vector=vector,
            text=question,
            limit=self.top_k,
            mode=self.mode,
            document_ids=self.document_ids,
        )
        cutoff = self.similarity_cutoff
        if cutoff is None:
            return found
        return [hit for hit in found if hit.similarity is None or hit.similarity >= cutoff]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        question = query_bundle.query_str
        return scored(self.hits(question, query_bundle.embedding or self.embed(question)))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        question = query_bundle.query_str
        vector = query_bundle.embedding or await self.aembed(question)
        return scored(await asyncio.to_thread(self.hits, question, vector))

    def _translated(self, error: Exception) -> Exception:
        if isinstance(error, RagNodesError):
            return error
        return map_model_error(error, model=self.models.embedding_name, api_base=None)


def scored(hits: Sequence[Hit]) -> list[NodeWithScore]:
    """Hits as LlamaIndex passes them on."""
    return [NodeWithScore(node=hit.node, score=hit.score) for hit in hits]
