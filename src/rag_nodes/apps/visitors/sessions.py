"""Sessions of a page, one for each browser tab and never shared."""

from __future__ import annotations

import hashlib
import re
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any

from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.operations.workspace.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_nodes.core.settings import Settings

AT_ONCE = 8
"""Visitors whose documents are loaded at a time, and whose questions are answered."""
_TOKEN = re.compile(r"[0-9a-f]{48}")
"""24 random bytes that a browser tab made itself and tells nobody else."""


def sessions_of(
    settings: Settings, changed: Callable[[PageSession, str], None], **options: Any
) -> Sessions[PageSession]:
    """Return the sessions of a page, by `key_of`.

    Args:
        settings: of the server.
        changed: called with a session and what changed in it, see `PageSession`.
        **options: of `PageSession`.
    """
    loads, answers = BoundedSemaphore(AT_ONCE), BoundedSemaphore(AT_ONCE)

    def make() -> PageSession:
        session = PageSession(
            settings,
            loads=loads,
            answers=answers,
            changed=lambda what: changed(session, what),
            **options,
        )
        return session

    return Sessions(make)


def key_of(token: object, user: str) -> str:
    """Return the key of a browser tab's session; only a hash of the token is kept.

    Args:
        token: of the tab.
        user: who is logged in; a token is worth nothing to others.

    Raises:
        ConfigurationError: no page of ours makes such a token.
    """
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise ConfigurationError("the request names no session: reload the page")
    return hashlib.sha256(f"{user}\0{token}".encode()).hexdigest()
