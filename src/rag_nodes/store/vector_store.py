"""A collection of a `Store` as any LlamaIndex component reads and writes one."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several
from rag_nodes.store.conditions import OneOf, all_of
from rag_nodes.store.engine import MEMORY
from rag_nodes.store.filters import Filter
from rag_nodes.store.opening import open_store
from rag_nodes.store.payload import node_in
from rag_nodes.store.queries import Query, SearchMode, check_share
from rag_nodes.store.terms import where_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from llama_index.core.schema import BaseNode

    from rag_nodes.store.engine import Point
    from rag_nodes.store.queries import Hit
    from rag_nodes.store.store import Store

_MODES: Mapping[str, SearchMode] = {
    VectorStoreQueryMode.DEFAULT: "dense",
    VectorStoreQueryMode.MMR: "dense",
    VectorStoreQueryMode.SPARSE: "sparse",
    VectorStoreQueryMode.TEXT_SEARCH: "sparse",
    VectorStoreQueryMode.HYBRID: "hybrid",
    VectorStoreQueryMode.SEMANTIC_HYBRID: "hybrid",
}
_CANDIDATES = 4
"""Nodes per node wanted, from which an MMR query chooses."""


@checks_keywords
class RagNodesVectorStore(BasePydanticVectorStore):
    """A collection as a vector store of LlamaIndex, in a folder, in memory or on a server.

    Dense, sparse (BM25), hybrid and MMR queries, all metadata filters, nodes by id, sync and async.
    A node with children can be read by id (`get_nodes`), but is never ranked against its own
    children. What is written goes the way of `Store.add`.

    Args:
        location: what `open_store` takes; a store that needs a key or options is opened by that.
        collection: name of the collection; made by the first `add`.
        store: an open store to be part of, instead of a location; then it is the owner's to close.

    Raises:
        StoreError: the store cannot be opened, see `open_store`.

    Examples:
        >>> from rag_nodes import RagNodesVectorStore
        >>> from llama_index.core.schema import TextNode
        >>> from llama_index.core.vector_stores import VectorStoreQuery
        >>> chunks = RagNodesVectorStore()
        >>> ids = chunks.add([TextNode(text="Dogs travel free.", embedding=[1.0, 0.0])])
        >>> chunks.query(VectorStoreQuery(query_embedding=[1.0, 0.0])).nodes[0].text
        'Dogs travel free.'
        >>> chunks.close()
    """

    stores_text: bool = True
    flat_metadata: bool = False
    location: str
    collection: str

    _store: Store = PrivateAttr()
    _owned: bool = PrivateAttr()

    def __init__(
        self,
        location: str | Path = MEMORY,
        collection: str = "documents",
        *,
        store: Store | None = None,
    ) -> None:
        opened = store or open_store(location)
        super().__init__(location=opened.location, collection=collection, stores_text=True)  # type: ignore[call-arg] # ours
        self._store, self._owned = opened, store is None

    @classmethod
    def class_name(cls) -> str:
        """Name under which LlamaIndex files this class."""
        return "RagNodesVectorStore"

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """The store in a folder that `to_dict` was asked of, opened again.

        Raises:
            ConfigurationError: it was in memory, which no dictionary outlives, or on a server, of
                which a dictionary holds no key.
        """
        location, collection = (({**data, **kwargs})[name] for name in ("location", "collection"))
        if location == MEMORY or "://" in location:
            raise ConfigurationError(
                f"collection '{collection}' at {location} cannot be made from a dictionary, "
                "which holds neither chunks nor a key; store it in a folder, or open it with "
                f"open_store(URL, api_key=KEY).vector_store({collection!r})"
            )
        return cls(location, collection)

    def close(self) -> None:
        """Give the store back, unless it is another's."""
        if self._owned:
            self._store.close()

    @property
    def store(self) -> Store:
        """The store that holds the collection."""
        return self._store

    @property
    def client(self) -> Any:
        """The client of qdrant-client that asks a server; else the store."""
        return getattr(self._store.engine, "client", self._store)

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Store nodes with their embeddings; a node of the same id is replaced.

        Raises:
            ConfigurationError: a node without children has no embedding, or an id is no UUID.
            DimensionError: an embedding has another length than those of the collection.
            StoreError: a store does not answer, the disk has too little space, or another program
                wrote the collection, with other vectors.
        """
        self._store.add(self.collection, nodes)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Delete the nodes of a document; one that is not there is fine."""
        if stored := self._store.stored(self.collection, ref_doc_id):
            self._store.delete(self.collection, list(stored))

    def delete_nodes(
        self,
        node_ids: str | list[str] | None = None,
        filters: MetadataFilters | None = None,
        **_: Any,
    ) -> None:
        """Delete nodes by id, those that pass a filter, or of the given ids those that pass."""
        if node_ids is None and filters is None:
            raise ConfigurationError("name nodes to delete, or a filter; clear() deletes all")
        if points := self._points(node_ids, filters, keys=()):
            self._store.delete(self.collection, [point.node_id for point in points])

    def get_nodes(
        self,
        node_ids: str | list[str] | None = None,
        filters: MetadataFilters | None = None,
        limit: int | None = None,
        **_: Any,
    ) -> list[BaseNode]:
        """Nodes by id, those that pass a filter, or of the given ids those that pass.

        Each has its embedding, of unit length as Qdrant keeps it for cosine; parents have none.
        """
        nodes = []
        for point in self._points(node_ids, filters, keys=None)[:limit]:
            where = f"{self.location}: collection '{self.collection}'"
            node = node_in(point.payload, point.node_id, where)
            node.embedding = None if point.vector is None else list(point.vector)
            nodes.append(node)
        return nodes

    def clear(self) -> None:
        """Delete the collection with everything in it; fine while it does not exist."""
        engine = self._store.engine
        with engine.step(self.collection):
            if self.collection in engine.names():
                engine.drop(self.collection)

    def query(self, query: VectorStoreQuery, **arguments: Any) -> VectorStoreQueryResult:
        """The best nodes for a question.

        `alpha` of a hybrid query weighs embeddings (1) against words (0); None weighs both alike.
        `mmr_threshold` of an MMR query weighs similarity to the question (1) against novelty (0).
        No `doc_ids` are no documents; no `node_ids` are all, as an index asks for those.

        Args:
            query: what is asked.
            arguments: fields of the query by name, which go before its own.

        Returns:
            Nodes with what `rag_nodes.store.queries.Hit.score` is.

        Raises:
            CollectionMissingError: nothing was stored.
            ConfigurationError: the mode or an argument is not known here, the mode lacks its
                embedding or text, a weight is not from 0 to 1, or a filter cannot compare its
                value.
            DimensionError: the embedding has another length than those of the collection.
            StoreError: the store does not answer or refused.
        """
        try:
            query = replace(query, **arguments)
        except TypeError as error:
            raise ConfigurationError(
                f"a query takes the fields of VectorStoreQuery: {error}"
            ) from error
        hits = self._store.search(self.collection, _asked(query))
        if query.mode == VectorStoreQueryMode.MMR:
            hits = self._diverse(query, hits)
        return VectorStoreQueryResult(
            nodes=[hit.node for hit in hits],
            similarities=[hit.score for hit in hits],
            ids=[hit.node.node_id for hit in hits],
        )

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Like `add`, on a thread."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **kwargs: Any) -> None:
        """Like `delete`, on a thread."""
        await asyncio.to_thread(self.delete, ref_doc_id, **kwargs)

    async def adelete_nodes(self, *args: Any, **kwargs: Any) -> None:
        """Like `delete_nodes`, on a thread."""
        await asyncio.to_thread(self.delete_nodes, *args, **kwargs)

    async def aget_nodes(self, *args: Any, **kwargs: Any) -> list[BaseNode]:
        """Like `get_nodes`, on a thread."""
        return await asyncio.to_thread(self.get_nodes, *args, **kwargs)

    async def aclear(self) -> None:
        """Like `clear`, on a thread."""
        await asyncio.to_thread(self.clear)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Like `query`, on a thread."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    def persist(self, persist_path: str, fs: Any = None) -> None:  # noqa: ARG002 -- LlamaIndex's
        """Put what was written on the disk itself; it is in its store already."""
        self._store.flush(self.collection)

    def _points(
        self,
        node_ids: str | Sequence[str] | None,
        filters: MetadataFilters | None,
        *,
        keys: Sequence[str] | None,
    ) -> list[Point]:
        where = all_of(where_of(filters), None if node_ids is None else OneOf(several(node_ids)))
        return self._store.select(self.collection, where, keys, vectors=keys is None)

    def _diverse(self, query: VectorStoreQuery, hits: Sequence[Hit]) -> list[Hit]:
        """Those that LlamaIndex chooses by maximal marginal relevance."""
        vectors = self._store.vectors(self.collection, [hit.node.node_id for hit in hits])
        candidates = [hit for hit in hits if hit.node.node_id in vectors]
        _, best = get_top_k_mmr_embeddings(
            np.asarray(query.query_embedding),  # type: ignore[arg-type] # it computes with arrays
            [np.asarray(vectors[hit.node.node_id][1]) for hit in candidates],  # type: ignore[misc]
            similarity_top_k=query.similarity_top_k,
            mmr_threshold=query.mmr_threshold,
        )
        return [candidates[place] for place in best]


