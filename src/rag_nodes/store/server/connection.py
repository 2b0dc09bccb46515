"""The connection to a server: whether it answers, and with which key."""

from __future__ import annotations

from typing import Any, NamedTuple

from qdrant_client import AsyncQdrantClient, QdrantClient

from rag_nodes.errors import CredentialsError
from rag_nodes.store.faults import shown, translated

PROBE_SECONDS = 5
"""How long opening a server waits for a sign of life."""
REQUEST_SECONDS = 60
"""How long a single request may take."""


class Connection(NamedTuple):
    """A server that answers.

    Attributes:
        location: its URL without credentials.
        client: sync, and `aclient` its async face.
        aclient: see `client`.
    """

    location: str
    client: QdrantClient
    aclient: AsyncQdrantClient


def connected(url: str, api_key: str | None) -> Connection:
    """Connect to a server.

    Raises:
        CredentialsError: the key cannot be one.
        StoreUnreachableError: the server did not answer within `PROBE_SECONDS`.
        StoreError: the server refused the key.
    """
    if api_key is not None and not api_key.isascii():
        raise CredentialsError("the Qdrant key holds characters no key has; copy it again")
    options: dict[str, Any] = {"url": url, "api_key": api_key, "check_compatibility": False}
    with translated(url):
        probe = QdrantClient(**options, timeout=PROBE_SECONDS)
        try:
            probe.get_collections()
        finally:
            probe.close()
        return Connection(
            shown(url),
            QdrantClient(**options, timeout=REQUEST_SECONDS),
            AsyncQdrantClient(**options, timeout=REQUEST_SECONDS),
        )
