"""`QdrantStore`: chunks in Qdrant, whatever kind of it is behind."""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
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
from rag_nodes.store.points import DENSE, Layout, Point, named
from rag_nodes.store.protocol import Store
from rag_nodes.store.queries import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llama_index.core.schema import BaseNode, TextNode

    from rag_nodes.store.engine import Engine, EngineCollection
    from rag_nodes.store.queries import Query
    from rag_nodes.store.vector_store import RagNodesVectorStore

logger = logging.getLogger(__name__)

_ALIAS = re.compile(r"[\w.-]{1,100}", re.ASCII)
_PAGE = 1000
"""Points per request when reading or deleting many."""


class QdrantStore(Store):
    """Chunks in Qdrant; one collection per corpus, parser configuration and embedding model.

    Safe to share between threads. `open_store` makes one.

    Args:
        engine: the Qdrant behind it.

    Attributes:
        engine: the Qdrant behind it.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._closed = False
        self._without_words: set[str] = set()

    @property
    def location(self) -> str:
        """Where it is: ":memory:", the resolved folder, or the URL without credentials."""
        return self.engine.location

    def close(self) -> None:
        """Close the connection; a folder stays open while another store of this process uses it."""
        if not self._closed:
            self._closed = True
            self.engine.close()

    def vector_store(self, collection: str) -> RagNodesVectorStore:
        """The collection as a LlamaIndex vector store, sync and async, created on first write."""
        from rag_nodes.store.vector_store import RagNodesVectorStore

        return RagNodesVectorStore(collection=collection, store=self)

    def put(self, collection: str, points: Sequence[Point]) -> None:
        """Store points. Lengths are checked before anything is written.

        Many threads may make the same collection.

        Raises:
            ConfigurationError: another program wrote the collection, with other vectors.
            DimensionError: an embedding has another length than those of the collection.
        """
        from rag_nodes.store.payload import agreed_length

        if not points:
            return
        further = {name: len(one) for point in points for name, one in point.named.items()}
        with self._step(collection) as found:
            if found and not found.layout.is_ours:
                raise ConfigurationError(
                    f"{self._place(collection)} was written by another program and has no vector "
                    f"{DENSE!r}; it can be asked, and written to by that program; choose another "
                    "name for ours"
                )
            known = found.layout.size if found else None
            length = agreed_length(points, known, self._place(collection))
            if not found:
                self.engine.create(collection, Layout(length, named=further))
            there = found or self._there(collection)
            for name in further.keys() - there.layout.named.keys():
                there.add_vector(name, further[name])
            there.write(points)

    def delete(self, collection: str, node_ids: Sequence[str]) -> None:
        """Delete chunks by id, some hundred in a request."""
        for page in _pages(node_ids):
            with self.engine.step(collection):
                self._there(collection).delete(page)

    def flush(self, collection: str) -> None:
        """Have all that was written to a collection on the disk itself."""
        with self._step(collection) as found:
            if found:
                found.flush()

    def marks(self, collection: str) -> dict[str, str]:
        """Which ledgers know a collection as it is: an epoch by writer."""
        with self._step(collection) as found:
            return found.marks() if found else {}

    def mark(self, collection: str, marks: Mapping[str, str | None]) -> bool:
        """Add marks to those of a collection; None removes one, and False says that it is not."""
        with self._step(collection) as found:
            if found:
                found.mark(marks)
            return found is not None

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
            found = self.engine.collection(info.name, remembered=True)
            return replace(info, points=found.count(DENSE) if found else 0)
        except StoreUnreachableError:
            raise
        except StoreError as error:
            return replace(info, trouble=str(error))

    def count(self, collection: str) -> int:
        """Chunks in a collection that a search can find; parents are not counted."""
        with self._step(collection) as found:
            return found.count(found.layout.dense) if found else 0

    def stored(self, collection: str, document_id: str) -> dict[str, StoredNode]:
        """The stored nodes of a document by id."""
        return self._listed(collection, Filter(document_ids=[document_id])).get(document_id, {})

    def documents(self, collection: str) -> dict[str, dict[str, StoredNode]]:
        """All stored nodes of a collection, by document and by id."""
        return self._listed(collection, Filter())

    def _listed(self, collection: str, scope: Filter) -> dict[str, dict[str, StoredNode]]:
        from rag_nodes.store.payload import VERSION, check_version

        keys = (DOCUMENT_ID, VERSION, *BOOKKEEPING)
        listed: dict[str, dict[str, StoredNode]] = {}
        with self._step(collection) as found:
            for node_id, payload, *_ in found.select(Scope((scope,)), keys) if found else ():
                check_version(payload, self._place(collection))
                nodes = listed.setdefault(str(payload.get(DOCUMENT_ID)), {})
                nodes[node_id] = StoredNode.of(payload)
        return listed

    def fetch(self, collection: str, node_ids: Sequence[str]) -> dict[str, TextNode]:
        """The stored nodes with these ids."""
        with self.engine.step(collection):
            return self._read(collection, self._there(collection), node_ids) if node_ids else {}

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
                for point in self._there(collection).read(page, vectors=True):
                    vector = point.vector if using == USUAL else point.named.get(named(using))
                    text = further_text(self._node_of(collection, point), using)
                    if vector is not None and text is not None:
                        found[point.node_id] = text, list(vector)
        return found

    def vector_names(self, collection: str) -> tuple[str, ...]:
        """Which embeddings chunks of a collection have, by name, the usual one first."""
        with self._step(collection) as found:
            if found is None:
                return ()
            # A collection may have a place for what none of its chunks has.
            further = [
                name
                for name in VECTORS
                if name != USUAL and named(name) in found.layout.named and found.count(named(name))
            ]
        return (USUAL, *further)

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
            there = self._there(collection, remembered=remembered)
            if there.layout.sparse is None:
                query = self._by_meaning(collection, query)
            used = there.layout.using(query.using)
            if used is None:
                raise self._missing_vector(collection, query.using)
            if query.mode != "sparse":
                check_question(len(query.vector or ()), used.size, self._place(collection))
            scores = there.scores(query)
            further = query.using != USUAL and scores.dense == {}
            if further and query.using not in self.vector_names(collection):
                raise self._missing_vector(collection, query.using)
            return best_hits(query, scores, lambda ids: self._read(collection, there, ids))

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

    @contextmanager
    def _step(self, collection: str) -> Iterator[EngineCollection | None]:
        """A step with a collection; None while it does not exist."""
        with self.engine.step(collection):
            yield self.engine.collection(collection)

    def _there(self, collection: str, *, remembered: bool = True) -> EngineCollection:
        """A collection that has to exist, within a step."""
        found = self.engine.collection(collection, remembered=remembered)
        if found is None:
            raise missing(self.location, collection)
        return found

    def _read(
        self, collection: str, there: EngineCollection, node_ids: Sequence[str]
    ) -> dict[str, TextNode]:
        from llama_index.core.schema import TextNode

        points = there.read(node_ids) if node_ids else ()
        nodes = {point.node_id: self._node_of(collection, point) for point in points}
        return {one: node for one, node in nodes.items() if isinstance(node, TextNode)}

    def _node_of(self, collection: str, point: Point) -> BaseNode:
        from rag_nodes.store.payload import node_in

        return node_in(point.payload, point.node_id, self._place(collection))

    def _place(self, collection: str) -> str:
        return f"{self.location}: collection {collection!r}"


def _pages(node_ids: Sequence[str]) -> Iterable[list[str]]:
    """Ids as many at a time as are read or deleted by one request."""
    for first in range(0, len(node_ids), _PAGE):
        yield list(node_ids[first : first + _PAGE])
