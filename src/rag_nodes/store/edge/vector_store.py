"""A collection as any LlamaIndex component reads and writes one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from rag_nodes.errors import ConfigurationError
from rag_nodes.store.conditions import indexes_for
from rag_nodes.store.edge.conditions import conditions
from rag_nodes.store.engine import MEMORY
from rag_nodes.store.filters import Filter
from rag_nodes.store.fusion import fuse
from rag_nodes.store.payload import check_question, node_in
from rag_nodes.store.queries import Query, SearchMode
from rag_nodes.store.vector_store_queries import fraction, hybrid_query, with_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import qdrant_edge as edge
    from llama_index.core.schema import BaseNode

    from rag_nodes.store.edge.collection import Collection
    from rag_nodes.store.points import Point
    from rag_nodes.store.protocol import Store
    from rag_nodes.store.qdrant import QdrantStore

_MODES: Mapping[str, SearchMode] = {
    VectorStoreQueryMode.DEFAULT: "dense",
    VectorStoreQueryMode.MMR: "dense",
    VectorStoreQueryMode.SPARSE: "sparse",
    VectorStoreQueryMode.TEXT_SEARCH: "sparse",
    VectorStoreQueryMode.HYBRID: "hybrid",
    VectorStoreQueryMode.SEMANTIC_HYBRID: "hybrid",
}
_DIVERSITY = 0.5
"""Weight of similarity to the question against novelty, from 0 to 1, where none is given."""
_CANDIDATES = 4
"""Candidates per chunk wanted, from which different ones are chosen."""


class EdgeVectorStore(BasePydanticVectorStore):
    """Qdrant's own engine in this process as a vector store of LlamaIndex: no server, no service.

    Dense, sparse (BM25), hybrid and MMR queries, all metadata filters, nodes by id, sync and async,
    in a folder that outlives the process or in memory. A node with children can be read by id
    (`get_nodes`), but is never ranked against its own children.

    Args:
        location: a folder, made where it is missing, or ":memory:".
        collection: name of the collection; made by the first `add`.
        store: an open store to be part of, instead of a location; then it is the owner's to close.

    Raises:
        ConfigurationError: the store is neither in a folder nor in memory.
        StoreForeignError: no store of ours made the folder, and something is in it.
        StoreLockedError: another process holds the folder.
        StoreDamagedError: the folder's content cannot be read.
        StoreFullError: the disk has too little space.

    Example:
        >>> from llama_index.core.schema import TextNode
        >>> from llama_index.core.vector_stores import VectorStoreQuery
        >>> chunks = EdgeVectorStore()
        >>> ids = chunks.add([TextNode(text="Dogs travel free.", embedding=[1.0, 0.0])])
        >>> chunks.query(VectorStoreQuery(query_embedding=[1.0, 0.0])).nodes[0].text
        'Dogs travel free.'
        >>> chunks.close()
    """

    stores_text: bool = True
    flat_metadata: bool = False
    location: str
    collection: str

    _store: QdrantStore = PrivateAttr()
    _owned: bool = PrivateAttr()

    def __init__(
        self,
        location: str | Path = MEMORY,
        collection: str = "documents",
        *,
        store: Store | None = None,
    ) -> None:
        from rag_nodes.store.edge.engine import Edge, open_edge
        from rag_nodes.store.qdrant import QdrantStore

        super().__init__(
            location=store.location if store else str(location),  # type: ignore[call-arg] # ours
            collection=collection,
            stores_text=True,
        )
        opened = store or QdrantStore(open_edge(str(location)))
        if not isinstance(opened, QdrantStore) or not isinstance(opened.engine, Edge):
            raise ConfigurationError(
                f"{opened.location}: this vector store reads stores in a folder or in memory; one "
                f"on a server gives its own by vector_store({collection!r})"
            )
        self._owned = store is None
        self._store = opened

    @classmethod
    def class_name(cls) -> str:
        """Name under which LlamaIndex files this class."""
        return "EdgeVectorStore"

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """The store that `to_dict` was asked of, opened anew.

        Raises:
            ConfigurationError: it was in memory, which no dictionary outlives.
        """
        given = {**data, **kwargs}
        if given["location"] == MEMORY:
            raise ConfigurationError(
                f"collection {given['collection']!r} was in memory, and what was in it is not in "
                "this dictionary; store it in a folder"
            )
        return cls(given["location"], given["collection"])

    @property
    def client(self) -> QdrantStore:
        """The store that the collection is in."""
        return self._store

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Store nodes with their embeddings; a node of the same id is replaced.

        Raises:
            ConfigurationError: a node without children has no embedding, or an id is no UUID.
            DimensionError: an embedding has another length than those of the collection.
            StoreFullError: the disk has too little space.
        """
        self._store.add(self.collection, nodes)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Delete the nodes of a document; one that is not there is fine."""
        if stored := self._store.stored(self.collection, ref_doc_id):
            self._store.delete(self.collection, list(stored))

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **_: Any,
    ) -> None:
        """Delete nodes by id, those that pass a filter, or of the given ids those that pass."""
        if node_ids is None and filters is None:
            raise ConfigurationError("name nodes to delete, or a filter; clear() deletes all")
        found = [point.node_id for point in self._points(node_ids, filters, keys=())]
        if found:
            self._store.delete(self.collection, found)

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_: Any
    ) -> list[BaseNode]:
        """Nodes by id, those that pass a filter, or of the given ids those that pass.

        Each has its embedding, of unit length as Qdrant keeps it for cosine; parents have none.
        """
        points = self._points(node_ids, filters, keys=None)
        return [self._node(one, embedding=True) for one in points]

    def clear(self) -> None:
        """Delete the collection with everything in it; fine while it does not exist."""
        if self._exists():
            self._store.drop(self.collection)

    def query(self, query: VectorStoreQuery, **arguments: Any) -> VectorStoreQueryResult:
        """The best nodes for a question.

        `alpha` of a hybrid query weighs embeddings (1) against words (0); None weighs both alike.
        `mmr_threshold` of an MMR query weighs similarity to the question (1) against novelty (0).

        Args:
            query: what is asked.
            arguments: fields of the query by name, which go before its own.

        Raises:
            CollectionMissingError: nothing was stored.
            ConfigurationError: the mode or an argument is not known here, the mode lacks its
                embedding or text, or a weight is not from 0 to 1.
            DimensionError: the embedding has another length than those of the collection.
        """
        query = with_arguments(query, arguments)
        asked, alpha = _asked(query)
        threshold = fraction("mmr_threshold", query.mmr_threshold)
        with self._engine.step(self.collection):
            stored = self._collection()
            if asked.mode != "sparse":
                check_question(len(asked.vector or ()), stored.vectors.size, stored.where)
            own = _scope(query, stored)
            stored.find_by(indexes_for(query.filters))
            if query.mode == VectorStoreQueryMode.MMR:
                weight = _DIVERSITY if threshold is None else threshold
                ranked = stored.diverse(asked, own, weight, _CANDIDATES)
                return self._result(stored, ranked, dict(ranked))
            found = stored.scores(asked, own)
            ranking = fuse(found.dense, found.sparse, rest=found.rest, alpha=alpha)
            best = ranking.pairs[: asked.limit]
            scores = {one: ranking.scale.place(score) for one, score in best}
            return self._result(stored, best, scores)

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Like `add`, on a thread."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **kwargs: Any) -> None:
        """Like `delete`, on a thread."""
        await asyncio.to_thread(self.delete, ref_doc_id, **kwargs)

    async def adelete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **kwargs: Any,
    ) -> None:
        """Like `delete_nodes`, on a thread."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **kwargs)

    async def aget_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **kwargs: Any,
    ) -> list[BaseNode]:
        """Like `get_nodes`, on a thread."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters, **kwargs)

    async def aclear(self) -> None:
        """Like `clear`, on a thread."""
        await asyncio.to_thread(self.clear)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Like `query`, on a thread."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    def persist(self, persist_path: str, fs: Any = None) -> None:  # noqa: ARG002 -- LlamaIndex's
        """Put what was written on the disk itself; it is in its folder already."""
        if self._exists():
            with self._engine.step(self.collection):
                self._collection().flush()

    def close(self) -> None:
        """Give the folder back, unless the store is another's."""
        if self._owned:
            self._store.close()

    @property
    def _engine(self) -> Any:
        return self._store.engine

    def _collection(self) -> Collection:
        found: Collection = self._engine.collection(self.collection)
        return found

    def _exists(self) -> bool:
        return self.collection in self._engine.names()

    def _points(
        self,
        node_ids: Sequence[str] | None,
        filters: MetadataFilters | None,
        *,
        keys: Sequence[str] | None,
    ) -> list[Point]:
        if not self._exists():
            return []
        with self._engine.step(self.collection):
            stored, chosen = self._collection(), conditions(filters)
            stored.find_by(indexes_for(filters))
            return stored.among(node_ids, chosen, keys, vectors=keys is None)

    def _node(self, point: Point, *, embedding: bool = False) -> BaseNode:
        where = f"{self.location}: collection {self.collection!r}"
        node = node_in(point.payload, point.node_id, where)
        if embedding and point.vector is not None:
            node.embedding = list(point.vector)
        return node

    def _result(
        self,
        stored: Collection,
        ranked: Sequence[tuple[str, float]],
        scores: Mapping[str, float],
    ) -> VectorStoreQueryResult:
        points = {point.node_id: point for point in stored.read([one for one, _ in ranked])}
        nodes = {one: self._node(point) for one, point in points.items()}
        ids = [one for one, _ in ranked if isinstance(nodes.get(one), TextNode)]
        return VectorStoreQueryResult(
            nodes=[nodes[one] for one in ids],
            similarities=[scores[one] for one in ids],
            ids=ids,
        )


def _asked(query: VectorStoreQuery) -> tuple[Query, float | None]:
    """What a query asks, and the weight of its dense ranking where it is hybrid."""
    mode = _MODES.get(query.mode)
    if mode is None:
        known = ", ".join(sorted({str(one.value) for one in VectorStoreQueryMode} & {*_MODES}))
        raise ConfigurationError(
            f"this store has no query mode {str(query.mode)!r}; choose one of {known}"
        )
    if mode == "hybrid":
        return hybrid_query(query)
    limit = (query.sparse_top_k if mode == "sparse" else None) or query.similarity_top_k
    return Query(query.query_embedding, query.query_str, limit, mode), None


def _scope(query: VectorStoreQuery, stored: Collection) -> list[edge.Filter]:
    """Which nodes may be found.

    An index asks for no nodes where it means all: of a store that keeps texts it knows none.
    """
    documents = conditions(Filter(document_ids=query.doc_ids))
    nodes = stored.one_of(query.node_ids) if query.node_ids else None
    found = (conditions(query.filters), documents, nodes)
    return [one for one in found if one is not None]
