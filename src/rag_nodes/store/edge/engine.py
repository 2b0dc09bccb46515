"""The engine behind a `QdrantStore`, in a folder or in memory."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import StoreError
from rag_nodes.store.edge import sealing, shards
from rag_nodes.store.edge.folder import StorageFolder
from rag_nodes.store.edge.shared import MemoryCollections
from rag_nodes.store.engine import MEMORY, Engine
from rag_nodes.store.faults import missing, translated_in_process
from rag_nodes.store.points import Layout
from rag_nodes.store.queries import EVERYTHING, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag_nodes.store.edge.collection import Collection
    from rag_nodes.store.fusion import Scores
    from rag_nodes.store.points import Point
    from rag_nodes.store.queries import Query

_folders: dict[Path, Edge] = {}
_folders_lock = threading.Lock()


def open_edge(location: str) -> Edge:
    """A new engine in memory, or the one that this process has on a folder.

    Raises:
        StoreForeignError: no store of ours made the folder, and something is in it.
        StoreLockedError: another process holds the folder.
        StoreDamagedError: the folder's content cannot be read.
        StoreFullError: the disk has too little space.
        StoreError: the folder cannot be made or written to.
    """
    if location == MEMORY:
        return Edge(MEMORY, MemoryCollections())
    path = Path(location).expanduser().resolve()
    with _folders_lock:
        if path in _folders:
            _folders[path].users += 1
        else:
            _folders[path] = Edge(str(path), StorageFolder(path))
        return _folders[path]


class Edge(Engine):
    """Qdrant's own engine in this process.

    Args:
        location: see `Engine`.
        place: where the collections are.

    Attributes:
        guard: held around every step: the engine is called by one thread at a time.
        users: open stores that share it.
    """

    def __init__(self, location: str, place: StorageFolder | MemoryCollections) -> None:
        self.location = location
        self.guard = place.guard
        self.users = 1
        self._place = place
        self._open: dict[str, Collection] = {}
        self._is_closed = False

    @contextmanager
    def step(self, collection: str = "") -> Iterator[None]:
        """Calls that no other thread comes between, errors translated."""
        with self.guard:
            if self._is_closed:
                raise StoreError(f"{self.location}: the store is closed; open it again")
            with translated_in_process(self.location, collection):
                yield

    def aliases(self) -> dict[str, str]:
        """Collection by alias."""
        return self._place.aliases.targets

    def point_alias(self, alias: str, collection: str | None) -> None:
        """Have an alias mean a collection; None removes it."""
        self._place.aliases.point(alias, collection)

    def names(self) -> list[str]:
        """Every collection there is."""
        return self._place.names

    def layout(self, collection: str, *, remembered: bool = False) -> Layout | None:  # noqa: ARG002
        """Which vectors a collection has."""
        return self._place.layout(self._place.aliases.resolved(collection))

    def create(
        self, collection: str, size: int, named: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """Make a collection of ours."""
        self._place.create(collection, Layout(size, named=named))

    def take(self, collection: str, layout: Layout, pages: Iterable[Sequence[Point]]) -> None:
        """Make a collection that another program had, with all of its points or not at all.

        Args:
            collection: its name, which none has yet.
            layout: of its vectors.
            pages: of its points.
        """
        assert isinstance(self._place, StorageFolder)  # noqa: S101 -- whoever calls it has looked
        where, disk = f"{self.location}: collection {collection!r}", self._place.path

        def fill(shard: Any) -> None:
            for page in pages:
                shards.write(shard, page, layout, where, disk)
                sealing.tidy(shard)

        self._place.create(collection, layout, fill)

    def add_vector(self, collection: str, name: str, size: int) -> None:
        """Let the points of a collection have a further embedding."""
        opened = self.collection(collection)
        opened.add_vector(name, size)
        self._place.note(self._place.aliases.resolved(collection), opened.layout)

    def drop(self, collection: str) -> None:
        """Delete a collection with everything in it."""
        opened = self._open.pop(collection, None)
        self._place.aliases.forget(collection)
        self._place.drop(collection, opened)

    def disk_size(self, collection: str) -> int | None:
        """Bytes that a collection takes on disk."""
        return self._place.disk_size(collection)

    def marks(self, collection: str) -> dict[str, str]:
        """The marks of a collection."""
        return self._place.marks(self._place.aliases.resolved(collection))

    def mark(self, collection: str, marks: Mapping[str, str | None]) -> None:
        """Add marks to those of a collection, or remove some."""
        known = {**self.marks(collection), **marks}
        kept = {one: epoch for one, epoch in known.items() if epoch is not None}
        self._place.mark(self._place.aliases.resolved(collection), kept)

    def write(self, collection: str, points: Sequence[Point]) -> None:
        """Store points."""
        self.collection(collection).write(points)

    def flush(self, collection: str) -> None:
        """Have all that this process wrote to a collection on the disk."""
        # What was not opened was not written to.
        if opened := self._open.get(self._place.aliases.resolved(collection)):
            opened.flush()

    def delete(self, collection: str, node_ids: Sequence[str]) -> None:
        """Delete points by id."""
        self.collection(collection).delete(node_ids)

    def count(self, collection: str, dense: str | None) -> int:
        """Points that have the embedding of that name; None for all points."""
        opened = self.collection(collection)
        return opened.total() if dense is None else opened.count(dense)

    def read(
        self, collection: str, node_ids: Sequence[str], vectors: Layout | None = None
    ) -> list[Point]:
        """Points by id."""
        stored = self.collection(collection)
        found = stored.read(node_ids, vectors=vectors is not None)
        if vectors is None or vectors.dense == stored.layout.dense:
            return found
        return [one._replace(vector=one.named.get(vectors.dense)) for one in found]

    def scans(self, collection: str) -> bool:
        """Few chunks are looked at one after the other."""
        known = self.layout(collection) is not None
        return not (known and self.collection(collection).finds_by_key())

    def select(
        self,
        collection: str,
        scope: Scope,
        keys: Sequence[str] | None,
        vectors: Layout | None = None,
    ) -> Iterable[Point]:
        """All points of a scope."""
        return self.collection(collection).select(scope, keys, vectors=vectors is not None)

    def scores(
        self,
        collection: str,
        layout: Layout,
        query: Query,
        also: Scope = EVERYTHING,
        **_: Any,
    ) -> Scores:
        """Rankings, complete for collections that are not large."""
        return self.collection(collection).scores(query, layout.dense, also)

    def diverse(
        self, collection: str, layout: Layout, query: Query, also: Scope, weight: float
    ) -> list[tuple[str, float]]:
        """Nodes by maximal marginal relevance."""
        return self.collection(collection).diverse(query, layout.dense, also, weight)

    def collection(self, collection: str) -> Collection:
        """An open collection by its name or an alias, to be used within a step.

        Raises:
            CollectionMissingError: it does not exist.
        """
        collection = self._place.aliases.resolved(collection)
        if self._place.layout(collection) is None:
            raise missing(self.location, collection)
        if collection not in self._open:
            self._open[collection] = self._place.opened(collection)
        return self._open[collection]

    def close(self) -> None:
        """Give it back; the last user closes it."""
        with _folders_lock:
            self.users -= 1
            if self.users > 0:
                return
            _folders.pop(Path(self.location), None)
            with self.guard:
                self._is_closed = True
                try:
                    for name, collection in self._open.items():
                        self._place.shut(name, collection)
                finally:
                    self._open.clear()
                    self._place.close()
