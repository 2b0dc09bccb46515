"""Qdrant in this process, in memory or in a folder, made safe for threads and async.

Embedded Qdrant is not thread-safe, not even for reading while another thread writes, and one
folder can be opened only once. So there is one client per folder in this process, one lock around
every call, and async calls run on a thread under that same lock.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_nodes.errors import StoreError
from rag_nodes.store import inside_qdrant
from rag_nodes.store.client import ClientEngine
from rag_nodes.store.engine import MEMORY, UNNAMED, Layout
from rag_nodes.store.faults import damaged
from rag_nodes.store.filters import Filter
from rag_nodes.store.local_index import LocalIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from numpy.typing import NDArray
    from qdrant_client import QdrantClient

    from rag_nodes.store.bm25 import SparseVectors
    from rag_nodes.store.engine import Point
    from rag_nodes.store.fusion import Scores
    from rag_nodes.store.queries import Query

logger = logging.getLogger(__name__)

MANY_POINTS = 20_000
"""Points of a collection from which a server is the better choice."""

_READING = frozenset(
    {
        "close",
        "collection_exists",
        "count",
        "get_collection",
        "get_collections",
        "query_points",
        "retrieve",
        "scroll",
    }
)
"""Methods of the client that change nothing; every other one counts as a write."""

_folders: dict[Path, Embedded] = {}
_folders_lock = threading.Lock()


def open_embedded(location: str) -> Embedded:
    """A new engine in memory, or the one that this process has on a folder.

    Raises:
        StoreLockedError: another process holds the folder.
        StoreDamagedError: the folder's content cannot be read.
        StoreError: the folder cannot be created.
    """
    if location == MEMORY:
        return Embedded(MEMORY, inside_qdrant.open_memory())
    folder = Path(location).expanduser().resolve()
    with _folders_lock:
        shared = _folders.get(folder)
        if shared is not None:
            shared.users += 1
            return shared
        try:
            engine = Embedded(str(folder), inside_qdrant.open_folder(folder))
        except StoreError:
            raise
        except Exception as error:
            raise damaged(str(folder), error) from error
        _folders[folder] = engine
    for collection in engine.names():
        engine.tune(collection)
    return engine


class Embedded(ClientEngine):
    """Scores of every chunk in this process.

    Attributes:
        guard: hold it to make several calls one step; `step` does.
        users: open stores that share the connection.
    """

    scans = True

    def __init__(self, location: str, unlocked: QdrantClient) -> None:
        self.guard = threading.RLock()
        client = LockedClient(unlocked, self.guard)
        super().__init__(location, client, AsyncBridge(client))
        self.users = 1
        self._noted: set[str] = set()
        self._indexes: dict[str, tuple[int, LocalIndex]] = {}
        self._passed: tuple[object, frozenset[str]] = (None, frozenset())

    @contextmanager
    def step(self, collection: str = "") -> Iterator[None]:
        """Calls that no other thread comes between."""
        with self.guard, super().step(collection):
            yield

    def create(self, collection: str, size: int) -> None:
        """Make a collection that is fast to write to."""
        super().create(collection, size)
        self.tune(collection)

    def tune(self, collection: str) -> None:
        """Make writing to a collection in a folder fast."""
        with self.guard:
            inside_qdrant.write_ahead(self.client.unlocked, collection)

    def write(self, collection: str, points: Sequence[Point]) -> None:
        """Store points; say once per collection that embedded Qdrant has outgrown itself."""
        super().write(collection, points)
        if collection in self._noted:
            return
        chunks = self._page(collection)
        if chunks > MANY_POINTS:
            self._noted.add(collection)
            logger.warning(
                "%s: collection %s holds %d chunks; searching gets slow, a Qdrant server would "
                "be faster",
                self.location,
                collection,
                chunks,
            )

    def scores(self, collection: str, layout: Layout, query: Query) -> Scores:
        """Complete rankings, of the chunks that the filter lets pass."""
        index, allowed = self.index(collection, layout), None
        if query.filter != Filter():
            allowed = self._passing(collection, query.filter)
        return index.scores(query, allowed)

    def _passing(self, collection: str, scope: Filter) -> frozenset[str]:
        """Ids of the chunks that a filter lets pass.

        Those of the last filter are remembered: embedded Qdrant looks at every chunk, and the next
        question is mostly asked of the same documents.
        """
        documents = None if scope.document_ids is None else tuple(scope.document_ids)
        asked = collection, self.client.writes, replace(scope, document_ids=documents)
        if self._passed[0] != asked:
            found = frozenset(node_id for node_id, _ in self.scan(collection, scope, []))
            self._passed = asked, found
        return self._passed[1]

    def index(self, collection: str, layout: Layout) -> LocalIndex:
        """The vectors of a collection as arrays, read again after anything was written."""
        writes = self.client.writes
        known = self._indexes.get(collection)
        if known is None or known[0] != writes:
            arrays = inside_qdrant.arrays_of(
                self.client.unlocked, collection, layout.dense, layout.sparse
            )
            index = LocalIndex.build(*(arrays or self.arrays(collection, layout)))
            known = self._indexes[collection] = writes, index
        return known[1]

    def arrays(
        self, collection: str, layout: Layout
    ) -> tuple[list[str], NDArray[np.float32], SparseVectors]:
        """Ids, embeddings and words by the public way, which takes seconds."""
        found, _ = self.client.scroll(
            collection, limit=self._page(collection), with_payload=False, with_vectors=True
        )
        vectors = [
            (
                str(point.id),
                point.vector if isinstance(point.vector, dict) else {UNNAMED: point.vector},
            )
            for point in found
            if point.vector
        ]
        vectors = [(one, named) for one, named in vectors if layout.dense in named]  # no parents
        words = [named.get(layout.sparse) if layout.sparse else None for _, named in vectors]
        return (
            [one for one, _ in vectors],
            np.array([named[layout.dense] for _, named in vectors], dtype=np.float32),
            (
                [one.indices if one else [] for one in words],
                [one.values if one else [] for one in words],
            ),
        )

    def close(self) -> None:
        """Give a connection back; the last user of a folder closes it."""
        with _folders_lock:
            self.users -= 1
            if self.users > 0:
                return
            if self.location != MEMORY:
                _folders.pop(Path(self.location), None)
            with self.guard:
                super().close()

    def _page(self, collection: str) -> int:
        """All points: embedded Qdrant sorts the whole collection for every page."""
        return max(1, int(self.client.count(collection, exact=True).count))


class LockedClient:
    """A Qdrant client whose every method runs under one lock.

    Attributes:
        unlocked: the client.
        lock: which to hold for several calls.
        writes: calls so far that may have changed something.
    """

    def __init__(self, client: QdrantClient, lock: threading.RLock) -> None:
        self.unlocked = client
        self.lock = lock
        self.writes = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The method `name` of the client, under the lock."""
        if name.startswith("_"):
            # Private attributes would hand out the unlocked inner client.
            raise AttributeError(name)
        method = getattr(self.unlocked, name)

        def locked(*args: Any, **kwargs: Any) -> Any:
            with self.lock:
                self.writes += name not in _READING
                return method(*args, **kwargs)

        return locked


class AsyncBridge:
    """The async face of a locked client: every call runs on a thread, the event loop stays free."""

    def __init__(self, client: LockedClient) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        """The method `name` of the client, as a coroutine function."""
        method = getattr(self.client, name)

        async def bridged(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(method, *args, **kwargs)

        return bridged
