"""`QdrantVectorStore` with dense and BM25 vectors that any LlamaIndex component can use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from llama_index.core.vector_stores.types import (
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.vector_stores.qdrant import QdrantVectorStore
from pydantic import PrivateAttr
from qdrant_client.http import models as rest

from rag_nodes.errors import ConfigurationError
from rag_nodes.store.bm25 import document_vectors, query_vectors
from rag_nodes.store.faults import missing
from rag_nodes.store.filters import Filter
from rag_nodes.store.fusion import fuse
from rag_nodes.store.payload import check_question, check_version
from rag_nodes.store.points import DENSE, SPARSE
from rag_nodes.store.server.terms import conditions
from rag_nodes.store.vector_store_queries import hybrid_query, with_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.schema import BaseNode

    from rag_nodes.store.protocol import Store
    from rag_nodes.store.server.engine import Served


_OF_QDRANT = ("qdrant_filters", "shard_identifier", "search_params")
"""Arguments that LlamaIndex's own store for Qdrant takes beside those of a query."""


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

    def query(self, query: VectorStoreQuery, **arguments: Any) -> VectorStoreQueryResult:
        """Nodes for a question; what the server fails at is told in our errors, here and below.

        `alpha` of a hybrid query weighs embeddings (1) against words (0); None weighs both alike.

        Args:
            query: what is asked.
            arguments: fields of the query by name, which go before its own; and
                `qdrant_filters`, `shard_identifier` and `search_params` as for
                `QdrantVectorStore`.

        Raises:
            CollectionMissingError: nothing was stored.
            ConfigurationError: an argument is not known, `alpha` is not from 0 to 1, a filter
                cannot compare its value, or a hybrid query lacks its embedding or text.
            DimensionError: the embedding has another length than those of the collection.
            StoreError: see `rag_nodes.store.faults`.
        """
        asked, others = _asked(query, arguments)
        with self._engine.step(self.collection_name):
            if asked.mode == VectorStoreQueryMode.HYBRID:
                return self._hybrid(asked, **others)
            return super().query(asked, **others)

    async def aquery(self, query: VectorStoreQuery, **arguments: Any) -> VectorStoreQueryResult:
        """Like `query`, a hybrid one on a thread."""
        asked, others = _asked(query, arguments)
        if asked.mode == VectorStoreQueryMode.HYBRID:
            return await asyncio.to_thread(self.query, asked, **others)
        with self._engine.step(self.collection_name):
            return await super().aquery(asked, **others)

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

    @classmethod
    def from_dict(cls, data: dict[str, Any], **_: Any) -> HybridVectorStore:
        """Refused: what `to_dict` gives holds neither an address nor a key.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError(
            "a vector store on a server is not made from a dictionary, which holds no key; open "
            f"it with open_store(URL, api_key=KEY).vector_store({data.get('collection_name')!r})"
        )

    def parse_to_query_result(self, response: list[Any]) -> VectorStoreQueryResult:
        """What points hold, where this release reads it.

        Raises:
            StoreError: a newer release wrote them.
        """
        for point in response:
            check_version(point.payload or {}, self._place)
        return super().parse_to_query_result(response)

    @property
    def _place(self) -> str:
        return f"{self._engine.location}: collection {self.collection_name!r}"

    def _hybrid(
        self,
        query: VectorStoreQuery,
        qdrant_filters: rest.Filter | None = None,
        shard_identifier: Any = None,
        search_params: rest.SearchParams | dict[str, Any] | None = None,
    ) -> VectorStoreQueryResult:
        """Both rankings of all chunks, joined as `QdrantStore.search` does."""
        asked, alpha = hybrid_query(query)
        layout = self._engine.layout(self.collection_name)
        if layout is None:
            raise missing(self._engine.location, self.collection_name)
        if layout.sparse is None and asked.mode != "dense":
            raise ConfigurationError(
                f"{self._place} has no BM25 vectors of ours, so it cannot be searched by words; "
                "ask in mode 'default'"
            )
        if asked.mode != "sparse":
            check_question(len(asked.vector or ()), layout.size, self._place)
        found = self._engine.scores(
            self.collection_name,
            layout,
            asked,
            qdrant_filters or self._build_query_filter(query),
            params=rest.SearchParams(**dict(search_params)) if search_params else None,
            shard_key=self._generate_shard_key_selector(shard_identifier)
            if shard_identifier is not None
            else None,
        )
        ranking = fuse(found.dense, found.sparse, rest=found.rest, alpha=alpha)
        best = {one: ranking.scale.place(score) for one, score in ranking.pairs[: asked.limit]}
        read = self._read(list(best))
        ids = [one for one in best if one in read]
        return VectorStoreQueryResult(
            nodes=[read[one] for one in ids], similarities=[best[one] for one in ids], ids=ids
        )

    def _read(self, node_ids: Sequence[str]) -> dict[str, BaseNode]:
        """Nodes by id; those that were deleted meanwhile are left out."""
        # Points of other programs may be numbered.
        ids = [int(one) if one.isdecimal() else one for one in node_ids]
        records = self._engine.client.retrieve(self.collection_name, ids) if ids else []
        found = self.parse_to_query_result(records)
        return dict(zip(found.ids or (), found.nodes or (), strict=True))

    def _build_query_filter(self, query: VectorStoreQuery) -> rest.Filter | None:
        """Which nodes may be found.

        An index asks for no nodes where it means all: of a store that keeps texts it knows none.
        """
        documents = conditions(Filter(document_ids=query.doc_ids))
        nodes = rest.HasIdCondition(has_id=list(query.node_ids)) if query.node_ids else None
        given = (conditions(query.filters), documents, nodes)
        must = [one for one in given if one is not None]
        return rest.Filter(must=must) if must else None

    def _build_subfilter(self, filters: MetadataFilters) -> rest.Filter:
        built = conditions(filters)
        return rest.Filter(must=[built] if built else [])


def _asked(
    query: VectorStoreQuery, arguments: Mapping[str, Any]
) -> tuple[VectorStoreQuery, dict[str, Any]]:
    """The query with its arguments, and those that are Qdrant's."""
    others = {name: value for name, value in arguments.items() if name in _OF_QDRANT}
    own = {name: value for name, value in arguments.items() if name not in _OF_QDRANT}
    return with_arguments(query, own), others
