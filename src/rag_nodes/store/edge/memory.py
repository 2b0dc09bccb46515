"""Collections in memory: all of one length of embedding share one shard, which no file outlives.

The engine has files even where nothing is kept, and a shard per collection would be 25 mapped files
and a folder each. So there is one per length in a temporary folder, and a key parts the
collections; the folder goes when the last store that has something in it does.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Hashable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import qdrant_edge as edge

from rag_nodes.store.edge import shards
from rag_nodes.store.edge.collection import Collection
from rag_nodes.store.edge.engine import Edge
from rag_nodes.store.engine import MEMORY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.store.points import Layout

_TENANT = "_collection"
"""Payload key of the collection."""
_guard = threading.RLock()
"""Held around every call to a shared shard."""
_numbers = count(1)
_shards: dict[Hashable, _Shared] = {}


class _Shared:
    """A shard that collections with the same vectors have; one may get more vectors later."""

    def __init__(self, key: Hashable, layout: Layout) -> None:
        self.key, self.layout = key, layout
        self.folder = Path(tempfile.mkdtemp(prefix="rag-nodes-"))
        self.process = os.getpid()
        self.collections = 0
        try:
            self.shard: Any = shards.made(self.folder / "shard", layout, temporary=True)
            by_tenant = edge.KeywordIndexParams(is_tenant=True)
            self.shard.update(edge.UpdateOperation.create_field_index(_TENANT, by_tenant))
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

    is_temporary = True

    def __init__(self, shared: _Shared, name: str) -> None:
        self.shared = shared
        self._key = str(next(_numbers))
        match = edge.MatchValue(value=self._key)
        self.tenant = edge.FieldCondition(key=_TENANT, match=match)
        # Several collections may hold the same node, and the shard only one point of an id.
        self._mask = secrets.randbits(128)
        self._marks: dict[str, str] = {}
        super().__init__(shared.shard, name, shared.layout, MEMORY, shared.folder)

    def point_id(self, node_id: str) -> UUID | int:
        """The engine's id of a node, which differs from that in another collection."""
        return UUID(int=int(super().point_id(node_id)) ^ self._mask)

    def node_id(self, point_id: UUID | int) -> str:
        """The node id that `point_id` was made of."""
        # Of hundreds in every question: a second UUID to print would double the time.
        digits = f"{int(point_id) ^ self._mask:032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def flush(self) -> None:
        """Give back the space of what was deleted."""
        self._unflushed = 0
        shards.seal(self.shard)

    def marks(self) -> dict[str, str]:
        """Who wrote to it last."""
        return dict(self._marks)

    def mark(self, marks: Mapping[str, str | None]) -> None:
        """Add marks to those that it has, or remove some."""
        known = {**self._marks, **marks}
        self._marks = {one: epoch for one, epoch in known.items() if epoch is not None}

    def disk_size(self) -> None:
        """Nothing that can be told from what others take."""
        return

    def clear(self) -> None:
        """Delete its points."""
        self.shard.update(edge.UpdateOperation.delete_points_by_filter(self._scope()))

    def _stored(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        return {**payload, _TENANT: self._key}

    def _point(self, record: Any) -> Any:
        found = super()._point(record)
        payload = {key: value for key, value in found.payload.items() if key != _TENANT}
        return found._replace(payload=payload)


class MemoryEdge(Edge):
    """The collections of one store in memory."""

    def __init__(self) -> None:
        super().__init__(MEMORY, _guard)

    def names(self) -> list[str]:
        """Every collection there is."""
        return list(self._open)

    def create(self, name: str, layout: Layout) -> None:
        """Make a collection; fine if it is there."""
        if name in self._open:
            return
        key = layout.size, *sorted(layout.named.items())
        shared = _shards.get(key)
        if shared is None or shared.process != os.getpid():
            shared = _shards[key] = _Shared(key, layout)
        shared.collections += 1
        self._open[name] = SharedCollection(shared, name)

    def _remove(self, name: str) -> None:
        """Remove a collection, and the shard with the last one in it."""
        collection = self._open.pop(name)
        assert isinstance(collection, SharedCollection)  # noqa: S101 -- for the type checker
        shared = collection.shared
        shared.collections -= 1
        if shared.collections:
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
                self._remove(name)


@atexit.register
def _remove_all() -> None:
    for shared in _shards.values():
        shared.close()
    _shards.clear()
