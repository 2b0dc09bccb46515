"""The engine behind a `QdrantStore`, in a folder or in memory."""

from __future__ import annotations

import threading
from abc import abstractmethod
from bisect import bisect_left
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import StoreError
from rag_nodes.store.edge import sealing, shards, shared
from rag_nodes.store.edge.aliases import Aliases
from rag_nodes.store.edge.collection import Collection
from rag_nodes.store.edge.faults import translated
from rag_nodes.store.edge.folder import StorageFolder
from rag_nodes.store.edge.shards import Vectors
from rag_nodes.store.engine import MEMORY, Engine
from rag_nodes.store.faults import missing
from rag_nodes.store.points import Layout
from rag_nodes.store.queries import EVERYTHING, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag_nodes.store.fusion import Scores
    from rag_nodes.store.points import Point
    from rag_nodes.store.queries import Query

_folders: dict[Path, EdgeFolder] = {}
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
        return EdgeMemory()
    path = Path(location).expanduser().resolve()
    with _folders_lock:
        if path not in _folders:
            _folders[path] = EdgeFolder(StorageFolder(path))
        engine = _folders[path]
        engine.users += 1
        return engine


class Edge(Engine):
    """Qdrant's own engine in this process.

    Attributes:
        guard: held around every step: the engine is called by one thread at a time.
    """

    guard: threading.RLock

    def __init__(self, location: str) -> None:
        self.location = location
        self._open: dict[str, Collection] = {}
        self._is_closed = False

    @contextmanager
    def step(self, collection: str = "") -> Iterator[None]:
        """Calls that no other thread comes between, errors translated."""
        with self.guard:
            if self._is_closed:
                raise StoreError(f"{self.location}: the store is closed; open it again")
            with translated(self.location, collection):
                yield

    @property
    @abstractmethod
    def _aliases(self) -> Aliases:
        """Other names of its collections."""

    def aliases(self) -> dict[str, str]:
        """Collection by alias."""
        return self._aliases.targets

    def point_alias(self, alias: str, collection: str | None) -> None:
        """Have an alias mean a collection; None removes it."""
        self._aliases.point(alias, collection)

    def layout(self, collection: str, *, remembered: bool = False) -> Layout | None:  # noqa: ARG002
        """Which vectors a collection has."""
        vectors = self._vectors(self._aliases.resolved(collection))
        if vectors is None:
            return None
        return Layout(vectors.dense, vectors.size, vectors.sparse, vectors.named)

    def add_vector(self, collection: str, name: str, size: int) -> None:
        """Let the points of a collection have a further embedding."""
        self.collection(collection).add_vector(name, size)

    def write(self, collection: str, points: Sequence[Point]) -> None:
        """Store points."""
        self.collection(collection).write(points)

    def flush(self, collection: str) -> None:
        """Have all that this process wrote to a collection on the disk."""
        # What was not opened was not written to.
        if opened := self._open.get(self._aliases.resolved(collection)):
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
        if vectors is None or vectors.dense == stored.vectors.dense:
            return found
        return [one._replace(vector=one.named.get(vectors.dense)) for one in found]

    def scans(self, collection: str) -> bool:
        """Few chunks are looked at one after the other."""
        known = self._vectors(collection) is not None
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

    def page(
        self,
        collection: str,
        layout: Layout,  # noqa: ARG002 -- a collection knows its own
        start: str | None,
        limit: int,
    ) -> tuple[list[Point], str | None]:
        """Whole points with all their vectors, in ascending order of their ids."""
        return self.collection(collection).page(start, limit)

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

    @abstractmethod
    def _vectors(self, collection: str) -> Vectors | None:
        """Which vectors a collection has; None while it does not exist."""

    def collection(self, collection: str) -> Collection:
        """An open collection by its name or an alias, to be used within a step.

        Raises:
            CollectionMissingError: it does not exist.
        """
        collection = self._aliases.resolved(collection)
        if self._vectors(collection) is None:
            raise missing(self.location, collection)
        if collection not in self._open:
            self._open[collection] = self._opened(collection)
        return self._open[collection]

    @abstractmethod
    def _opened(self, collection: str) -> Collection:
        """Open one that exists."""


