"""What can be seen of a storage folder from outside, whoever holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import StoreError
from rag_nodes.store.edge.aliases import FILE
from rag_nodes.store.edge.folder import (
    COLLECTIONS,
    CONVERTING,
    KEPT,
    MARKER,
    OLD,
    UNFINISHED,
    is_collection,
    is_old,
    known_of,
)

if TYPE_CHECKING:
    from pathlib import Path


class FolderLook(NamedTuple):
    """What can be seen of a storage folder without opening it.

    Attributes:
        is_old: qdrant-client's local mode wrote it; opening takes it over.
        kept: what was there before it was taken over; None where nothing is kept.
        foreign: names of what is none of ours.
        unread: of each collection that cannot be read, why.
    """

    is_old: bool
    kept: Path | None
    foreign: tuple[str, ...]
    unread: tuple[StoreError, ...]


def looked_at(path: Path) -> FolderLook:
    """Look at a storage folder without opening or changing anything."""
    ours = {MARKER, COLLECTIONS, FILE, KEPT, CONVERTING, ".lock", *OLD}
    foreign = [one.name for one in path.iterdir() if one.name not in ours]
    unread: list[StoreError] = []
    within = path / COLLECTIONS
    for folder in sorted(within.iterdir()) if within.is_dir() else ():
        if folder.suffix in UNFINISHED:
            continue
        if not is_collection(folder):
            foreign.append(f"{COLLECTIONS}/{folder.name}")
        else:
            try:
                known_of(folder)
            except StoreError as error:
                unread.append(error)
    kept = path / KEPT
    return FolderLook(
        is_old(path), kept if kept.is_dir() else None, tuple(sorted(foreign)), tuple(unread)
    )