def _asked(query: VectorStoreQuery) -> Query:
    """Return the query of LlamaIndex as ours.

    As in LlamaIndex, `alpha` 1 is dense search alone and 0 is search by words alone; that is what
    they are made here, to the last score.
    """
    mode = _MODES.get(query.mode)
    if mode is None:
        modes = ", ".join(sorted(str(mode.value) for mode in map(VectorStoreQueryMode, _MODES)))
        raise ConfigurationError(
            f"this store has no query mode '{query.mode!s}'; choose one of {modes}"
        )
    limit, alpha = query.similarity_top_k, None
    if query.mode == VectorStoreQueryMode.MMR:
        limit *= _CANDIDATES
        if query.mmr_threshold is not None:
            check_share("mmr_threshold", query.mmr_threshold)
    elif mode == "sparse":
        limit = query.sparse_top_k or limit
    elif mode == "hybrid":
        limit, alpha = query.hybrid_top_k or limit, query.alpha
        if alpha is not None:
            check_share("alpha", alpha)
            alone: dict[float, SearchMode] = {0: "sparse", 1: "dense"}
            mode = alone.get(alpha, mode)
    scope = Filter(document_ids=query.doc_ids)
    also = all_of(where_of(query.filters), OneOf(query.node_ids) if query.node_ids else None)
    vector, text = query.query_embedding, query.query_str
    return Query(vector, text, limit, mode, scope, alpha=alpha, also=also)
