"""One user's documents, store and comparison, and who is here to use them.

Each part is imported when it is first asked for: whoever ingests has no use for what answers and
compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.import_paths import lazy_getattr

if TYPE_CHECKING:
    from rag_nodes.workspace.session import Session
    from rag_nodes.workspace.sessions import Sessions
    from rag_nodes.workspace.workspace import Workspace

__all__ = ["Session", "Sessions", "Workspace"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__ = lazy_getattr(
        __name__,
        {
            "Session": "session",
            "Sessions": "sessions",
            "Workspace": "workspace",
        },
    )
