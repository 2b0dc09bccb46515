"""Opening of the store that settings name, also while another process uses its folder."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from rag_nodes.core.errors import StoreLockedError
from rag_nodes.core.processes import pause
from rag_nodes.store import ServerOptions, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_nodes.core.settings import Settings
    from rag_nodes.store import Store

LOCK_SECONDS = 10.0
"""Seconds to wait for a folder that another process uses."""
_LOOK_SECONDS = 0.1
"""Seconds between two looks at such a folder."""


def open_when_free(settings: Settings, location: str, note: Callable[[str], None] | None) -> Store:
    """Open a store; wait for a short use of its folder, such as a search of an agent, to end.

    Args:
        settings: have the key and the options of a server.
        location: folder, URL or ":memory:".
        note: receives the sentence that says that it waits; None not to wait.

    Raises:
        ConfigurationError: an option of the server is wrong.
        StoreLockedError: another process still uses the folder after `LOCK_SECONDS`.
        StoreError: the store cannot be opened or does not answer.
    """
    key = settings.store_api_key
    secret = key.get_secret_value() if key else None
    options = ServerOptions.of(settings.store_options)
    end: float | None = None
    while True:
        try:
            return open_store(location, secret, options)
        except StoreLockedError:
            if note is None:
                raise
            if end is None:
                end = monotonic() + LOCK_SECONDS
                note(
                    f"Another process uses {location}; waiting up to {LOCK_SECONDS:g} seconds "
                    "for it."
                )
            if monotonic() >= end:
                raise
            pause(_LOOK_SECONDS)
