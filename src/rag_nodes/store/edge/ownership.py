"""Whose a folder is: ours, nobody's yet, or another program's, which is left as it is."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rag_nodes.errors import StoreForeignError
from rag_nodes.store.inside_qdrant import is_local_mode

if TYPE_CHECKING:
    from pathlib import Path

MARKER = "store.json"
"""Every folder of ours has it from the moment it is made."""
COLLECTIONS = "collections"
ABOUT = "collection.json"
SHARD = "shard"
_LOCK = ".lock"
NOBODYS = {
    *(_LOCK, ".gitignore", ".gitkeep", ".keep", ".DS_Store"),
    *("Thumbs.db", "desktop.ini", "lost+found"),
}
"""What an empty folder may hold: a lock that was left over, and what systems put everywhere."""
_NAMED = 3
"""Entries of a folder that a message names."""


def check_ours(path: Path) -> None:
    """Find out whether a folder may be written to, without changing anything in it.

    It may where a store of ours made it, and where there is nothing in it yet.

    Raises:
        StoreForeignError: another program or person put something there.
        OSError: it cannot be looked at.
    """
    if not path.is_dir() or (path / MARKER).exists():
        return
    if is_local_mode(path):
        command = f"rag-nodes store import {shlex.quote(str(path))} --store NEW"
        raise StoreForeignError(
            f"{path}: another program made this folder with qdrant-client's local mode, and it is "
            f"left unchanged; copy its collections into a store of rag_nodes with `{command}`"
        )
    within = path / COLLECTIONS
    if within.is_dir() and any(map(is_collection, within.iterdir())):
        return  # ours, of which only the marker was lost
    if found := sorted(one.name for one in path.iterdir() if one.name not in NOBODYS):
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise StoreForeignError(
            f"{path}: this folder is no store of rag_nodes, and holds "
            f"{', '.join(found[:_NAMED])}{more}; choose a new or an empty folder for the store"
        )


def is_collection(folder: Path) -> bool:
    """Whether a folder is one of ours, be it torn; others may have put theirs beside."""
    return (folder / ABOUT).exists() or (folder / SHARD).exists()
