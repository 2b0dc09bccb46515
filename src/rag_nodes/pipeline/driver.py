"""The driver of an ingest: units go to an executor, what comes of them to store and ledger.

For each result: ids are written down, points are stored, what they replace is deleted; and every
few thousand points the store is flushed and the ledger says what is stored whole. A run that is
killed is completed by the next one, see `rag_nodes.pipeline.columns`.
"""

from __future__ import annotations

from array import array
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.errors import ReaderCrashedError
from rag_nodes.executors import Inline, LostUnit
from rag_nodes.metadata import USUAL
from rag_nodes.pipeline.due import UnchangedDocument, concluded
from rag_nodes.pipeline.report import FileColumn
from rag_nodes.pipeline.units import DocumentRead, FileUnit, Known, UnitResult
from rag_nodes.pipeline.work import work
from rag_nodes.readers import COLLECTIONS, document_id, read_listed
from rag_nodes.transforms import asked_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag_nodes.executors import Executor
    from rag_nodes.ledger import FileRow, Ledger, StoredDocument
    from rag_nodes.pipeline.columns import IngestColumn
    from rag_nodes.pipeline.tally import Tally
    from rag_nodes.pipeline.units import DueFile, IngestRecipe

MOST_FILES = 32
"""Files of a unit."""
MOST_BYTES = 1_000_000
"""Their bytes; a larger file is a unit of its own."""
MOST_BYTES_PAID = 200_000
"""The same where they go to a server, or to another process: as much is lost where that dies."""
CHECKPOINT = 2_000
"""Points and documents after which the store is flushed and the ledger settled."""


