"""One document on its way into one collection: what is missing, and what may go once nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.pipeline.report import FileColumn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rag_nodes.pipeline.report import ColumnStatus


class Deposit:
    """The chunks of one document within one column, as they are stored.

    The chunks of its former version are deleted when, and only when, all new ones are stored: a
    model that refuses must not cost what was there. Used by one thread at a time.

    Attributes:
        label: the document, for messages.
        stale: ids of former chunks that are still there.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.stale: list[str] = []
        self._chunks: int | None = None
        self._stored = 0
        self._touched = True
        self._error: str | None = None

    def expect(self, chunks: int, *, present: int, stale: Iterable[str] = ()) -> None:
        """Say what the document was cut into.

        Args:
            chunks: how many in all.
            present: how many of them are stored already.
            stale: ids of the chunks that the new ones replace.
        """
        self._chunks, self._stored = chunks, present
        self.stale = list(stale)
        self._touched = not chunks or present < chunks or bool(self.stale)

    def count_stored(self) -> None:
        """One more chunk is stored."""
        self._stored += 1

    def fail(self, error: str) -> None:
        """Say why a chunk is not stored; the first reason is kept."""
        self._error = self._error or error

    @property
    def is_stored(self) -> bool:
        """Whether every chunk is in the store."""
        return self._stored == self._chunks

    def outcome(self) -> FileColumn:
        """What became of it; ask when the run is over."""
        if self.is_stored and not self.stale:
            status: ColumnStatus = "stored" if self._touched else "unchanged"
            return FileColumn(status, self._stored, self._stored)
        return FileColumn(
            "incomplete", self._chunks or 0, self._stored, len(self.stale), self._error
        )
