"""`QdrantStore`: chunks in Qdrant, whatever kind of it is behind."""

from __future__ import annotations

import logging
import re
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_nodes.errors import (
    ConfigurationError,
    DimensionError,
    StoreError,
    StoreUnreachableError,
    VectorMissingError,
)
from rag_nodes.store.catalogue import BOOKKEEPING, CollectionInfo, StoredNode, described
from rag_nodes.store.engine import DENSE, Layout, Point
from rag_nodes.store.faults import missing
from rag_nodes.store.filters import DOCUMENT_ID, Filter
from rag_nodes.store.hits import Hit, best_hits
from rag_nodes.store.protocol import Store
from rag_nodes.vector_names import USUAL, VECTORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llama_index.core.schema import BaseNode, TextNode
    from llama_index.core.vector_stores.types import BasePydanticVectorStore

    from rag_nodes.store.catalogue import Catalogue
    from rag_nodes.store.engine import Engine
    from rag_nodes.store.options import ServerAddress
    from rag_nodes.store.queries import Query

_ALIAS = re.compile(r"[\w.-]{1,100}", re.ASCII)
logger = logging.getLogger(__name__)

_PAGE = 1000
"""Points per request when reading or deleting many."""
_DOCUMENTS = 100
"""Documents that are read together where each is looked at once."""


class QdrantStore(Store):
    """Chunks in Qdrant; one collection per corpus, parser configuration and embedding model.

    Safe to share between threads. `open_store` makes one.

    Attributes:
        engine: the Qdrant behind it.
    """

    def __init__(self, engine: Engine, address: ServerAddress | None = None) -> None:
        self.engine = engine
        self._address = address
        self._closed = False
        self._vector_stores: dict[str, BasePydanticVectorStore] = {}
        self._lock = threading.Lock()
        self._without_words: set[str] = set()

    @property
    def location(self) -> str:
        """Where it is: ":memory:", the resolved folder, or the URL without credentials."""
        return self.engine.location

    @property
    def address(self) -> ServerAddress | None:
        """How another process opens it; None for a folder, which one process has at a time."""
        return self._address

    def close(self) -> None:
        """Close the connection; a folder stays open while another store of this process uses it."""
        if not self._closed:
            self._closed = True
            self.engine.close()

    def vector_store(self, collection: str) -> BasePydanticVectorStore:
        """The collection as a LlamaIndex vector store, sync and async, created on first write."""
        with self._lock:
            if collection not in self._vector_stores:
                self._vector_stores[collection] = self.engine.vector_store(self, collection)
            return self._vector_stores[collection]

    def add(self, collection: str, nodes: Sequence[BaseNode]) -> None:
        """Store nodes with their embeddings, and BM25 vectors of their texts.

        BM25 reads the text of a node only, never the breadcrumb in front of it: headings repeated
        on every chunk would flatten the inverse document frequency. Lengths are checked before
        anything is written, and many threads may make the same collection.

        Raises:
            ConfigurationError: a node without children has no embedding, or another program wrote
                the collection, with other vectors.
            DimensionError: an embedding has another length than those of the collection.
        """
        from rag_nodes.store.points import points_of

        self.put(collection, points_of(nodes))

    def put(self, collection: str, points: Sequence[Point]) -> None:
        """Store what `points_of` made of nodes."""
        from rag_nodes.store.payload import agreed_length

        if not points:
            return
        with self.engine.step(collection):
            layout = self.engine.layout(collection)
            if layout is not None and not layout.is_ours:
                raise ConfigurationError(
                    f"{self.location}: collection {collection!r} was written by another program "
                    f"and has no vector {DENSE!r}; it can be asked, and written to by that "
                    "program; choose another name for ours"
                )
            known = layout.size if layout else None
            lengths = [len(point.vector) for point in points if point.vector is not None]
            length = agreed_length(lengths, known, self._place(collection))
            further = {name: len(one) for point in points for name, one in point.named.items()}
            if layout is None:
                self.engine.create(collection, length, further)
            else:
                for name in further.keys() - layout.named.keys():
                    self.engine.add_vector(collection, name, further[name])
            self.engine.write(collection, points)

    def delete(self, collection: str, node_ids: Sequence[str]) -> None:
        """Delete chunks by id, some hundred in a request."""
        for page in _pages(node_ids):
            with self.engine.step(collection):
                self.engine.delete(collection, page)

    def drop(self, collection: str) -> None:
        """Delete a collection with everything in it; its aliases go with it."""
        with self.engine.step(collection):
            if collection not in self.engine.names():
                raise missing(self.location, collection)
            self.engine.drop(collection)

    def aliases(self) -> dict[str, str]:
        """Collection by alias: another name, under which all that reads or writes takes it too."""
        with self.engine.step():
            return self.engine.aliases()

    def point_alias(self, alias: str, collection: str) -> None:
        """Have an alias mean a collection, from one moment to the next.

        Whoever asks by the alias gets answers of the former one before, and of this one after.

        Raises:
            ConfigurationError: the alias is no name, or that of a collection.
            CollectionMissingError: the collection does not exist.
        """
        if not _ALIAS.fullmatch(alias) or described(alias, 0):
            raise ConfigurationError(
                f"{alias!r} is no alias: up to 100 letters, digits, points, hyphens and "
                "underscores, and not built as the name of a collection"
            )
        with self.engine.step(collection):
            names = self.engine.names()
            if alias in names:
                raise ConfigurationError(
                    f"{self._place(alias)} exists; an alias needs a name of its own"
                )
            if collection not in names:
                raise missing(self.location, collection)
            self.engine.point_alias(alias, collection)

    def drop_alias(self, alias: str) -> None:
        """Remove an alias; what it meant stays.

        Raises:
            CollectionMissingError: there is none by that name.
        """
        with self.engine.step():
            if alias not in self.engine.aliases():
                raise missing(self.location, alias)
            self.engine.point_alias(alias, None)

    def collections(self) -> list[CollectionInfo]:
        """Every collection of this package in the store, by name; foreign ones are left out."""
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

    def catalogue(self, collection: str) -> Catalogue:
        """What the collection holds of each document."""
        with self.engine.step(collection):
            scans = self.engine.scans(collection)
        if not scans:
            return super().catalogue(collection)
        known = self.documents(collection)
        return lambda document_id: known.get(document_id, {})

    def documents(self, collection: str) -> dict[str, dict[str, StoredNode]]:
        """All stored nodes of a collection, by document and by id."""
        return self._by_document(collection, Filter())

    def each_document(self, collection: str) -> Iterator[tuple[str, dict[str, StoredNode]]]:
        """The same a document at a time: of large collections memory holds but a few of them."""
        engine = self.engine
        with engine.step(collection):
            known = engine.layout(collection) is not None
            at_once = not known or engine.scans(collection) or engine.unfilterable(collection)
            found = () if at_once else engine.scan(collection, Filter(), (DOCUMENT_ID,))
            names = {payload.get(DOCUMENT_ID) for _, payload in found}
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
        for page in _pages(node_ids):
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
            for node_id, payload in self.engine.scan(collection, scope, keys):
                check_version(payload, self._place(collection))
                yield str(payload.get(DOCUMENT_ID)), node_id, StoredNode.of(payload)

    def _place(self, collection: str) -> str:
        return f"{self.location}: collection {collection!r}"


def _pages(node_ids: Sequence[str]) -> Iterable[list[str]]:
    for first in range(0, len(node_ids), _PAGE):
        yield list(node_ids[first : first + _PAGE])