class Driver:
    """One ingest; web pages are due again after `ttl` hours, or never for 0.

    Models of a dry run make vectors of another length than those that are stored.
    """

    def __init__(
        self,
        recipe: IngestRecipe,
        columns: Sequence[IngestColumn],
        ledger: Ledger,
        tally: Tally,
        *,
        corpus: str,
        ttl: float,
        dry_run: bool = False,
    ) -> None:
        self._recipe, self._columns, self._ledger = recipe, columns, ledger
        self._tally, self._corpus, self._ttl, self._dry_run = tally, corpus, ttl, dry_run
        self._is_here = True
        self._pending: list[tuple[DueFile, Sequence[DocumentRead], UnitResult]] = []
        self._stopped: dict[str, str] = {}
        self._unsettled = 0

    def run(self, items: Iterable[DueFile | UnchangedDocument], executor: Executor) -> None:
        """Have everything done that is due; other processes get a copy of the recipe.

        Raises:
            CancelledError: see `interruptible`; what was paid for by then is stored.
            EngineError: see `Executor`.
            LedgerError: the ledger cannot be read or written.
        """
        self._is_here, recipe = isinstance(executor, Inline), self._recipe
        if self._is_here:
            recipe.tell = self._tally.tell
        else:
            recipe = recipe.for_workers(is_remote=executor.is_remote)
        try:
            for unit, result in executor.run(work, recipe, self._units(items)):
                if isinstance(result, LostUnit):
                    self._lose(unit, result)
                    continue
                self._tally.add(result)
                self._apply(unit, result)
                if result.broken:
                    raise result.broken
        finally:
            self._checkpoint()
        for one in self._columns:
            one.conclude()

    # What is due.

    def _units(self, items: Iterable[DueFile | UnchangedDocument]) -> Iterator[FileUnit]:
        """The files that are due, a few at a time; the others are counted."""
        is_free = self._is_here and self._recipe.models.offline
        most = MOST_BYTES if is_free else MOST_BYTES_PAID
        files: list[DueFile] = []
        size = 0
        for one in items:
            if isinstance(one, UnchangedDocument):
                self._tally.leave(one, self._columns)
                continue
            if files and (len(files) == MOST_FILES or size + one.size > most):
                yield self._unit(files)
                files, size = [], 0
            if len(self._stopped) == len(self._columns):  # it would fail as the last did
                self._give_up(one)
                continue
            files.append(one)
            size += one.size
        if files:
            yield self._unit(files)

    def _unit(self, files: Sequence[DueFile]) -> FileUnit:
        """A unit with all that is known of its documents: who does it cannot ask."""
        dimensions = [one.dimension for one in self._columns]
        ids = self._document_ids(files, is_read=any(dimensions))
        documents: dict[tuple[int, str], StoredDocument] = {}
        vectors: dict[tuple[int, str], Mapping[str, Sequence[float]]] = {}
        for number, column in enumerate(self._columns):
            documents |= {(number, one): row for one, row in column.stored_whole(ids).items()}
            for name in (USUAL, *asked_vectors(self._recipe.steps)):
                found = column.vectors(ids, name)
                vectors[number, name] = {text: array("f", of) for text, of in found.items()}
            if column.stopped:
                self._stopped.setdefault(column.name, column.stopped)
        known = Known(documents, vectors, [None] * len(dimensions) if self._dry_run else dimensions)
        return FileUnit(tuple(files), known, dict(self._stopped))

    def _document_ids(self, files: Sequence[DueFile], *, is_read: bool = False) -> list[str]:
        """Ids of the documents of files, and of others with the same bytes.

        Where it `is_read`, those of the pages of crawls that are new, as another may have had some.
        """
        known = self._ledger.known(self._corpus, [one.row.path for one in files if one.row])
        ids = [row.id for of in known.values() for row in of.documents]
        for one in files:
            ids += one.twins
            if one.document:
                ids.append(one.document.id_)
            if one.file:
                ids.append(document_id(Path(one.file.place)))
                is_crawl = one.file.path.suffix.lower() in COLLECTIONS
                if is_read and is_crawl and one.file.place not in known:
                    reads = read_listed(one.file, limits=self._recipe.limits)
                    ids += [read.document.id_ for read in reads if read.document]
        return list(dict.fromkeys(ids))

    def _give_up(self, file: DueFile) -> None:
        """Report a file that is not opened, as every parser has given up."""
        ids, columns = self._document_ids([file]), {}
        for one in self._columns:
            there = sum(row.chunks for row in one.stored_whole(ids).values())
            columns[one.name] = FileColumn("incomplete", 0, 0, there, self._stopped[one.name])
        self._tally.tell("read", file.path, 0, 0)
        self._tally.failed(file.position, file.path, None, columns=columns)

    # What was done.

    def _lose(self, unit: FileUnit, lost: LostUnit) -> None:
        """Take down a file that ended every process that worked on it."""
        for file in unit.files:
            why = f"the worker died twice reading it ({lost.reason})"
            read = DocumentRead(None, error=str(ReaderCrashedError(file.path, why)))
            self._tally.tell("read", file.path, 0, 0)
            self._pending.append((file, [read], UnitResult([])))

    def _apply(self, unit: FileUnit, result: UnitResult) -> None:
        """Store what came of a unit."""
        work = list(zip(self._columns, result.columns, strict=True))
        paths = {
            read.row.id: file.row.path
            for file, reads in zip(unit.files, result.reads, strict=False)
            for read in reads
            if file.row and read.row
        }
        for column, made in work:
            column.look_up(made)
        with self._ledger.transaction():
            for column, made in work:
                column.intend(made, paths)
        for column, made in work:
            self._unsettled += len(made.documents) + column.write(made)
            for one in made.documents.values():
                self._tally.count(column.name, one)
            if why := made.stopped or column.stopped:
                self._stopped.setdefault(column.name, why)
        self._pending += zip(unit.files, result.reads, repeat(result))
        if self._unsettled >= CHECKPOINT:
            self._checkpoint()

    def _checkpoint(self) -> None:
        """Have the store keep what it was given, then say in the ledger what is stored whole."""
        pending, self._pending, self._unsettled = self._pending, [], 0
        for one in self._columns:
            one.flush()
        with self._ledger.transaction():
            for one in self._columns:
                one.settle()
            for file, reads, result in pending:
                if file.row and not result.broken:
                    self._record(file.row, reads)
        for one_read in pending:
            self._tell(*one_read)

    def _record(self, file: FileRow, reads: Sequence[DocumentRead]) -> None:
        """Write down a file as it was read, with when its web pages are due again."""
        at = self._ledger.clock() + self._ttl * 3600 if self._ttl else None
        documents = {
            one.row.id: one.row._replace(
                corpus=file.corpus,
                path=file.path,
                expires_at=at if str(one.row.source).startswith(("http://", "https://")) else None,
            )
            for one in reads
            if one.row and one.error is None
        }
        rows = list(documents.values())
        self._ledger.record(concluded(file, rows, reads), rows)

    def _tell(self, file: DueFile, reads: Sequence[DocumentRead], result: UnitResult) -> None:
        """Report how the documents of a file ended."""
        for one in reads:
            if one.error is not None or one.row is None:
                self._tally.failed(
                    file.position, file.path, one.error, extra=one.extra, seconds=one.seconds
                )
                continue
            pairs = zip(self._columns, result.columns, strict=True)
            made = {column.name: of.documents[one.row.id] for column, of in pairs}
            self._tally.document(file.position, file.path, one.row, made, one.seconds)
