"""Rows of a report: how each document ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.pipeline.report import FileColumn, FileOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.ledger import DocumentRow
    from rag_nodes.pipeline.report import FileStatus
    from rag_nodes.pipeline.units import DocumentRead


def read_row(path: str, read: DocumentRead, columns: dict[str, FileColumn]) -> FileOutcome:
    """The row of a document that was opened.

    Args:
        path: of its file as found, or its source.
        read: what became of it.
        columns: what is stored of it, by parser.
    """
    found = read.found
    if read.unread or not found:
        return failed_row(path, read)
    return FileOutcome(
        path=path,
        status=_status(found.warnings, columns),
        pages=found.pages,
        characters=found.characters,
        error=found.warnings,
        seconds=read.seconds,
        document_id=found.id,
        columns=columns,
        name=found.name,
        source=found.source,
    )


def left_row(path: str, row: DocumentRow, columns: dict[str, FileColumn]) -> FileOutcome:
    """The row of a document that is left as it is stored; for arguments see `read_row`."""
    return FileOutcome(
        path=path,
        status=_status(row.warnings, columns),
        pages=row.pages,
        characters=row.characters,
        error=row.warnings,
        seconds=0.0,
        document_id=row.id,
        columns=columns,
        name=row.name,
        source=row.source,
    )


def failed_row(path: str, read: DocumentRead) -> FileOutcome:
    """The row of a file that became no document."""
    return FileOutcome(
        path=path,
        status="failed",
        pages=None,
        characters=0,
        error=read.unread.reason if read.unread else None,
        seconds=read.seconds,
        missing_extra=read.unread.extra if read.unread else None,
    )


def unopened_row(path: str, stopped: Mapping[str, str], former: Mapping[str, int]) -> FileOutcome:
    """The row of a file that was not opened, as every parser had given up.

    Args:
        path: of the file as found.
        stopped: why, by parser.
        former: chunks that are stored of it, by parser.
    """
    columns = {
        name: FileColumn("incomplete", 0, 0, former[name], error=why)
        for name, why in stopped.items()
    }
    return FileOutcome(path, "incomplete", None, 0, None, 0.0, columns=columns)


def _status(warnings: str | None, columns: Mapping[str, FileColumn]) -> FileStatus:
    found = {one.status for one in columns.values()}
    if "incomplete" in found:
        return "incomplete"
    if found == {"unchanged"}:
        return "unchanged"
    return "partial" if warnings else "read"
