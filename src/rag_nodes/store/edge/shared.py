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
from typing import Any

from rag_nodes.store.edge import shards
from rag_nodes.store.edge.collection import Collection
from rag_nodes.store.edge.shards import Vectors

lock = threading.RLock()
"""Held around every call to a shared shard."""
_numbers = count(1)
_shards: dict[Hashable, _Shared] = {}


class _Shared:
    """A shard and how many collections are in it.

    Args:
        vectors: that all of them have; one may have more that were added.
    """

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self.folder = Path(tempfile.mkdtemp(prefix="rag-nodes-"))
        self.process = os.getpid()
        self.collections = 0
        try:
            self.shard: Any = shards.made(
                self.folder / "shard", self.vectors, durable=False, tenants=True
            )
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def close(self) -> None:
        """Remove it, in the process that made it: a forked one has its own copy of this."""
        if self.process == os.getpid():
            self.shard.close()
            shutil.rmtree(self.folder, ignore_errors=True)


def joined(name: str, vectors: Vectors) -> Collection:
    """A new, empty collection for embeddings of some lengths."""
    with lock:
        shared = _shards.get(_key(vectors))
        if shared is None or shared.process != os.getpid():
            shared = _shards[_key(vectors)] = _Shared(vectors)
        shared.collections += 1
        return Collection(
            shared.shard,
            shared.vectors,
            f":memory:: collection {name!r}",
            shared.folder,
            tenant=f"{next(_numbers)}",
            mask=secrets.randbits(128),
        )


def left(collection: Collection) -> None:
    """Give the place of a collection back."""
    with lock:
        found = [one for one in _shards.items() if one[1].shard is collection.shard]
        if not found:
            return
        [(key, shared)] = found
        shared.collections -= 1
        if shared.collections:
            collection.clear()
        else:
            del _shards[key]
            shared.close()


def _key(vectors: Vectors) -> Hashable:
    """What collections that share a shard have in common."""
    return vectors.size, *sorted(vectors.named.items())


@atexit.register
def _remove_all() -> None:
    for shared in _shards.values():
        shared.close()
    _shards.clear()
