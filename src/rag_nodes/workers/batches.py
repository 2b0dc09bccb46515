"""Files in batches, and what becomes of a batch whose worker died."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.readers import COLLECTIONS
from rag_nodes.readers.base import document_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rag_nodes.ledger import FileRow
    from rag_nodes.readers import ListedFile

MOST_FILES = 32
"""Files of one batch."""
MOST_BYTES = 1_000_000
"""Bytes of one batch, unless a single file has more."""
TWICE = 2
"""Deaths that a file is given: the first may have been somebody else's."""


class DueFile(NamedTuple):
    """A file that is to be ingested.

    Attributes:
        position: in the listing, from 0; the report is sorted by it.
        file: as it was listed.
        row: to be written down when it was read; None where no ledger is kept.
        twins: ids of documents of other files with the same bytes.
    """

    position: int
    file: ListedFile
    row: FileRow | None = None
    twins: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes, as far as known."""
        return self.file.size or 0

    @property
    def document(self) -> str:
        """The id that its document has, unless it holds many."""
        return document_id(Path(self.file.place))

    @property
    def is_collection(self) -> bool:
        """Whether it holds many documents, of which another file may hold some, too."""
        return self.file.path.suffix.lower() in COLLECTIONS


@dataclass(frozen=True)
class FileGroup:
    """Files that are given to one worker together.

    Attributes:
        files: in the order of the listing.
        died: a worker died of some of them before.
    """

    files: tuple[DueFile, ...]
    died: bool = False

    @cached_property
    def is_collection(self) -> bool:
        """Whether no other such group may be under way."""
        return any(one.is_collection for one in self.files)

    @cached_property
    def documents(self) -> tuple[str, ...]:
        """The ids of their documents, unless they hold many."""
        return tuple(one.document for one in self.files)

    @property
    def can_wait(self) -> bool:
        """Whether it may be given to a worker that has not done what it has.

        Not what another worker may be free for long before, and not what is told of documents that
        others are just storing.
        """
        is_small = sum(one.size for one in self.files) <= MOST_BYTES
        return is_small and not self.is_collection and not any(one.twins for one in self.files)


class FileGroups:
    """What is left to do, a group at a time; files are listed as they are needed."""

    def __init__(self, files: Iterable[DueFile]) -> None:
        self._listed = _grouped(files)
        self._ahead: deque[FileGroup] = deque()
        self._deaths: Counter[int] = Counter()

    def next(self, *, collections: bool = True) -> FileGroup | None:
        """The next group, for a worker that is idle; None where there is none for now.

        Args:
            collections: it may be one of a file of many documents.
        """
        for group in self._ahead:
            if collections or not group.is_collection:
                self._ahead.remove(group)
                return group
        for group in self._listed:
            if collections or not group.is_collection:
                return group
            self._ahead.append(group)
        return None

    def next_to_wait(self) -> FileGroup | None:
        """The next group, for a worker that is not idle; None where that would do harm."""
        group = self.next()
        if group and not group.can_wait:
            self.put_back(group)
            return None
        return group

    def put_back(self, group: FileGroup) -> None:
        """Take a group that nobody has begun."""
        self._ahead.appendleft(group)

    def rest(self) -> Iterator[DueFile]:
        """Everything that is left, which then is nothing any more."""
        for group in (*self._ahead, *self._listed):
            yield from group.files
        self._ahead.clear()

    def died(self, group: FileGroup, begun: int | None) -> list[DueFile]:
        """Put back what a worker left that died.

        The file in hand is tried once more, alone; the others are innocent. Where that cannot be
        the whole truth, as it was no file in hand, or not the first death of these files, what is
        left is halved until the file that it is stands alone.

        Args:
            group: what it had.
            begun: position in the group of the file it had begun last, the number of its files
                where it had read them all; None where it had not begun.

        Returns:
            Files that nobody is to try again.
        """
        if begun is None:
            self.put_back(group)
            return []
        files = group.files
        if len(files) == 1:
            begun = 0
        blamed = files[begun : begun + 1]
        rest = tuple(one for one in files if one not in blamed)
        lost = []
        for one in blamed:
            self._deaths[one.position] += 1
            if self._deaths[one.position] >= TWICE:
                lost.append(one)
            else:
                self._ahead.append(FileGroup((one,), died=True))
        halves = _halved(rest) if group.died or not blamed else (rest,)
        self._ahead.extendleft(FileGroup(half, died=True) for half in reversed(halves) if half)
        return lost


def _halved(files: tuple[DueFile, ...]) -> tuple[tuple[DueFile, ...], ...]:
    middle = (len(files) + 1) // 2
    return files[:middle], files[middle:]


def _grouped(files: Iterable[DueFile]) -> Iterator[FileGroup]:
    group: list[DueFile] = []
    size, goes_alone = 0, False
    for one in files:
        full = len(group) == MOST_FILES or size + one.size > MOST_BYTES or goes_alone
        goes_alone = one.is_collection
        if group and (full or goes_alone):
            yield FileGroup(tuple(group))
            group, size = [], 0
        group.append(one)
        size += one.size
    if group:
        yield FileGroup(tuple(group))
