"""`Store`: write, find, list and drop chunks, whatever kind of Qdrant is behind it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

from rag_nodes.store.catalogue import PAYLOAD_KEYS, Catalogue
from rag_nodes.store.engine import MEMORY, connect, disconnect
from rag_nodes.store.faults import missing
from rag_nodes.store.layout import DENSE, layout_of
from rag_nodes.store.names import CollectionInfo, described
from rag_nodes.store.search import (
    Query,
    SearchMode,
    count_ranked,
    documents_filter,
    nodes_of,
    search,
    vectors_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from llama_index.core.schema import TextNode

    from rag_nodes.store.engine import Engine
    from rag_nodes.store.filters import Filter
    from rag_nodes.store.fusion import Fusion
    from rag_nodes.store.hit import Hit
    from rag_nodes.store.vectors import HybridVectorStore

_PAGE = 1000
"""Points per request when reading or deleting many."""


def open_store(location: str | Path = MEMORY, api_key: str | None = None) -> Store:
    """Open a store.

    Args:
        location: ":memory:" (gone at the end, each call a new one), a folder (created when
            missing; only open folders you trust, embedded Qdrant unpickles what is in them), or
            the URL of a Qdrant server.
        api_key: key of the server; without meaning for the others.

    Returns:
        The store; use it in a `with` statement or call `close`.

    Raises:
        ConfigurationError: the location is empty.
        MissingExtraError: Qdrant is not installed.
        StoreLockedError: another process holds the folder.
        StoreDamagedError: the folder's content cannot be read.
        StoreUnreachableError: the server does not answer.
        StoreError: the folder cannot be created, or the server refused the key.
    """
    return Store(connect(location, api_key))


class Store:
    """Chunks in Qdrant; one collection per corpus, parser configuration and embedding model.

    Safe to share between threads. `open_store` makes one.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._closed = False
        self._vector_stores: dict[str, HybridVectorStore] = {}
        self._vector_stores_lock = threading.Lock()

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """Where it is; never a key."""
        return f"Store({self.location!r})"

    @property
    def location(self) -> str:
        """Where it is: ":memory:", the resolved folder, or the URL without credentials."""
        return self._engine.location

    def close(self) -> None:
        """Close the connection; a folder stays open while another store of this process uses it."""
        if not self._closed:
            self._closed = True
            disconnect(self._engine)

    def vector_store(self, collection: str) -> HybridVectorStore:
        """The collection as a LlamaIndex vector store, sync and async, created on first write."""
        from rag_nodes.store.vectors import HybridVectorStore

        with self._vector_stores_lock:
            if collection not in self._vector_stores:
                self._vector_stores[collection] = HybridVectorStore(self._engine, collection)
            return self._vector_stores[collection]

    def stored(self, collection: str, document_id: str) -> dict[str, str]:
        """The stored chunks of a document: node id to hash of the text it was cut from."""
        nodes = Catalogue(lambda document: self._chunks(collection, document)).of(document_id)
        return {node_id: node.source_hash for node_id, node in nodes.items()}

    def catalogue(self, collection: str) -> Catalogue:
        """What the collection holds of each document; empty while it does not exist."""

        def lookup(document_id: str) -> list[tuple[str, dict[str, Any]]]:
            return list(self._chunks(collection, document_id))

        # Embedded Qdrant scans the collection for every filter: one scan has to do for all.
        everything = list(self._chunks(collection)) if self._engine.embedded else None
        return Catalogue(lookup, everything)

    def count(self, collection: str) -> int:
        """Chunks in a collection that a search can find; 0 while it does not exist.

        Parents, which are read only, are not counted.
        """
        with self._engine.calls(collection):
            if not self._engine.client.collection_exists(collection):
                return 0
            return count_ranked(self._engine, collection, layout_of(self._engine, collection).dense)

    def delete(self, collection: str, node_ids: Sequence[str]) -> None:
        """Delete chunks by id; ids that are not there are fine.

        Raises:
            CollectionMissingError: nothing was ever stored under this name.
        """
        from qdrant_client.http import models as rest

        for first in range(0, len(node_ids), _PAGE):
            page = rest.PointIdsList(points=list(node_ids[first : first + _PAGE]))
            with self._engine.calls(collection):
                self._engine.client.delete(collection, points_selector=page, wait=True)

    def collections(self) -> list[CollectionInfo]:
        """Every collection of this package in the store, by name; foreign ones are left out."""
        with self._engine.calls():
            names = sorted(c.name for c in self._engine.client.get_collections().collections)
            found = [
                described(name, count_ranked(self._engine, name, DENSE))
                for name in names
                if described(name, 0)
            ]
        return [info for info in found if info]

    def drop(self, collection: str) -> None:
        """Delete a collection with everything in it.

        Raises:
            CollectionMissingError: it does not exist.
        """
        with self._engine.calls(collection):
            if not self._engine.client.collection_exists(collection):
                raise missing(self.location, collection)
            self._engine.client.delete_collection(collection)

    def search(
        self,
        collection: str,
        *,
        vector: Sequence[float] | None,
        text: str | None,
        limit: int,
        mode: SearchMode = "hybrid",
        document_ids: Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002 -- the word every vector store uses
        fusion: Fusion = "score",
    ) -> list[Hit]:
        """The best chunks for a question, each with its cosine similarity and BM25 score.

        Args:
            collection: where to search.
            vector: embedding of the question; needed unless the mode is "sparse".
            text: the question; needed unless the mode is "dense".
            limit: how many at most.
            mode: "hybrid" joins both rankings.
            document_ids: search only these documents; None for all.
            filter: search only chunks that pass it; None for all.
            fusion: how both rankings are joined, see `rag_nodes.store.fusion`.

        Raises:
            CollectionMissingError: nothing was ingested under this name.
            ConfigurationError: the mode needs a vector or text that was not given.
            DimensionError: the vector's length is not that of the collection.
        """
        query = Query(vector, text, mode, document_ids, filter, fusion)
        return search(self._engine, collection, query, limit)

    def fetch(self, collection: str, node_ids: Sequence[str]) -> dict[str, TextNode]:
        """The stored nodes with these ids, without embeddings; unknown ids are left out.

        Raises:
            StoreError: see `rag_nodes.store.faults`.
        """
        with self._engine.calls(collection):
            return nodes_of(self._engine, collection, list(node_ids))

    def vectors(
        self, collection: str, node_ids: Sequence[str]
    ) -> dict[str, tuple[str, list[float]]]:
        """What the nodes with these ids were embedded as: the text, and its vector.

        Unknown ids are left out. Vectors have unit length, as Qdrant keeps them for cosine.
        """
        found: dict[str, tuple[str, list[float]]] = {}
        for first in range(0, len(node_ids), _PAGE):
            with self._engine.calls(collection):
                found |= vectors_of(self._engine, collection, list(node_ids[first : first + _PAGE]))
        return found

    def _chunks(
        self, collection: str, document_id: str | None = None
    ) -> list[tuple[str, dict[str, Any]]]:
        """Id and bookkeeping payload of the chunks of a document, or of all."""
        scope = documents_filter([document_id]) if document_id is not None else None
        chunks: list[tuple[str, dict[str, Any]]] = []
        with self._engine.calls(collection):
            if not self._engine.client.collection_exists(collection):
                return chunks
            if scope is not None:
                self._engine.make_filterable(collection)
            # Embedded Qdrant sorts the whole collection for every page.
            page = max(1, self.count(collection)) if self._engine.embedded else _PAGE
            offset = None
            while True:
                points, offset = self._engine.client.scroll(
                    collection,
                    scroll_filter=scope,
                    limit=page,
                    offset=offset,
                    with_payload=PAYLOAD_KEYS,
                    with_vectors=False,
                )
                chunks.extend((str(point.id), point.payload or {}) for point in points)
                if offset is None:
                    return chunks
