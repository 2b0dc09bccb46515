"""`QdrantVectorStore` with dense and BM25 vectors that any LlamaIndex component can use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryResult
from llama_index.vector_stores.qdrant import QdrantVectorStore
from pydantic import PrivateAttr

from rag_nodes.store.bm25 import document_vectors, query_vectors
from rag_nodes.store.engine import DENSE, SPARSE
from rag_nodes.store.fusion import fuse
from rag_nodes.store.payload import check_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseNode

    from rag_nodes.store.protocol import Store
    from rag_nodes.store.server.engine import Served


class HybridVectorStore(QdrantVectorStore):
    """A collection of a `QdrantStore`, as LlamaIndex reads and writes one.

    A node with children can be read by id (`get_nodes`), but is never ranked against its own
    children. What is written goes the way of `QdrantStore.add`.

    Args:
        store: writes.
        engine: its connection.
        collection: name of the collection.
    """

    _store: Store = PrivateAttr()
    _engine: Served = PrivateAttr()

    def __init__(self, store: Store, engine: Served, collection: str) -> None:
        with engine.step(collection):
            super().__init__(
                collection_name=collection,
                client=engine.client,
                aclient=engine.aclient,
                enable_hybrid=True,
                dense_vector_name=DENSE,
                sparse_vector_name=SPARSE,
                sparse_doc_fn=document_vectors,
                sparse_query_fn=query_vectors,
                hybrid_fusion_fn=_fused,  # type: ignore[arg-type]
                # `Engine.make_filterable` makes this index with all the others.
                index_doc_id=False,
            )
            if self._collection_initialized:
                engine.make_filterable(collection)
        self._store = store
        self._engine = engine

    @classmethod
    def class_name(cls) -> str:
        """Name under which LlamaIndex files this class."""
        return "HybridVectorStore"

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:  # type: ignore[override]
        """Store nodes with their embeddings; a node of the same id is replaced.

        Raises:
            ConfigurationError: a node without children has no embedding, or another program wrote
                the collection, with other vectors.
            DimensionError: an embedding has another length than those of the collection.
            StoreError: see `rag_nodes.store.faults`.
        """
        self._store.add(self.collection_name, nodes)
        return [node.node_id for node in nodes]

    async def async_add(  # type: ignore[override]
        self, nodes: Sequence[BaseNode], **kwargs: Any
    ) -> list[str]:
        """Like `add`, on a thread: building points takes longer than sending them."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Nodes for a question; what the server fails at is told in our errors, here and below."""
        with self._engine.step(self.collection_name):
            return super().query(query, **kwargs)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Like `query`."""
        with self._engine.step(self.collection_name):
            return await super().aquery(query, **kwargs)

    def get_nodes(self, *args: Any, **kwargs: Any) -> list[BaseNode]:
        """Nodes by id or filter."""
        with self._engine.step(self.collection_name):
            return super().get_nodes(*args, **kwargs)

    async def aget_nodes(self, *args: Any, **kwargs: Any) -> list[BaseNode]:
        """Like `get_nodes`."""
        with self._engine.step(self.collection_name):
            return await super().aget_nodes(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> None:
        """Delete the nodes of a document."""
        with self._engine.step(self.collection_name):
            super().delete(*args, **kwargs)

    async def adelete(self, *args: Any, **kwargs: Any) -> None:
        """Like `delete`."""
        with self._engine.step(self.collection_name):
            await super().adelete(*args, **kwargs)

    def delete_nodes(self, *args: Any, **kwargs: Any) -> None:
        """Delete nodes by id or filter."""
        with self._engine.step(self.collection_name):
            super().delete_nodes(*args, **kwargs)

    async def adelete_nodes(self, *args: Any, **kwargs: Any) -> None:
        """Like `delete_nodes`."""
        with self._engine.step(self.collection_name):
            await super().adelete_nodes(*args, **kwargs)

    def parse_to_query_result(self, response: list[Any]) -> VectorStoreQueryResult:
        """What points hold, where this release reads it.

        Raises:
            StoreError: a newer release wrote them.
        """
        for point in response:
            where = f"{self._engine.location}: collection {self.collection_name!r}"
            check_version(point.payload or {}, where)
        return super().parse_to_query_result(response)


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
    found_by_both = fuse(_scores(dense_result), _scores(sparse_result))
    ranked = found_by_both.pairs[:top_k]
    return VectorStoreQueryResult(
        nodes=[nodes[node_id] for node_id, _ in ranked],
        similarities=[found_by_both.scale.place(score) for _, score in ranked],
        ids=[node_id for node_id, _ in ranked],
    )


def _scores(result: VectorStoreQueryResult) -> dict[str, float]:
    return dict(zip(result.ids or (), result.similarities or (), strict=True))
