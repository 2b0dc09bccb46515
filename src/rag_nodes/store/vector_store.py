"""A collection of a `QdrantStore` as any LlamaIndex component reads and writes one."""

from __future__ import annotations

import asyncio
from dataclasses import fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

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
from rag_nodes.store.faults import missing
from rag_nodes.store.filters import Filter
from rag_nodes.store.fusion import fuse
from rag_nodes.store.payload import check_question, node_in
from rag_nodes.store.queries import Query, Scope, SearchMode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.schema import BaseNode
    from qdrant_client import QdrantClient

    from rag_nodes.store.engine import Engine, EngineCollection
    from rag_nodes.store.points import Point
    from rag_nodes.store.protocol import Store

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
_ARGUMENTS = frozenset(one.name for one in fields(VectorStoreQuery))


class CollectionVectorStore(BasePydanticVectorStore):
    """A collection as a vector store of LlamaIndex.

    Dense, sparse (BM25), hybrid and MMR queries, all metadata filters, nodes by id, sync and async.
    A node with children can be read by id (`get_nodes`), but is never ranked against its own
    children. What is written goes the way of `QdrantStore.add`.
    """

    stores_text: bool = True
    flat_metadata: bool = False
    location: str
    collection: str

    _store: Store = PrivateAttr()
    _engine: Engine = PrivateAttr()
    _of_engine: ClassVar[tuple[str, ...]] = ()
    """Names of further arguments of a query, for `EngineCollection.scores`."""

    def __init__(self, store: Store, engine: Engine, collection: str) -> None:
        super().__init__(
            location=store.location,  # type: ignore[call-arg] # ours
            collection=collection,
            stores_text=True,
        )
        self._store, self._engine = store, engine

    @property
    def client(self) -> Any:
        """The store that the collection is in."""
        return self._store

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Store nodes with their embeddings; a node of the same id is replaced.

        Raises:
            ConfigurationError: a node without children has no embedding, an id is no UUID, or
                another program wrote the collection, with other vectors.
            DimensionError: an embedding has another length than those of the collection.
            StoreError: a store does not answer, or the disk has too little space.
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
        if found := self._points(node_ids, filters, keys=()):
            self._store.delete(self.collection, [point.node_id for point in found])

    def get_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        limit: int | None = None,
        **_: Any,
    ) -> list[BaseNode]:
        """Nodes by id, those that pass a filter, or of the given ids those that pass.

        Each has its embedding, of unit length as Qdrant keeps it for cosine; parents have none.
        """
        points = self._points(node_ids, filters, keys=None)
        return [self._node(one) for one in points[:limit]]

    def clear(self) -> None:
        """Delete the collection with everything in it; fine while it does not exist."""
        with self._engine.step(self.collection):
            if self.collection in self._engine.names():
                self._engine.drop(self.collection)

    def query(self, query: VectorStoreQuery, **arguments: Any) -> VectorStoreQueryResult:
        """The best nodes for a question.

        `alpha` of a hybrid query weighs embeddings (1) against words (0); None weighs both alike.
        `mmr_threshold` of an MMR query weighs similarity to the question (1) against novelty (0).

        Args:
            query: what is asked.
            arguments: fields of the query by name, which go before its own.

        Returns:
            Nodes with what `rag_nodes.store.hits.Hit.score` is; by MMR with their similarity.

        Raises:
            CollectionMissingError: nothing was stored.
            ConfigurationError: the mode or an argument is not known here, the mode lacks its
                embedding or text, a weight is not from 0 to 1, or a filter cannot compare its
                value.
            DimensionError: the embedding has another length than those of the collection.
            StoreError: the store does not answer or refused.
        """
        native = {name: arguments.pop(name) for name in self._of_engine if name in arguments}
        query = _with_arguments(query, arguments)
        asked, alpha = _asked(query)
        threshold = _fraction("mmr_threshold", query.mmr_threshold)
        # An index asks for no nodes where it means all: of a store that keeps texts it knows none.
        also = Scope((Filter(document_ids=query.doc_ids), query.filters), query.node_ids or None)
        with self._engine.step(self.collection):
            there = self._checked(asked)
            if query.mode == VectorStoreQueryMode.MMR:
                if native:
                    raise ConfigurationError(f"an MMR query takes no {', '.join(native)}")
                weight = _DIVERSITY if threshold is None else threshold
                return self._result(there, dict(there.diverse(asked, also, weight)))
            found = there.scores(asked, also, **native)
            ranking = fuse(found, alpha=alpha)
            best = ranking.pairs[: asked.limit]
            return self._result(there, {one: ranking.share(score) for one, score in best})

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

    @property
    def _place(self) -> str:
        return f"{self.location}: collection {self.collection!r}"

    def _checked(self, asked: Query) -> EngineCollection:
        """The collection, which a query can be answered by."""
        found = self._engine.collection(self.collection)
        if found is None:
            raise missing(self.location, self.collection)
        if found.layout.sparse is None and asked.mode != "dense":
            raise ConfigurationError(
                f"{self._place} has no BM25 vectors of ours, so it cannot be searched by words; "
                "ask in mode 'default'"
            )
        if asked.mode != "sparse":
            check_question(len(asked.vector or ()), found.layout.size, self._place)
        return found

    def _points(
        self,
        node_ids: Sequence[str] | None,
        filters: MetadataFilters | None,
        *,
        keys: Sequence[str] | None,
    ) -> list[Point]:
        scope = Scope((filters,), node_ids)
        with self._engine.step(self.collection):
            found = self._engine.collection(self.collection)
            return list(found.select(scope, keys, vectors=keys is None)) if found else []

    def _node(self, point: Point) -> BaseNode:
        node = node_in(point.payload, point.node_id, self._place)
        if point.vector is not None:
            node.embedding = list(point.vector)
        return node

    def _result(
        self, there: EngineCollection, scores: Mapping[str, float]
    ) -> VectorStoreQueryResult:
        """The nodes with these scores; what was deleted meanwhile is left out."""
        read = there.read(list(scores))
        nodes = {point.node_id: self._node(point) for point in read}
        ids = [one for one in scores if isinstance(nodes.get(one), TextNode)]
        return VectorStoreQueryResult(
            nodes=[nodes[one] for one in ids],
            similarities=[scores[one] for one in ids],
            ids=ids,
        )


