"""What can be seen of a storage folder from outside, whoever holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import StoreError
from rag_nodes.store.edge.aliases import FILE
from rag_nodes.store.edge.folder import UNFINISHED, known_of
from rag_nodes.store.edge.ownership import COLLECTIONS, MARKER, NOBODYS, check_ours, is_collection

if TYPE_CHECKING:
    from pathlib import Path


class FolderLook(NamedTuple):
    """What can be seen of a storage folder without opening it.

    Attributes:
        foreign: names of what is none of ours.
        unread: of each collection that cannot be read, why.
    """

    foreign: tuple[str, ...]
    unread: tuple[StoreError, ...]


def looked_at(path: Path) -> FolderLook:
    """Look at a storage folder without opening or changing anything.

    Raises:
        StoreForeignError: no store of ours made it.
    """
    check_ours(path)
    ours = {MARKER, COLLECTIONS, FILE, *NOBODYS}
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
    return FolderLook(tuple(sorted(foreign)), tuple(unread))
