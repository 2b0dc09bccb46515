"""Access to SQLite inside qdrant-client's local mode, which has no option for it.

- Each collection of `QdrantClient(path=…)` has an SQLite connection, as `storage.storage`. It
  commits each point on its own, and waits for the disk each time (`write_without_waiting`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qdrant_client import QdrantClient


def write_without_waiting(client: QdrantClient, collection: str) -> None:
    """Write a collection without waiting for the disk, for files that are synchronised at the end.

    If qdrant-client is different inside, writing is as slow as it was.
    """
    inside: Any = client
    with suppress(AttributeError, KeyError):
        inside._client.collections[collection].storage.storage.execute("PRAGMA synchronous = OFF")  # noqa: SLF001
