"""What can be known of a storage folder without opening it: whose it is, and what is in it."""

from __future__ import annotations

import errno
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import StoreDamagedError, StoreError, StoreForeignError
from rag_nodes.store.edge import files
from rag_nodes.store.local_mode import is_local_mode

if TYPE_CHECKING:
    from pathlib import Path

    from rag_nodes.store.points import Layout

MARKER = "store.json"
"""Every folder of ours has it from the moment it is made."""
COLLECTIONS = "collections"
ALIASES = "aliases.json"
UNFINISHED = (".new", ".gone")
"""Suffixes of folders that were interrupted while they were made or removed."""
_NOBODYS = {
    *(".lock", ".gitignore", ".gitkeep", ".keep", ".DS_Store"),
    *("Thumbs.db", "desktop.ini", "lost+found"),
}
"""What an empty folder may hold: a lock that was left over, and what systems put everywhere."""
_OF_SYSTEM = re.compile(r"\(os error (\d+)\)")
"""How the engine tells what the system said."""
_NO_DAMAGE = {
    *(errno.EPERM, errno.EACCES, errno.EROFS, errno.EIO),
    *(errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC),
}
"""What the system may say of files that are whole."""
_NAMED = 3
"""Entries of a folder that a message names."""


class Contents(NamedTuple):
    """What is in a storage folder.

    Attributes:
        known: folder and vectors of each collection, by name.
        unread: of each folder of a collection that cannot be read, why.
        unfinished: folders of collections that were interrupted while they came or went.
        foreign: names of what is none of ours.
    """

    known: dict[str, tuple[Path, Layout]]
    unread: dict[Path, StoreError]
    unfinished: list[Path]
    foreign: list[str]


def contents_of(path: Path) -> Contents:
    """Look at a storage folder without opening or changing anything.

    Raises:
        StoreForeignError: no store of ours made it.
    """
    check_ours(path)
    ours = {MARKER, COLLECTIONS, ALIASES, *_NOBODYS}
    foreign = sorted(one.name for one in path.iterdir() if one.name not in ours)
    found = Contents({}, {}, [], foreign)
    within = path / COLLECTIONS
    for folder in sorted(within.iterdir()) if within.is_dir() else ():
        if folder.suffix in UNFINISHED:
            found.unfinished.append(folder)
        elif not _is_collection(folder):
            foreign.append(f"{COLLECTIONS}/{folder.name}")
        else:
            try:
                name, layout = files.read_about(folder)
                found.known[name] = folder, layout
            except (OSError, ValueError, KeyError, TypeError) as error:
                found.unread[folder] = unreadable(folder, error)
    return found


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
    if within.is_dir() and any(map(_is_collection, within.iterdir())):
        return  # ours, of which only the marker was lost
    if found := sorted(one.name for one in path.iterdir() if one.name not in _NOBODYS):
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise StoreForeignError(
            f"{path}: this folder is no store of rag_nodes, and holds "
            f"{', '.join(found[:_NAMED])}{more}; choose a new or an empty folder for the store"
        )


def unreadable(place: Path, error: Exception) -> StoreError:
    """The error for what cannot be read: damage, unless the system says something else."""
    said = _OF_SYSTEM.search(str(error))
    number = error.errno if isinstance(error, OSError) else int(said[1]) if said else None
    why = f"{type(error).__name__}: {error}"
    if number in _NO_DAMAGE:
        return StoreError(
            f"{place}: it cannot be opened, which need not be damage ({why}); check permissions, "
            "the disk, and the limits of memory and open files"
        )
    return StoreDamagedError(
        f"{place}: the storage folder is damaged ({why}); delete this folder and ingest again, or "
        "restore a copy"
    )


def _is_collection(folder: Path) -> bool:
    """Whether a folder is one of ours, be it torn; others may have put theirs beside."""
    return (folder / files.ABOUT).exists() or (folder / files.SHARD).exists()
