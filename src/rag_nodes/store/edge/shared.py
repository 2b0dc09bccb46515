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
from rag_nodes.store.edge.files import Aliases
from rag_nodes.store.edge.terms import ShardShare

if TYPE_CHECKING:
    from rag_nodes.store.points import Layout

lock = threading.RLock()
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


class MemoryCollections:
    """The collections of one store in memory, as a `StorageFolder` has those of a folder."""

    def __init__(self) -> None:
        self.guard = lock
        self.aliases = Aliases()
        self._known: dict[str, Collection] = {}
        self._marks: dict[str, dict[str, str]] = {}

    @property
    def names(self) -> list[str]:
        """Of the collections."""
        return list(self._known)

    def layout(self, name: str) -> Layout | None:
        """Which vectors a collection has; None while it does not exist."""
        return self._known[name].layout if name in self._known else None

    def create(self, name: str, layout: Layout, fill: None = None) -> None:  # noqa: ARG002
        """Make a collection; fine if it is there."""
        if name in self._known:
            return
        shared = _shards.get(_key(layout))
        if shared is None or shared.process != os.getpid():
            shared = _shards[_key(layout)] = _Shared(layout)
        shared.collections += 1
        self._known[name] = Collection(
            shared.shard,
            shared.layout,
            f":memory:: collection {name!r}",
            shared.folder,
            ShardShare(f"{next(_numbers)}", secrets.randbits(128)),
        )

    def opened(self, name: str) -> Collection:
        """A collection, which is always open."""
        return self._known[name]

    def note(self, name: str, layout: Layout) -> None:
        """Nothing: a collection knows its layout."""

    def shut(self, name: str, collection: Collection) -> None:
        """Nothing: it goes when all do."""

    def drop(self, name: str, _: Collection | None = None) -> None:
        """Remove a collection, and the shard with the last one in it."""
        collection = self._known.pop(name)
        self._marks.pop(name, None)
        for key, shared in list(_shards.items()):
            if shared.shard is not collection.shard:
                continue
            shared.collections -= 1
            if shared.collections:
                collection.clear()
            else:
                del _shards[key]
                shared.close()

    def marks(self, name: str) -> dict[str, str]:
        """The marks of a collection."""
        return dict(self._marks.get(name, {}))

    def mark(self, name: str, marks: dict[str, str]) -> None:
        """Keep the marks of a collection, all of them."""
        self._marks[name] = marks

    def disk_size(self, _: str) -> None:
        """It takes none that outlives it."""
        return

    def close(self) -> None:
        """Remove all collections."""
        for name in self.names:
            self.drop(name)


def _key(layout: Layout) -> Hashable:
    """What collections that share a shard have in common."""
    return layout.size, *sorted(layout.named.items())


@atexit.register
def _remove_all() -> None:
    for shared in _shards.values():
        shared.close()
    _shards.clear()