class HybridVectorStore(CollectionVectorStore):
    """A collection on a server, as LlamaIndex reads and writes one.

    A query also takes what is Qdrant's: `qdrant_filters`, its own filter in place of those of the
    query, and `search_params`. An MMR query takes neither.
    """

    _of_engine: ClassVar[tuple[str, ...]] = ("qdrant_filters", "search_params")

    def __init__(self, store: Store, engine: Engine, collection: str) -> None:
        super().__init__(store, engine, collection)

    @classmethod
    def class_name(cls) -> str:
        """Name under which LlamaIndex files this class."""
        return "HybridVectorStore"

    @property
    def client(self) -> QdrantClient:
        """What asks the server."""
        client: QdrantClient = self._engine.client  # type: ignore[attr-defined] # one on a server
        return client

    @classmethod
    def from_dict(cls, data: dict[str, Any], **_: Any) -> NoReturn:
        """Refused: what `to_dict` gives holds no key.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError(
            "a vector store on a server is not made from a dictionary, which holds no key; open "
            f"it with open_store(URL, api_key=KEY).vector_store({data.get('collection')!r})"
        )


def _with_arguments(query: VectorStoreQuery, arguments: Mapping[str, Any]) -> VectorStoreQuery:
    """The query with what was given by keyword, such as `mmr_threshold`, in place of its own."""
    if unknown := sorted(arguments.keys() - _ARGUMENTS):
        raise ConfigurationError(
            f"this store has no query argument {unknown[0]!r}; it takes those of VectorStoreQuery: "
            f"{', '.join(sorted(_ARGUMENTS))}"
        )
    return replace(query, **arguments)


def _asked(query: VectorStoreQuery) -> tuple[Query, float | None]:
    """What a query asks, and the weight of its dense ranking; None for the usual one.

    As in LlamaIndex, `alpha` 1 is dense search alone and 0 is search by words alone; that is what
    they are made here, to the last score.
    """
    mode = _MODES.get(query.mode)
    if mode is None:
        known = ", ".join(sorted({str(one.value) for one in VectorStoreQueryMode} & {*_MODES}))
        raise ConfigurationError(
            f"this store has no query mode {str(query.mode)!r}; choose one of {known}"
        )
    alpha, limit = None, query.similarity_top_k
    if mode == "hybrid":
        alpha = _fraction("alpha", query.alpha)
        alone: dict[float | None, SearchMode] = {0: "sparse", 1: "dense"}
        mode, limit = alone.get(alpha, mode), query.hybrid_top_k or limit
    elif mode == "sparse":
        limit = query.sparse_top_k or limit
    return Query(query.query_embedding, query.query_str, limit, mode), alpha


def _fraction(name: str, value: Any) -> float | None:
    """A number from 0 to 1; None where none was given."""
    if value is None:
        return None
    given = float(value) if isinstance(value, Real) and not isinstance(value, bool) else -1.0
    if not 0 <= given <= 1:
        raise ConfigurationError(f"{name} is a number from 0 to 1, not {value!r}")
    return given
