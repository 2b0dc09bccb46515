"""`QdrantVectorStore` with dense and BM25 vectors that any LlamaIndex component can use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from llama_index.core.vector_stores.types import VectorStoreQueryResult
from llama_index.core.vector_stores.utils import node_to_metadata_dict
from llama_index.vector_stores.qdrant import QdrantVectorStore
from pydantic import PrivateAttr
from qdrant_client.http import models as rest

from rag_nodes.errors import DimensionError
from rag_nodes.store.fusion import fuse
from rag_nodes.store.sparse import document_vectors, query_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseNode

    from rag_nodes.store.engine import Engine

DENSE = "text-dense"
"""Name of the embedding vector in a collection."""
SPARSE = "text-sparse-new"
"""Name of the BM25 vector in a collection."""
BATCH = 256
"""Points written in one request."""


class HybridVectorStore(QdrantVectorStore):
    """A collection with an embedding and a BM25 vector per chunk.

    BM25 reads the text of a node only, never the breadcrumb in front of it: headings repeated on
    every chunk would flatten the inverse document frequency. Writing checks vector lengths first
    and creates the collection when it is missing, safely from many threads.

    Args:
        engine: an open connection.
        collection: name of the collection.
    """

    _engine: Engine = PrivateAttr()

    def __init__(self, engine: Engine, collection: str) -> None:
        with engine.calls(collection):
            super().__init__(
                collection_name=collection,
                client=engine.client,
                aclient=engine.aclient,
                enable_hybrid=True,
                batch_size=BATCH,
                dense_vector_name=DENSE,
                sparse_vector_name=SPARSE,
                sparse_doc_fn=document_vectors,
                sparse_query_fn=query_vectors,
                sparse_config=rest.SparseVectorParams(modifier=rest.Modifier.IDF),
                hybrid_fusion_fn=_fused,  # type: ignore[arg-type]
                # `Engine.make_filterable` makes this index with all the others.
                index_doc_id=False,
            )
        self._engine = engine

    @classmethod
    def class_name(cls) -> str:
        """Name under which LlamaIndex files this class."""
        return "HybridVectorStore"

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:  # type: ignore[override]
        """Store nodes with their embeddings; a node of the same id is replaced.

        Raises:
            DimensionError: an embedding has another length than those of the collection.
            StoreError: see `rag_nodes.store.faults`.
        """
        if not nodes:
            return []
        with self._engine.calls(self.collection_name):
            self._collection_initialized = self._collection_exists(self.collection_name)
            self._check_lengths(nodes)
            created = not self._collection_initialized
            if created:
                self._create_collection(self.collection_name, len(nodes[0].get_embedding()))
                self._engine.tune(self.collection_name)
                self._engine.filterable.discard(self.collection_name)
            self._engine.make_filterable(self.collection_name)
            written = super().add(list(nodes), **kwargs)
            self._engine.note_size(self.collection_name)
            return written

    async def async_add(  # type: ignore[override]
        self, nodes: Sequence[BaseNode], **kwargs: Any
    ) -> list[str]:
        """Like `add`, on a thread: building points takes longer than sending them."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    def dimension(self) -> int | None:
        """Length of the collection's embeddings; None while it does not exist."""
        if not self._collection_exists(self.collection_name):
            return None
        vectors = self._client.get_collection(self.collection_name).config.params.vectors
        return int(vectors[DENSE].size) if isinstance(vectors, dict) and DENSE in vectors else None

    def _check_lengths(self, nodes: Sequence[BaseNode]) -> None:
        expected = self.dimension() or len(nodes[0].get_embedding())
        for node in nodes:
            if len(node.get_embedding()) != expected:
                raise DimensionError(
                    f"{self._engine.location}: collection {self.collection_name!r} holds vectors "
                    f"of length {expected}, got {len(node.get_embedding())}; use the embedding "
                    "model it was made with, or another corpus name"
                )

    def _build_points(
        self, nodes: Sequence[BaseNode], sparse_vector_name: str
    ) -> tuple[list[Any], list[str]]:
        """Points for nodes; overrides the base class to give BM25 the text without metadata."""
        indices, values = document_vectors(node.get_content() for node in nodes)
        points = [
            rest.PointStruct.model_construct(
                id=node.node_id,
                payload=_payload(node),
                vector={
                    self.dense_vector_name: node.get_embedding(),
                    sparse_vector_name: rest.SparseVector.model_construct(
                        indices=indices[position], values=values[position]
                    ),
                },
            )
            for position, node in enumerate(nodes)
        ]
        return points, [node.node_id for node in nodes]


def _payload(node: BaseNode) -> dict[str, Any]:
    """Metadata plus the whole node as JSON, without the embedding, which is stored anyway."""
    embedding, node.embedding = node.embedding, None
    try:
        return node_to_metadata_dict(node, remove_text=False, flat_metadata=False)
    finally:
        node.embedding = embedding


def _fused(
    dense_result: VectorStoreQueryResult,
    sparse_result: VectorStoreQueryResult,
    # LlamaIndex passes the name; both sides weigh the same here.
    alpha: float = 0.5,  # noqa: ARG001
    top_k: int = 2,
) -> VectorStoreQueryResult:
    """Our fusion for stock LlamaIndex retrievers in hybrid mode."""
    found = [*(sparse_result.nodes or ()), *(dense_result.nodes or ())]
    nodes = {node.node_id: node for node in found}
    ranked = fuse(_scores(dense_result), _scores(sparse_result))[:top_k]
    return VectorStoreQueryResult(
        nodes=[nodes[node_id] for node_id, _ in ranked],
        similarities=[score for _, score in ranked],
        ids=[node_id for node_id, _ in ranked],
    )


def _scores(result: VectorStoreQueryResult) -> dict[str, float]:
    return dict(zip(result.ids or (), result.similarities or (), strict=True))
