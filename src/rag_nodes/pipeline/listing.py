"""The files of an ingest, which are counted, weighed and read in the same order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.readers import COLLECTIONS, ListedFile, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rag_nodes.readers import FileShard

MOST_KEPT = 20_000
"""Files up to which a listing is kept: some 15 MB. Folders with more are walked each time."""


class FileListing:
    """The files of paths, as often as they are asked for.

    Args:
        paths: files and folders, see `listed`.
        shard: leave out what is in another one; None for all.
    """

    def __init__(self, paths: Iterable[str | Path], shard: FileShard | None = None) -> None:
        self._paths = [*map(Path, paths)]
        self._shard = shard
        self._kept: list[ListedFile] | None = None

    def __iter__(self) -> Iterator[ListedFile]:
        """The files; where they are few, as they were when they were first all asked for."""
        return self._walked() if self._kept is None else iter(self._kept)

    def documents(self) -> int | None:
        """How many documents they hold; None where only reading them tells."""
        if any(path.suffix.lower() in COLLECTIONS for path in self._paths):
            return None
        return sum(1 for _ in self)

    def _walked(self) -> Iterator[ListedFile]:
        kept: list[ListedFile] | None = []
        for file in listed(self._paths, self._shard):
            if kept is not None:
                kept.append(file)
                kept = kept if len(kept) <= MOST_KEPT else None
            yield file
        self._kept = kept
