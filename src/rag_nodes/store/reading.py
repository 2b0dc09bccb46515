"""Reading from Qdrant: what is stored of documents, nodes by their ids, the best for a question."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_nodes.errors import (
    ConfigurationError,
    DimensionError,
    StoreError,
    StoreUnreachableError,
    VectorMissingError,
)
from rag_nodes.metadata import USUAL, VECTORS
from rag_nodes.store.catalogue import BOOKKEEPING, CollectionInfo, StoredNode, described
from rag_nodes.store.faults import missing
from rag_nodes.store.filters import DOCUMENT_ID, Filter
from rag_nodes.store.hits import Hit, best_hits
from rag_nodes.store.points import DENSE, Layout, Point
from rag_nodes.store.protocol import Store
from rag_nodes.store.queries import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llama_index.core.schema import BaseNode, TextNode

    from rag_nodes.store.engine import Engine
    from rag_nodes.store.queries import Query

logger = logging.getLogger(__name__)

_PAGE = 1000
"""Points per request when reading or deleting many."""
_DOCUMENTS = 100
"""Documents that are read together where each is looked at once."""


class ReadableStore(Store):
    """What a store on Qdrant is asked; nothing of it changes anything.

    Attributes:
        engine: the Qdrant behind it.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._without_words: set[str] = set()

    @property
    def location(self) -> str:
        """Where it is: ":memory:", the resolved folder, or the URL without credentials."""
        return self.engine.location

    def foreign(self) -> list[str]:
        """Names of the collections that other programs made."""
        with self.engine.step():
            return sorted(name for name in self.engine.names() if described(name, 0) is None)

    def collections(self) -> list[CollectionInfo]:
        """Every collection of this package in the store, by name; see `foreign` for the others."""
        with self.engine.step():
            known = (described(name, 0) for name in sorted(self.engine.names()))
            return [self._counted(info) for info in known if info]

    def _counted(self, info: CollectionInfo) -> CollectionInfo:
        """The same with its chunks; one that cannot be opened must not hide the others."""
        try:
            return replace(info, points=self.engine.count(info.name, DENSE))
        except StoreUnreachableError:
            raise
        except StoreError as error:
            return replace(info, trouble=str(error))

    def count(self, collection: str) -> int:
        """Chunks in a collection that a search can find; parents are not counted."""
        with self.engine.step(collection):
            layout = self.engine.layout(collection)
            return self.engine.count(collection, layout.dense) if layout else 0

    def stored(self, collection: str, document_id: str) -> dict[str, StoredNode]:
        """The stored nodes of a document by id."""
        scope = Filter(document_ids=[document_id])
        return {node_id: node for _, node_id, node in self._scan(collection, scope)}

    def documents(self, collection: str) -> dict[str, dict[str, StoredNode]]:
        """All stored nodes of a collection, by document and by id."""
        return self._by_document(collection, Filter())

    def each_document(self, collection: str) -> Iterator[tuple[str, dict[str, StoredNode]]]:
        """The same a document at a time: of large collections memory holds but a few of them."""
        engine = self.engine
        with engine.step(collection):
            known = engine.layout(collection) is not None
            at_once = not known or engine.scans(collection) or engine.unfilterable(collection)
            found = () if at_once else engine.select(collection, Scope(), (DOCUMENT_ID,))
            names = {point.payload.get(DOCUMENT_ID) for point in found}
        if at_once or None in names:  # others may have written nodes of no document
            yield from self.documents(collection).items()
            return
        ids = sorted(map(str, names))
        for first in range(0, len(ids), _DOCUMENTS):
            some = Filter(document_ids=ids[first : first + _DOCUMENTS])
            yield from self._by_document(collection, some).items()

    def _by_document(self, collection: str, scope: Filter) -> dict[str, dict[str, StoredNode]]:
        known: dict[str, dict[str, StoredNode]] = {}
        for document_id, node_id, node in self._scan(collection, scope):
            known.setdefault(document_id, {})[node_id] = node
        return known

    def fetch(self, collection: str, node_ids: Sequence[str]) -> dict[str, TextNode]:
        """The stored nodes with these ids."""
        with self.engine.step(collection):
            return self._read(collection, node_ids)

    def vectors(
        self, collection: str, node_ids: Sequence[str], using: str = USUAL
    ) -> dict[str, tuple[str, list[float]]]:
        """What the nodes with these ids were embedded as.

        Vectors have unit length, as Qdrant keeps them for cosine.
        """
        from rag_nodes.transforms.further import further_text

        found: dict[str, tuple[str, list[float]]] = {}
        for page in pages(node_ids):
            with self.engine.step(collection):
                layout = self._layout(collection).using(using)
                for point in self.engine.read(collection, page, layout) if layout else ():
                    text = further_text(self._node_of(collection, point), using)
                    if point.vector is not None and text is not None:
                        found[point.node_id] = text, list(point.vector)
        return found

    def vector_names(self, collection: str) -> tuple[str, ...]:
        """Which embeddings chunks of a collection have, by name, the usual one first."""
        with self.engine.step(collection):
            layout = self.engine.layout(collection)
            if layout is None:
                return ()
            further = {name: layout.using(name) for name in VECTORS if name != USUAL}
            # A collection may have a place for what none of its chunks has.
            there = [
                name
                for name, one in further.items()
                if one and self.engine.count(collection, one.dense)
            ]
        return (USUAL, *there)

    def find(self, collection: str, query: Query) -> list[Hit]:
        """The best chunks for a question."""
        try:
            return self._find(collection, query, remembered=True)
        except StoreUnreachableError:
            raise
        except (StoreError, DimensionError):
            # Others may have dropped the collection and made another of that name.
            return self._find(collection, query, remembered=False)

    def _find(self, collection: str, query: Query, *, remembered: bool) -> list[Hit]:
        from rag_nodes.store.payload import check_question

        with self.engine.step(collection):
            layout = self._layout(collection, remembered=remembered)
            if layout.sparse is None:
                query = self._by_meaning(collection, query)
            layout = self._used(collection, layout, query)
            if query.mode != "sparse":
                check_question(len(query.vector or ()), layout.size, self._place(collection))
            scores = self.engine.scores(collection, layout, query)
            if query.using != USUAL and scores.dense is not None and not scores.dense:
                self._check_vector(collection, query.using)
            return best_hits(query, scores, lambda ids: self._read(collection, ids))

    def _used(self, collection: str, layout: Layout, query: Query) -> Layout:
        """The layout with the embedding that a query compares."""
        found = layout.using(query.using)
        if found is None:
            raise self._missing_vector(collection, query.using)
        return found

    def _check_vector(self, collection: str, name: str) -> None:
        if name not in self.vector_names(collection):
            raise self._missing_vector(collection, name)

    def _missing_vector(self, collection: str, name: str) -> VectorMissingError:
        there = ", ".join(self.vector_names(collection)) or "none"
        return VectorMissingError(
            f"{self._place(collection)} has no vectors {name!r}; it has: {there}. Ask by one of "
            f"these, or ingest the documents again with --vector {name}"
        )

    def _by_meaning(self, collection: str, query: Query) -> Query:
        """A query of a collection without BM25 vectors; said once where another mode was asked."""
        where = f"{self._place(collection)} has no BM25 vectors of ours"
        if query.mode == "sparse":
            raise ConfigurationError(
                f"{where}, so it cannot be searched by words; ask with mode 'dense', or ingest the "
                "documents into a collection of ours"
            )
        if query.mode == "hybrid" and collection not in self._without_words:
            self._without_words.add(collection)
            logger.warning("%s; it is searched by meaning only, as with mode 'dense'", where)
        return replace(query, mode="dense")

    def _layout(self, collection: str, *, remembered: bool = False) -> Layout:
        layout = self.engine.layout(collection, remembered=remembered)
        if layout is None:
            raise missing(self.location, collection)
        return layout

    def _read(self, collection: str, node_ids: Sequence[str]) -> dict[str, TextNode]:
        from llama_index.core.schema import TextNode

        if not node_ids:
            return {}
        points = self.engine.read(collection, node_ids)
        nodes = {point.node_id: self._node_of(collection, point) for point in points}
        return {one: node for one, node in nodes.items() if isinstance(node, TextNode)}

    def _node_of(self, collection: str, point: Point) -> BaseNode:
        from rag_nodes.store.payload import node_in

        return node_in(point.payload, point.node_id, self._place(collection))

    def _scan(self, collection: str, scope: Filter) -> Iterator[tuple[str, str, StoredNode]]:
        """Document, id and bookkeeping of the nodes that pass; to be taken at once."""
        from rag_nodes.store.payload import VERSION, check_version

        keys = (DOCUMENT_ID, VERSION, *BOOKKEEPING)
        with self.engine.step(collection):
            if self.engine.layout(collection) is None:
                return
            for node_id, payload, *_ in self.engine.select(collection, Scope((scope,)), keys):
                check_version(payload, self._place(collection))
                yield str(payload.get(DOCUMENT_ID)), node_id, StoredNode.of(payload)

    def _place(self, collection: str) -> str:
        return f"{self.location}: collection {collection!r}"


def pages(node_ids: Sequence[str]) -> Iterable[list[str]]:
    """Ids as many at a time as are read or deleted by one request."""
    for first in range(0, len(node_ids), _PAGE):
        yield list(node_ids[first : first + _PAGE])
