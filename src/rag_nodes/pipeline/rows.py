"""Rows of documents for the report, of which a run over very many keeps only some."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.pipeline.deposit import Deposit
    from rag_nodes.pipeline.report import FileColumn, FileOutcome, FileStatus

_BLOCK = 1_000
"""Rows after which those are looked at that may be complete."""


class FileRows:
    """Rows in the order of their documents, however they arrive.

    Args:
        most: rows from which on documents that ended well have none; None to keep all.

    Attributes:
        omitted: documents that ended well and have none.
    """

    def __init__(self, most: int | None = None) -> None:
        self.omitted = 0
        self._most = most
        self._rows: list[tuple[int, FileOutcome]] = []

    def add(self, position: int, row: FileOutcome) -> None:
        """Take a row of which nothing will change; documents of one file may share a position."""
        is_full = self._most is not None and len(self._rows) >= self._most
        if is_full and row.status in {"read", "unchanged"}:
            self.omitted += 1
        else:
            self._rows.append((position, row))

    def in_order(self) -> tuple[FileOutcome, ...]:
        """All that were kept."""
        return tuple(row for _, row in sorted(self._rows, key=lambda pair: pair[0]))


class OpenRows:
    """Rows of documents that are being stored; each is given on when all of it is.

    Args:
        parsers: names of the columns.
        rows: takes them.

    Attributes:
        changed: documents of which this run stores something or lacks something, by parser.
    """

    def __init__(self, parsers: Sequence[str], rows: FileRows) -> None:
        self.changed = dict.fromkeys(parsers, 0)
        self._parsers = parsers
        self._rows = rows
        self._open: list[tuple[int, FileOutcome, Sequence[Deposit]]] = []
        self._full = _BLOCK

    def add(self, position: int, row: FileOutcome, deposits: Sequence[Deposit]) -> None:
        """Take the row of a document as it was read, and what its parsers store of it."""
        self._open.append((position, row, deposits))
        if len(self._open) >= self._full:
            waiting, self._open = self._open, []
            for one in waiting:
                if all(deposit.is_whole for deposit in one[2]):
                    self._close(*one)
                else:
                    self._open.append(one)
            self._full = len(self._open) + _BLOCK

    def close(self) -> None:
        """Give all on as they are; the run is over."""
        for one in self._open:
            self._close(*one)
        self._open = []

    def _close(self, position: int, row: FileOutcome, deposits: Sequence[Deposit]) -> None:
        pairs = zip(self._parsers, deposits, strict=False)
        whole = _with_columns(row, {name: one.outcome() for name, one in pairs})
        for name, column in whole.columns.items():
            self.changed[name] += column.status != "unchanged"
        self._rows.add(position, whole)


def _with_columns(file: FileOutcome, columns: dict[str, FileColumn]) -> FileOutcome:
    """The row of a file with what is stored of it; without columns as it is."""
    if not columns:
        return file
    found = {one.status for one in columns.values()}
    status: FileStatus = file.status
    if "incomplete" in found:
        status = "incomplete"
    elif found == {"unchanged"}:
        status = "unchanged"
    return replace(file, status=status, columns=columns)
