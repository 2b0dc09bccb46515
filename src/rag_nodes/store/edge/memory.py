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

from rag_nodes.store.edge import shards
from rag_nodes.store.edge.collection import Collection
from rag_nodes.store.edge.engine import Edge
from rag_nodes.store.edge.terms import ShardShare
from rag_nodes.store.engine import MEMORY

if TYPE_CHECKING:
    from rag_nodes.store.points import Layout

_guard = threading.RLock()
"""Held around every call to a shared shard."""
_numbers = count(1)
_shards: dict[Hashable, _Shared] = {}


class _Shared:
    """A shard and how many collections are in it.

    Args:
        layout: of the vectors that all of them have; one may have more that were added.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.folder = Path(tempfile.mkdtemp(prefix="rag-nodes-"))
        self.process = os.getpid()
        self.collections = 0
        try:
            self.shard: Any = shards.made(
                self.folder / "shard", self.layout, durable=False, tenants=True
            )
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def close(self) -> None:
        """Remove it, in the process that made it: a forked one has its own copy of this."""
        if self.process == os.getpid():
            self.shard.close()
            shutil.rmtree(self.folder, ignore_errors=True)


class MemoryEdge(Edge):
    """The collections of one store in memory."""

    def __init__(self) -> None:
        super().__init__(MEMORY, _guard)

    def names(self) -> list[str]:
        """Every collection there is."""
        return list(self._open)

    def _opened(self, _: str) -> None:
        """All that there are are open."""
        return

    def create(self, name: str, layout: Layout) -> None:
        """Make a collection; fine if it is there."""
        if name in self._open:
            return
        key = layout.size, *sorted(layout.named.items())
        shared = _shards.get(key)
        if shared is None or shared.process != os.getpid():
            shared = _shards[key] = _Shared(layout)
        shared.collections += 1
        share = ShardShare(f"{next(_numbers)}", secrets.randbits(128))
        self._open[name] = Collection(
            shared.shard, name, shared.layout, MEMORY, shared.folder, share
        )

    def _remove(self, name: str) -> None:
        """Remove a collection, and the shard with the last one in it."""
        collection = self._open.pop(name)
        for key, shared in list(_shards.items()):
            if shared.shard is not collection.shard:
                continue
            shared.collections -= 1
            if shared.collections:
                collection.clear()
            else:
                del _shards[key]
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
