"""Documents on their way to an ingest: read from files, left as they are stored, or given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import EmptyFileError, MissingExtraError
from rag_nodes.metadata import PAGE_STARTS, READ_WARNINGS, SOURCE, TOTAL_PAGES, display_name
from rag_nodes.pipeline.books import Books
from rag_nodes.pipeline.report import FileColumn, FileOutcome
from rag_nodes.readers import read_listed

if TYPE_CHECKING:
    from llama_index.core.schema import Document

    from rag_nodes.ledger import DocumentRow, FileRow
    from rag_nodes.pipeline.found import Left
    from rag_nodes.readers import Limits, ListedFile

FIRST = 300_000
"""Characters of the first documents, which parsers that are made for the documents get to see."""
Parsers = Mapping[str, object] | Callable[[Sequence["Document"]], Mapping[str, object]]
"""Parsers by name, or what makes them for the first documents that arrive."""


class Arrival(NamedTuple):
    """One document as it arrives, or why it did not; a blank one does both.

    Attributes:
        path: of its file as found, or its source.
        document: what was read; None where it was not, or was left.
        error: why it did not arrive; None, too, where its file was not opened.
        seconds: that reading it took.
        file: its file, for the books; None where none are kept.
        left: the document, where its file was not opened as nothing of it changed.
        twins: ids of documents of the same bytes.
    """

    path: str
    document: Document | None
    error: Exception | None = None
    seconds: float = 0.0
    file: FileRow | None = None
    left: Left | None = None
    twins: tuple[str, ...] = ()

    def success(self, document: Document) -> FileOutcome:
        """The row of a file that became this document, before anything of it is stored."""
        warnings: list[str] = document.metadata.get(READ_WARNINGS) or []
        return FileOutcome(
            path=self.path,
            status="partial" if warnings else "read",
            pages=document.metadata.get(TOTAL_PAGES),
            characters=len(document.text),
            error="; ".join(warnings) or None,
            seconds=self.seconds,
            document_id=document.id_,
            name=display_name(document.metadata),
            source=document.metadata.get(SOURCE),
        )

    def untouched(self, row: DocumentRow) -> FileOutcome:
        """The row of a document that was left as it is stored."""
        return FileOutcome(
            path=self.path,
            status="read",
            pages=row.pages,
            characters=row.characters,
            error=row.warnings,
            seconds=self.seconds,
            document_id=row.id,
            name=row.name,
            source=row.source,
        )

    def unopened(self, stopped: Mapping[str, str]) -> FileOutcome:
        """The row of a file that was not opened, as every parser had given up.

        Args:
            stopped: why, by parser.
        """
        columns = {name: FileColumn("incomplete", 0, 0, error=why) for name, why in stopped.items()}
        return FileOutcome(self.path, "incomplete", None, 0, None, 0.0, columns=columns)

    def failure(self) -> FileOutcome:
        """The row of a file that became no document."""
        cause = self.error.__cause__ if self.error else None
        return FileOutcome(
            path=self.path,
            status="failed",
            pages=None,
            characters=0,
            error=str(self.error),
            seconds=self.seconds,
            missing_extra=cause.extra if isinstance(cause, MissingExtraError) else None,
        )


def arrivals_of(
    files: Iterable[ListedFile],
    limits: Limits,
    books: Books | None = None,
    *,
    is_over: Callable[[], bool] = bool,
) -> Iterator[Arrival]:
    """The documents of files, as `read_all` reads them, and those that are left.

    Args:
        files: to be read.
        limits: what one may cost.
        books: know which of them are due; None where all are.
        is_over: whether nobody can use a document any more; files are not opened then.
    """
    for seen in (books or Books()).seen(files):
        path = seen.file.path
        for left in seen.left:
            yield Arrival(str(path), None, left=left)
        if seen.left:
            continue
        if is_over():
            yield Arrival(str(path), None)
            continue
        for read in read_listed(seen.file, limits=limits):
            yield Arrival(
                str(read.path), read.document, read.error, read.seconds, seen.row, None, seen.twins
            )


def parsers_for(
    parsers: Parsers, arrivals: Iterator[Arrival]
) -> tuple[Mapping[str, object], Iterable[Arrival]]:
    """The parsers, and all arrivals, of which the first may have been looked at."""
    if not callable(parsers):
        return parsers, arrivals
    first, characters = [], 0
    for one in arrivals:
        first.append(one)
        characters += characters_of(one)
        if characters >= FIRST:
            break
    seen = [_beginning(one.document) for one in first if one.document and not one.error]
    return parsers(seen), chain(first, arrivals)


def characters_of(arrival: Arrival) -> int:
    """How much of a document is held in memory."""
    return len(arrival.document.text) if arrival.document else 0


def _beginning(document: Document) -> Document:
    """As much of a document as is looked at."""
    if len(document.text) <= FIRST:
        return document
    starts = document.metadata.get(PAGE_STARTS)
    known = {PAGE_STARTS: [one for one in starts if one < FIRST]} if starts else {}
    return type(document)(
        text=document.text[:FIRST], id_=document.id_, metadata={**document.metadata, **known}
    )


def given(document: Document) -> Arrival:
    """A document that was read already; one that is blank arrives with an error."""
    name = str(document.metadata.get(SOURCE) or document.id_)
    nothing = "the document has no text, so nothing of it is stored"
    blank = None if document.text.strip() else EmptyFileError(name, nothing, "check what made it")
    return Arrival(name, document, blank)