class EdgeFolder(Edge):
    """A shard per collection in a folder.

    Attributes:
        users: open stores that share it.
    """

    def __init__(self, folder: StorageFolder) -> None:
        super().__init__(str(folder.path))
        self.guard = threading.RLock()
        self.users = 0
        self._folder = folder

    @property
    def _aliases(self) -> Aliases:
        return self._folder.aliases

    def names(self) -> list[str]:
        """Every collection there is."""
        return self._folder.names

    def create(
        self, collection: str, size: int, named: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """Make a collection of ours."""
        self._folder.create(collection, Vectors(size, named=named))

    def take(self, collection: str, layout: Layout, pages: Iterable[Sequence[Point]]) -> None:
        """Make a collection that another program had, with all of its points or not at all.

        Args:
            collection: its name, which none has yet.
            layout: of its vectors.
            pages: of its points.
        """
        vectors = Vectors(layout.size, layout.dense, layout.sparse, layout.named)
        where = f"{self.location}: collection {collection!r}"

        def fill(shard: Any) -> None:
            for page in pages:
                shards.write(shard, page, vectors, where, self._folder.path)
                sealing.tidy(shard)

        self._folder.create(collection, vectors, fill)

    def add_vector(self, collection: str, name: str, size: int) -> None:
        """Let the points of a collection have a further embedding."""
        super().add_vector(collection, name, size)
        vectors = self.collection(collection).vectors
        self._folder.note(self._aliases.resolved(collection), vectors)

    def drop(self, collection: str) -> None:
        """Delete a collection with everything in it."""
        if collection in self._open:
            self._open.pop(collection).shard.close()
        self._aliases.forget(collection)
        self._folder.drop(collection)

    def disk_size(self, collection: str) -> int | None:
        """Bytes that a collection takes on disk."""
        return self._folder.disk_size(collection)

    def marks(self, collection: str) -> dict[str, str]:
        """The marks of a collection."""
        return self._folder.marks(self._aliases.resolved(collection))

    def mark(self, collection: str, marks: Mapping[str, str | None]) -> None:
        """Add marks to those of a collection, or remove some."""
        known = {**self.marks(collection), **marks}
        kept = {one: epoch for one, epoch in known.items() if epoch is not None}
        self._folder.mark(self._aliases.resolved(collection), kept)

    def close(self) -> None:
        """Give it back; the last user closes the folder."""
        with _folders_lock:
            self.users -= 1
            if self.users > 0:
                return
            _folders.pop(Path(self.location), None)
            with self.guard:
                self._is_closed = True
                try:
                    for name, collection in self._open.items():
                        self._folder.unload(name, collection.shard)
                finally:
                    self._open.clear()
                    self._folder.close()

    def _vectors(self, collection: str) -> Vectors | None:
        return self._folder.vectors(collection)

    def _opened(self, collection: str) -> Collection:
        vectors = self._folder.vectors(collection)
        assert vectors is not None  # noqa: S101 -- for the type checker: `_get` has looked
        where = f"{self.location}: collection {collection!r}"
        return Collection(self._folder.load(collection), vectors, where, self._folder.path)


class EdgeMemory(Edge):
    """Shares of shards that no file outlives."""

    def __init__(self) -> None:
        super().__init__(MEMORY)
        self.guard = shared.lock
        self._own_aliases = Aliases()
        self._marks: dict[str, dict[str, str]] = {}

    @property
    def _aliases(self) -> Aliases:
        return self._own_aliases

    def names(self) -> list[str]:
        """Every collection there is."""
        return list(self._open)

    def create(
        self, collection: str, size: int, named: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """Make a collection of ours."""
        if collection not in self._open:
            self._open[collection] = shared.joined(collection, Vectors(size, named=named))

    def drop(self, collection: str) -> None:
        """Delete a collection with everything in it."""
        shared.left(self._open.pop(collection))
        self._marks.pop(collection, None)
        self._aliases.forget(collection)

    def marks(self, collection: str) -> dict[str, str]:
        """The marks of a collection."""
        return dict(self._marks.get(self._aliases.resolved(collection), {}))

    def mark(self, collection: str, marks: Mapping[str, str | None]) -> None:
        """Add marks to those of a collection, or remove some."""
        known = {**self.marks(collection), **marks}
        kept = {one: epoch for one, epoch in known.items() if epoch is not None}
        self._marks[self._aliases.resolved(collection)] = kept

    def page(
        self,
        collection: str,
        layout: Layout,  # noqa: ARG002 -- a collection knows its own
        start: str | None,
        limit: int,
    ) -> tuple[list[Point], str | None]:
        """Whole points in ascending order of their ids, which the shared shard does not keep."""
        opened = self.collection(collection)
        ids = sorted(point.node_id for point in opened.select(Scope(), ()))
        first = 0 if start is None else bisect_left(ids, start)
        points = opened.read(ids[first : first + limit], vectors=True)
        return points, next(iter(ids[first + limit : first + limit + 1]), None)

    def close(self) -> None:
        """Delete all collections."""
        with self.guard:
            self._is_closed = True
            for collection in self._open.values():
                shared.left(collection)
            self._open.clear()

    def _vectors(self, collection: str) -> Vectors | None:
        known = self._open.get(collection)
        return known.vectors if known else None

    def _opened(self, collection: str) -> Collection:
        return self._open[collection]
