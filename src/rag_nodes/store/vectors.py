"""`QdrantVectorStore` with dense and BM25 vectors that any LlamaIndex component can use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo
from llama_index.core.vector_stores.types import VectorStoreQueryResult
from llama_index.core.vector_stores.utils import node_to_metadata_dict
from llama_index.vector_stores.qdrant import QdrantVectorStore
from pydantic import PrivateAttr
from qdrant_client.http import models as rest

from rag_nodes.errors import ConfigurationError, DimensionError
from rag_nodes.metadata import SCORES
from rag_nodes.store.catalogue import CHILDREN, PARENT
from rag_nodes.store.fusion import fuse
from rag_nodes.store.layout import DENSE, SPARSE
from rag_nodes.store.sparse import document_vectors, query_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseNode

    from rag_nodes.store.engine import Engine

BATCH = 256
"""Points written in one request."""


class HybridVectorStore(QdrantVectorStore):
    """A collection with an embedding and a BM25 vector per chunk.

    A node with children is stored without vectors, whether it has an embedding or not: it can be
    read by id (`get_nodes`), but is never ranked against its own children. BM25 reads the text of
    a node only, never the breadcrumb in front of it: headings repeated on every chunk would flatten
    the inverse document frequency. Writing checks vector lengths first and creates the collection
    when it is missing, safely from many threads.

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
            if self._collection_initialized:
                engine.make_filterable(collection)
        self._engine = engine

    @classmethod
    def class_name(cls) -> str:
        """Name under which LlamaIndex files this class."""
        return "HybridVectorStore"

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:  # type: ignore[override]
        """Store nodes with their embeddings; a node of the same id is replaced.

        Raises:
            ConfigurationError: a node without children has no embedding, or another program wrote
                the collection, with other vectors.
            DimensionError: an embedding has another length than those of the collection.
            StoreError: see `rag_nodes.store.faults`.
        """
        if not nodes:
            return []
        with self._engine.calls(self.collection_name):
            self._collection_initialized = self._collection_exists(self.collection_name)
            length = self._checked_length(nodes)
            created = not self._collection_initialized
            if created:
                self._create_collection(self.collection_name, length)
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
        """Length of the collection's embeddings; None while it does not exist.

        Raises:
            ConfigurationError: another program wrote the collection, with other vectors.
        """
        if not self._collection_exists(self.collection_name):
            return None
        vectors = self._client.get_collection(self.collection_name).config.params.vectors
        if not isinstance(vectors, dict) or DENSE not in vectors:
            raise ConfigurationError(
                f"{self._engine.location}: collection {self.collection_name!r} was written by "
                f"another program and has no vector {DENSE!r}; it can be asked, and written to "
                "by that program; choose another name for ours"
            )
        return int(vectors[DENSE].size)

    def _checked_length(self, nodes: Sequence[BaseNode]) -> int:
        """The length of the collection's embeddings, which those of the nodes must have."""
        found = [len(self._embedding_of(node)) for node in nodes if not is_parent(node)]
        expected = self.dimension() or next(iter(found), 0)
        if not expected:
            raise ConfigurationError(
                f"collection {self.collection_name!r} does not exist yet and would get parents "
                "only, without a vector to make it by; add them together with their children"
            )
        for length in found:
            if length != expected:
                raise DimensionError(
                    f"{self._engine.location}: collection {self.collection_name!r} holds vectors "
                    f"of length {expected}, got {length}; use the embedding model it was made "
                    "with, or another corpus name"
                )
        return expected

    def _embedding_of(self, node: BaseNode) -> list[float]:
        if node.embedding is None:
            raise ConfigurationError(
                f"node {node.node_id} has no embedding, and only nodes with children are stored "
                "without; embed it first"
            )
        return node.embedding

    def _build_points(
        self, nodes: Sequence[BaseNode], sparse_vector_name: str
    ) -> tuple[list[Any], list[str]]:
        """Points for nodes; overrides the base class to give BM25 the text without metadata."""
        ranked = [node for node in nodes if not is_parent(node)]
        indices, values = document_vectors(node.get_content() for node in ranked)
        vectors = {
            node.node_id: {
                self.dense_vector_name: node.get_embedding(),
                sparse_vector_name: rest.SparseVector.model_construct(
                    indices=indices[position], values=values[position]
                ),
            }
            for position, node in enumerate(ranked)
        }
        points = [
            rest.PointStruct.model_construct(
                id=node.node_id, payload=_payload(node), vector=vectors.get(node.node_id, {})
            )
            for node in nodes
        ]
        return points, [node.node_id for node in nodes]


def is_parent(node: BaseNode) -> bool:
    """Whether other nodes were cut from it."""
    return bool(node.relationships.get(NodeRelationship.CHILD))


def _payload(node: BaseNode) -> dict[str, Any]:
    """Metadata plus the whole node as JSON, without the embedding, which is stored anyway.

    Scores of a question that the node was found for do not belong to it.
    """
    own = {key: value for key, value in node.metadata.items() if key not in SCORES}
    stored = node.model_copy(update={"embedding": None, "metadata": own})
    payload = node_to_metadata_dict(stored, remove_text=False, flat_metadata=False)
    return {**payload, **_family(node)}


def _family(node: BaseNode) -> dict[str, Any]:
    children = node.relationships.get(NodeRelationship.CHILD)
    parent = node.relationships.get(NodeRelationship.PARENT)
    family: dict[str, Any] = {CHILDREN: len(children)} if isinstance(children, list) else {}
    return {**family, PARENT: parent.node_id} if isinstance(parent, RelatedNodeInfo) else family


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
