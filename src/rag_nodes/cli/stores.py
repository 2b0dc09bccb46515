"""Stores that a command looks at or changes: there before it runs, and opened with their key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.errors import CollectionMissingError

if TYPE_CHECKING:
    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.settings import Settings
    from rag_nodes.store import QdrantStore


def must_exist(location: str) -> None:
    """Refuse a place where nothing can be: opening a folder would make it.

    Raises:
        CollectionMissingError: there is no such folder, or it is memory.
    """
    if "://" not in location and not Path(location).expanduser().is_dir():
        raise CollectionMissingError(
            f"{location}: there is no store here; check --store, or ingest documents first"
        )


def opened(cli: Invocation, settings: Settings, location: str | None = None) -> QdrantStore:
    """An open store, closed at the end of the run.

    Args:
        cli: this run.
        settings: with key and options of a server.
        location: folder or URL; None for that of the settings.

    Raises:
        ConfigurationError: an option of the server is wrong.
        StoreError: it cannot be opened or does not answer.
    """
    from rag_nodes.store import ServerOptions, open_store

    key = settings.store_api_key
    secret = key.get_secret_value() if key else None
    options = ServerOptions.of(settings.store_options)
    return cli.cleanup.enter_context(open_store(location or settings.store, secret, options))
