"""`Store`: chunks with their embeddings, whatever engine is behind."""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import (
    ConfigurationError,
    DimensionError,
    StoreError,
    StoreForeignError,
    StoreUnreachableError,
)
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several, several_nodes
from rag_nodes.store.catalogue import BOOKKEEPING, Catalogue, StoredNode
from rag_nodes.store.conditions import DOCUMENT_ID, Condition, OneOf, all_of, none_of
from rag_nodes.store.engine import DENSE, SPARSE, Layout, Point, agreed_length
from rag_nodes.store.filters import Filter
from rag_nodes.store.queries import Query, best_hits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llama_index.core.schema import BaseNode, TextNode

    from rag_nodes.store.conditions import Where
    from rag_nodes.store.queries import Hit
    from rag_nodes.store.vector_store import RagNodesVectorStore

logger = logging.getLogger(__name__)
_PAGE = 1000
"""Points read or deleted together."""
_DEEPER = 4
"""Times as far as a ranking is read again where too few of its chunks pass the filter."""
_DOCUMENTS = 100
"""Documents whose chunks of before are deleted together."""


@checks_keywords
class Store(Catalogue):
    """Chunks with their embeddings; one collection per corpus, parser and embedding model.

    `open_store` makes one. Collections come into being with the first `add`. Stores are shared
    between threads. Every method that reads or writes may raise `StoreError` or a subclass of it:
    the place does not answer, is damaged or full.

    Args:
        engine: keeps the points and ranks them; `docs/guides/custom-store.md` has one.
    """

    def vector_store(self, collection: str) -> RagNodesVectorStore:
        """The collection as a LlamaIndex vector store, sync and async, created on first write."""
        from rag_nodes.store.vector_store import RagNodesVectorStore

        return RagNodesVectorStore(collection=collection, store=self)

    def add(self, collection: str, nodes: Sequence[BaseNode]) -> None:
        """Store nodes with their embeddings; a node of the same id is replaced.

        A node with children is kept to be read by id, and never ranked: it needs no embedding.
        Words are those of a node's text and of the column names of the table it begins inside of,
        never of the breadcrumb in front of it: headings repeated on every chunk would flatten the
        inverse document frequency.

        Raises:
            ConfigurationError: a node without children has no embedding; else see `put`.
            DimensionError: an embedding has another length than those of the collection.
        """
        from rag_nodes.store.payload import points_of

        self.put(collection, points_of(list(several_nodes(nodes))))

    def put(self, collection: str, points: Sequence[Point]) -> None:
        """Store points, as `rag_nodes.store.payload.points_of` makes them of nodes in any process.

        One without a vector is a parent. Lengths are checked before anything is written. Many
        threads may make the same collection.

        Raises:
            StoreForeignError: another program wrote the collection, with other vectors.
            DimensionError: an embedding has another length than those of the collection.
        """
        if not points:
            return
        with self._step(collection) as handle:
            if handle and not handle.layout.is_ours:
                raise StoreForeignError(
                    f"{self.engine.place(collection)} was written by another program and lacks "
                    f"vector '{DENSE}' or '{SPARSE}'; it can be searched, but only that program "
                    f"may write to it; choose another name for ours"
                )
            size = handle.layout.size if handle else None
            length = agreed_length(points, size, self.engine.place(collection))
            if not handle:
                self.engine.create(collection, Layout(length))
            (handle or self._there(collection)).write(points)

    def flush(self, collection: str) -> None:
        """Have all of a collection, if there is one, on the disk: no power failure loses it."""
        with self._step(collection) as handle:
            if handle:
                handle.flush()

    def delete(self, collection: str, node_ids: str | Sequence[str]) -> None:
        """Delete nodes by id; ids that are not there are fine.

        Raises:
            CollectionMissingError: nothing was ever stored under this name.
        """
        for page in _pages(several(node_ids)):
            with self.engine.step(collection):
                self._there(collection).delete(page)

    def delete_others(self, collection: str, kept: Mapping[str, Sequence[str]]) -> None:
        """Delete all nodes of documents but those with the given ids; fine where nothing is stored.

        Args:
            collection: its name.
            kept: ids of nodes by document.
        """
        for ids in _pages([*kept], _DOCUMENTS):
            own = [node for document_id in ids for node in kept[document_id]]
            where = all_of(_of(ids), none_of(OneOf(own)) if own else None)
            with self._step(collection) as handle:
                if handle and where:
                    handle.delete_where(where)

    def count_of(self, collection: str, document_ids: str | Sequence[str]) -> int:
        """Nodes of some documents, also parents; 0 while the collection does not exist."""
        with self._step(collection) as handle:
            pages = _pages(several(document_ids)) if handle else ()
            return sum(handle.count_where(_of(ids)) for ids in pages) if handle else 0

    def dimension(self, collection: str) -> int | None:
        """Length of the embeddings in it; None while the collection does not exist."""
        with self._step(collection) as handle:
            return handle.layout.size if handle else None

    def count(self, collection: str) -> int:
        """Nodes that a search can find, so no parents; 0 while the collection does not exist."""
        with self._step(collection) as handle:
            return handle.count() if handle else 0

    def stored(self, collection: str, document_id: str) -> dict[str, StoredNode]:
        """The stored nodes of a document by id; empty while the collection does not exist."""
        return self._documents(collection, Filter(document_ids=[document_id])).get(document_id, {})

    def documents(self, collection: str) -> dict[str, dict[str, StoredNode]]:
        """All stored nodes of a collection, by document and by id."""
        return self._documents(collection, Filter())

    def _documents(self, collection: str, scope: Filter) -> dict[str, dict[str, StoredNode]]:
        from rag_nodes.store.payload import VERSION, check_version

        listed: dict[str, dict[str, StoredNode]] = {}
        keys = (DOCUMENT_ID, VERSION, *BOOKKEEPING)
        with self._step(collection) as handle:
            for point in handle.select(scope.conditions(), keys) if handle else ():
                check_version(point.payload, self.engine.place(collection))
                nodes = listed.setdefault(str(point.payload.get(DOCUMENT_ID)), {})
                nodes[point.node_id] = StoredNode.of(point.payload)
        return listed

    def select(
        self,
        collection: str,
        where: Where | None,
        keys: str | Sequence[str] | None,
        *,
        vectors: bool = False,
    ) -> list[Point]:
        """All points that are meant; none while the collection does not exist.

        Args:
            collection: its name.
            where: which points; None for all.
            keys: of the payload that are read; None for all.
            vectors: read embeddings too.
        """
        with self._step(collection) as handle:
            return list(handle.select(where, several(keys), vectors=vectors)) if handle else []

    def some(self, collection: str, where: Where | None, count: int) -> list[Point]:
        """At most so many of the points that are meant, with their whole payload."""
        with self._step(collection) as handle:
            return list(islice(handle.select(where, None), count)) if handle else []

    def fetch(self, collection: str, node_ids: str | Sequence[str]) -> dict[str, TextNode]:
        """The stored nodes with these ids, without embeddings; unknown ids are left out."""
        from llama_index.core.schema import TextNode

        from rag_nodes.store.payload import node_in

        if not node_ids:
            return {}
        with self.engine.step(collection):
            points = self._there(collection).read(several(node_ids))
        place = self.engine.place(collection)
        nodes = {point.node_id: node_in(point.payload, point.node_id, place) for point in points}
        return {node_id: node for node_id, node in nodes.items() if isinstance(node, TextNode)}

    def vectors(
        self, collection: str, node_ids: str | Sequence[str]
    ) -> dict[str, tuple[str, list[float]]]:
        """Return the embedded text and vector of the nodes with these ids.

        Unknown ids are left out. Vectors have unit length, as Qdrant keeps them for cosine.
        """
        vectors: dict[str, tuple[str, list[float]]] = {}
        for page in _pages(several(node_ids)):
            with self.engine.step(collection):
                points = self._there(collection).read(page, vectors=True)
            for point in points:
                if point.vector is not None:
                    vectors[point.node_id] = self._text_of(collection, point), list(point.vector)
        return vectors

    def vectors_of(
        self, collection: str, document_ids: str | Sequence[str]
    ) -> Iterator[tuple[Mapping[str, Any], str, list[float]]]:
        """Yield the payload of each chunk of documents, the text that was embedded, and its vector.

        Nothing while the collection does not exist.
        """
        for ids in _pages(several(document_ids)):
            for point in self.select(collection, _of(ids), None, vectors=True):
                if point.vector is not None:
                    yield point.payload, self._text_of(collection, point), list(point.vector)

    def _text_of(self, collection: str, point: Point) -> str:
        """Return the text that a chunk was embedded as."""
        from llama_index.core.schema import MetadataMode

        from rag_nodes.store.payload import node_in

        node = node_in(point.payload, point.node_id, self.engine.place(collection))
        return node.get_content(MetadataMode.EMBED)

    def ignored_vectors(self, collection: str) -> tuple[str, ...]:
        """Names of the vectors beside those that are searched, which another program keeps.

        Empty while the collection does not exist.
        """
        with self._step(collection) as handle:
            return handle.layout.ignored if handle else ()

    def has_words(self, collection: str) -> bool:
        """Return True if a collection has our BM25 vectors, or does not exist yet."""
        with self.engine.step(collection):
            handle = self.engine.collection(collection, remembered=True)
            return handle is None or handle.layout.sparse is not None

    def count_unindexed(self, collection: str, where: Where | None = None) -> int:
        """Count the chunks that a keyword search cannot find, because they have no BM25 vector.

        Another program stored them, such as LlamaIndex's `QdrantVectorStore` without
        `enable_hybrid`. 0 while the collection does not exist.

        Args:
            collection: its name.
            where: which chunks; None for all.
        """
        with self.engine.step(collection):
            handle = self.engine.collection(collection, remembered=True)
            return handle.count_unindexed(where) if handle and handle.layout.sparse else 0

    def search(self, collection: str, query: Query) -> list[Hit]:
        """The best chunks for a question, each with its cosine similarity and BM25 score.

        Raises:
            CollectionMissingError: nothing was ingested under this name.
            DimensionError: the vector's length is not that of the collection.
        """
        try:
            return self._best(collection, query, remembered=True)
        except StoreUnreachableError:
            raise
        except (StoreError, DimensionError):
            # Others may have dropped the collection and made another of that name.
            return self._best(collection, query, remembered=False)

    def _best(self, collection: str, query: Query, *, remembered: bool) -> list[Hit]:
        place = self.engine.place(collection)
        with self.engine.step(collection):
            handle = self._there(collection, remembered=remembered)
            if handle.layout.sparse is None:
                query = self._by_meaning(place, query)
            size, length = handle.layout.size, len(query.vector or ())
            if query.mode != "sparse" and length != size:
                raise DimensionError(
                    f"{place} holds vectors of length {size}, the question's has {length}; "
                    "ask with the embedding model it was ingested with"
                )
            depth = query.limit
            while True:
                scores = handle.scores(replace(query, limit=depth))
                hits = best_hits(query, scores, lambda ids: self.fetch(collection, ids))
                found = max(len(scores.dense or ()), len(scores.sparse or ()))
                # Of headings inside chunks the engine asks less than the filter, and may be full of
                # others.
                enough = len(hits) == query.limit or not query.filter.has_headings
                if enough or found < depth:
                    return hits
                depth = found * _DEEPER

    def _by_meaning(self, place: str, query: Query) -> Query:
        """A query of a collection without BM25 vectors; said once where another mode was asked."""
        fact = f"{place} has no BM25 vectors of ours"
        if query.mode == "sparse":
            raise ConfigurationError(
                f"{fact}, so it cannot be searched by words; ask with mode 'dense', or ingest the "
                "documents into a collection of ours"
            )
        if query.mode == "hybrid" and place not in self._told:
            self._told.add(place)
            logger.warning(
                "%s; it is searched by meaning only, as with mode 'dense'; to search a sparse "
                "vector of its own too, give its QdrantVectorStore as vector_store",
                fact,
            )
        return replace(query, mode="dense")


def _pages(ids: Sequence[str], most: int = _PAGE) -> Iterable[list[str]]:
    """Ids as many at a time as are read or deleted by one request."""
    for first in range(0, len(ids), most):
        yield list(ids[first : first + most])


def _of(document_ids: list[str]) -> Where:
    """Return the condition that a node belongs to one of these documents."""
    return Condition(DOCUMENT_ID, "in", document_ids)
