"""Collections in memory: all with the same vectors share one shard, which no file outlives.

The engine has files even where nothing is kept, and a shard for each collection would be 25 mapped
files, a folder that waits for the disk, and its own copy of every word. So there is one in a
temporary folder, and a key parts the collections; it goes with the last collection in it.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Hashable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import qdrant_edge as edge

from rag_nodes.store.edge import collection, shards
from rag_nodes.store.edge.collection import Collection, Tenant
from rag_nodes.store.edge.engine import Edge
from rag_nodes.store.engine import MEMORY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.store.engine import Layout, Point

_KEY = "_collection"
"""Payload key of the collection."""
_guard = threading.RLock()
"""Held around every call to a shared shard."""
_numbers = count(1)
_shards: dict[Hashable, _Shared] = {}


class _Shared:
    """A shard that collections with the same vectors have; one may get more vectors later."""

    def __init__(self, key: Hashable, layout: Layout) -> None:
        self.key, self.layout, self.written, self.masks = key, layout, 0, set[int]()
        self.folder, self.process = Path(tempfile.mkdtemp(prefix="rag-nodes-")), os.getpid()
        try:
            self.shard: Any = shards.made(self.folder / "shard", layout, temporary=True)
            by_tenant = edge.KeywordIndexParams(is_tenant=True)
            self.shard.update(edge.UpdateOperation.create_field_index(_KEY, by_tenant))
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def close(self) -> None:
        """Remove it, in the process that made it: a forked one has its own copy of this."""
        if self.process == os.getpid():
            self.shard.close()
            shutil.rmtree(self.folder, ignore_errors=True)


class SharedCollection(Collection):
    """A collection that has its points in a shard with those of others."""

    def __init__(self, shared: _Shared, name: str) -> None:
        number = str(next(_numbers))
        match = edge.FieldCondition(key=_KEY, match=edge.MatchValue(value=number))
        # Several collections may hold the same node, and the shard only one point of an id.
        masks = (_mask(f"{same} {name}") for same in count())
        tenant = Tenant(match, next(mask for mask in masks if mask not in shared.masks))
        shared.masks.add(tenant.mask)
        super().__init__(shared.shard, name, shared.layout, MEMORY, shared.folder, tenant)
        self.shared, self.mask, self._own = shared, tenant.mask, {_KEY: number}
        self._marks: dict[str, str] = {}

    def flush(self) -> None:
        """Nothing: what ends with the process need not wait for the disk."""

    def _wrote(self, points: int) -> None:
        """Seal what is full, by what all collections wrote: each alone may stay small."""
        self.shared.written += points
        if self.shared.written >= collection.CHECKPOINT:
            self.shared.written = 0
            super().flush()  # the engine keeps what it replaced until then

    def marks(self) -> dict[str, str]:
        return dict(self._marks)

    def mark(self, marks: Mapping[str, str | None]) -> None:
        all_marks = {**self._marks, **marks}
        self._marks = {writer: epoch for writer, epoch in all_marks.items() if epoch is not None}

    def disk_size(self) -> None:
        """Unknown: memory is shared with other collections."""

    def _made(self, point: Point) -> Any:
        return super()._made(point._replace(payload={**point.payload, **self._own}))

    def _point(self, record: Any) -> Point:
        point = super()._point(record)
        own = {key: value for key, value in point.payload.items() if key != _KEY}
        return point._replace(payload=own)


def _mask(text: str) -> int:
    """Change the end of an id only: points stay in the order of their ids, as in a folder."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


class MemoryEdge(Edge):
    """The collections of one store in memory."""

    def __init__(self) -> None:
        super().__init__(MEMORY, _guard)

    def names(self) -> list[str]:
        return list(self._opened)

    def create(self, name: str, layout: Layout) -> None:
        if name in self._opened:
            return
        key = layout.size, layout.sparse
        shared = _shards.get(key)
        if shared is None or shared.process != os.getpid():
            shared = _shards[key] = _Shared(key, layout)
        self._opened[name] = SharedCollection(shared, name)

    def drop(self, name: str) -> None:
        """Remove a collection, and the shard with the last one in it."""
        collection = self._opened.pop(name)
        assert isinstance(collection, SharedCollection)  # noqa: S101 -- for the type checker
        shared = collection.shared
        shared.masks.remove(collection.mask)
        if shared.masks:
            collection.clear()
        else:
            if _shards.get(shared.key) is shared:
                del _shards[shared.key]
            shared.close()

    def close(self) -> None:
        """Remove all collections."""
        with self.guard:
            self._is_closed = True
            for name in self.names():
                self.drop(name)


@atexit.register
def _remove_all() -> None:
    for shared in _shards.values():
        shared.close()
    _shards.clear()
