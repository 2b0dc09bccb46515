"""Clients of Qdrant in this process, which are closed when the test is over: see `conftest`."""

from qdrant_client import QdrantClient

OPEN: list[QdrantClient] = []


def memory_client() -> QdrantClient:
    """A client of its own, without a server."""
    OPEN.append(QdrantClient(":memory:"))
    return OPEN[-1]
