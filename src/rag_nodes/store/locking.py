"""Embedded Qdrant made safe for threads and async: one lock around every call."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from qdrant_client import QdrantClient

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
"""Methods that change nothing; every other one counts as a write."""


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
