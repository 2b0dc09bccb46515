"""The store at a place: in memory, in a folder, or at a URL."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rag_nodes.errors import ConfigurationError, MissingExtraError, StoreError
from rag_nodes.store.engine import MEMORY
from rag_nodes.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from rag_nodes.store.options import ServerOptions


def open_store(
    location: str | Path = MEMORY,
    api_key: str | None = None,
    options: ServerOptions | None = None,
) -> Store:
    """Open a store.

    Args:
        location: ":memory:" (gone at the end, each call a new one), a folder (made when missing),
            or the URL of a Qdrant server.
        api_key: key of the server; without meaning for the others.
        options: how the server is reached and keeps collections; without meaning for the others.

    Returns:
        The store; use it in a `with` statement or call `close`.

    Raises:
        ConfigurationError: the location is empty, or the key would cross a network unencrypted.
        MissingExtraError: Qdrant is not installed.
        StoreForeignError: no store of ours made the folder, and something is in it.
        StoreLockedError: another process holds the folder.
        StoreDamagedError: the folder's content cannot be read.
        StoreFullError: the disk has too little space to work safely.
        StoreUnreachableError: the server does not answer.
        StoreError: the folder cannot be created, or the server refused the key.
    """
    place = str(location)
    if not place.strip():
        raise ConfigurationError(
            f"no storage location given; use {MEMORY!r}, a folder or a Qdrant URL"
        )
    if urlsplit(place).scheme in {"http", "https"}:
        if find_spec("qdrant_client") is None:
            raise MissingExtraError("qdrant_client", "qdrant")
        from rag_nodes.store.server import Served

        return Store(Served(place, api_key, options))
    if find_spec("qdrant_edge") is None:
        raise _no_engine()
    from rag_nodes.store.edge import open_edge

    return Store(open_edge(place))


def _no_engine() -> Exception:
    if find_spec("qdrant_client") is None:
        return MissingExtraError("qdrant_edge", "qdrant")
    # The rest of the extra is here: maybe the engine could not be installed with it.
    return StoreError(
        "Qdrant's embedded engine (qdrant-edge-py) is not installed; pip install "
        "'rag-nodes[qdrant]' brings it, but there is no build of it for Windows on ARM64, nor for "
        "Linux on ARM64 with a glibc before 2.28: run a Qdrant server there and give its URL as "
        "the storage location"
    )
