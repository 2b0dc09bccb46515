"""The driver of an ingest: units go to an executor, what comes of them to store and ledger.

For each result: ids are written down, points are stored, what they replace is deleted; and every
few thousand points the store is flushed and the ledger says what is stored whole. A run that is
killed is completed by the next one, see `rag_nodes.pipeline.columns`.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import LedgerError, ReaderCrashedError, StoreError
from rag_nodes.executors import Inline, LostUnit
from rag_nodes.metadata import USUAL
from rag_nodes.pipeline.due import UnchangedDocument, concluded
from rag_nodes.pipeline.report import FileColumn
from rag_nodes.pipeline.units import DocumentRead, DocumentResult, FileUnit, Known
from rag_nodes.pipeline.work import work
from rag_nodes.readers import COLLECTIONS, document_id, read_listed
from rag_nodes.transforms import further_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag_nodes.executors import Executor
    from rag_nodes.ledger import FileRow, Ledger, StoredDocument
    from rag_nodes.pipeline.columns import IngestColumn
    from rag_nodes.pipeline.recipe import IngestRecipe
    from rag_nodes.pipeline.tally import Tally
    from rag_nodes.pipeline.units import DueFile, Result

MOST_FILES = 32
"""Files of a unit."""
MOST_BYTES = 1_000_000
"""Their bytes; a larger file is a unit of its own."""
MOST_BYTES_PAID = 200_000
"""The same where they go to a server, or to another process: as much is lost where that dies."""
CHECKPOINT = 2_000
"""Points and documents after which the store is flushed and the ledger settled."""


class _KnownHere(Known):
    """What is stored, asked for when it is needed, by units that are done in this process.

    Each is made when the last one is stored.
    """

    def __init__(self, columns: Sequence[IngestColumn], dimensions: Sequence[int | None]) -> None:
        super().__init__(dimensions=dimensions)
        self._columns = columns

    def document(self, column: int, document_id: str) -> StoredDocument | None:
        return self._columns[column].whole([document_id]).get(document_id)

    def vectors(
        self, column: int, document_ids: Sequence[str], name: str
    ) -> Mapping[str, Sequence[float]]:
        return self._columns[column].vectors(document_ids, name)


class _FileRead(NamedTuple):
    """A file that was read: its documents, and what columns made of them, in order."""

    file: DueFile
    reads: Sequence[DocumentRead]
    columns: Sequence[Mapping[str, DocumentResult]]
    is_complete: bool


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
        self._pending: list[_FileRead] = []
        self._unsettled = 0

    def run(
        self,
        items: Iterable[DueFile | UnchangedDocument],
        executor: Executor,
        recipe: IngestRecipe,
    ) -> None:
        """Have everything done that is due, by an executor with this recipe or its copy.

        Raises:
            CancelledError: see `interruptible`; what was paid for by then is stored.
            EngineError: see `Executor`.
            LedgerError: the ledger cannot be read or written.
        """
        self._is_here = isinstance(executor, Inline)
        try:
            for unit, result in executor.run(work, recipe, self._units(items)):
                if isinstance(result, LostUnit):
                    self._lose(unit, result)
                    continue
                self._tally.take(result)
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
                self._leave(one)
                continue
            if files and (len(files) == MOST_FILES or size + one.size > most):
                yield self._unit(files)
                files, size = [], 0
            if len(self._recipe.stopped) == len(self._columns):  # it would fail as the last did
                self._give_up(one)
                continue
            files.append(one)
            size += one.size
        if files:
            yield self._unit(files)

    def _unit(self, files: Sequence[DueFile]) -> FileUnit:
        dimensions = [None if self._dry_run else one.dimension for one in self._columns]
        known = _KnownHere(self._columns, dimensions)
        return FileUnit(
            tuple(files),
            known if self._is_here else self._known(files, dimensions),
            dict(self._recipe.stopped),
        )

    def _known(self, files: Sequence[DueFile], dimensions: Sequence[int | None]) -> Known:
        """What is stored of files, for a process that cannot ask."""
        twins = [twin for one in files for twin in one.twins]
        ids = [*self._document_ids(files), *self._page_ids(files), *twins]
        documents: dict[tuple[int, str], StoredDocument] = {}
        by_text: dict[tuple[int, str], Mapping[str, Sequence[float]]] = {}
        for number, column in enumerate(self._columns):
            try:
                documents |= {(number, one): row for one, row in column.whole(ids).items()}
                for name in (USUAL, *further_names(self._recipe.steps)):
                    vectors = column.vectors(ids, name)
                    by_text[number, name] = {text: array("f", of) for text, of in vectors.items()}
            except LedgerError:
                raise
            except StoreError:  # whoever writes to it will say so
                continue
        return Known(documents, by_text, dimensions)

    def _document_ids(self, files: Sequence[DueFile]) -> list[str]:
        """Ids of the documents of files, as far as that is known before they are read."""
        places = [one.file.place for one in files if one.file and one.row]
        known = self._ledger.known(self._corpus, places)
        ids = [row.id for of in known.values() for row in of.documents]
        return list(dict.fromkeys([*ids, *map(document_id, places)]))

    def _page_ids(self, files: Sequence[DueFile]) -> Iterator[str]:
        """Ids of the pages of crawls, as another file may have had some: so they are read here."""
        crawls = [
            one.file for one in files if one.file and one.file.path.suffix.lower() in COLLECTIONS
        ]
        if crawls and any(one.dimension for one in self._columns):
            for file in crawls:
                reads = read_listed(file, limits=self._recipe.limits)
                yield from (read.document.id_ for read in reads if read.document)

    def _leave(self, left: UnchangedDocument) -> None:
        """Count a document that is left as it is stored."""
        made = {}
        for column, row in zip(self._columns, left.stored, strict=True):
            made[column.name] = column.remember(DocumentResult.known(left.row.name, row))
            self._tally.count(column.name, made[column.name])
        self._tally.tell("read", left.path, 0, 0)
        self._tally.document(left.position, left.path, left.row, made)

    def _give_up(self, file: DueFile) -> None:
        """Report a file that is not opened, as every parser has given up."""
        ids, stopped = self._document_ids([file]), self._recipe.stopped
        columns = {}
        for one in self._columns:
            there = sum(row.chunks for row in one.known(ids).values())
            columns[one.name] = FileColumn("incomplete", 0, 0, there, stopped[one.name])
        self._tally.tell("read", file.path, 0, 0)
        self._tally.failed(file.position, file.path, None, columns=columns)

    # What was done.

    def _lose(self, unit: FileUnit, lost: LostUnit) -> None:
        """Take down a file that ended every process that worked on it."""
        for file in unit.files:
            why = f"the worker died twice reading it ({lost.reason})"
            read = DocumentRead(None, error=str(ReaderCrashedError(file.path, why)))
            self._tally.tell("read", file.path, 0, 0)
            self._pending.append(_FileRead(file, [read], [], is_complete=True))

    def _apply(self, unit: FileUnit, result: Result) -> None:
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
                self._recipe.stopped.setdefault(column.name, why)
        documents = [one.documents for one in result.columns]
        self._pending += [
            _FileRead(file, reads, documents, is_complete=result.broken is None)
            for file, reads in zip(unit.files, result.reads, strict=False)
        ]
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
            for read in pending:
                if read.file.row and read.is_complete:
                    self._record(read.file.row, read.reads)
        for read in pending:
            self._tell(read)

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

    def _tell(self, read: _FileRead) -> None:
        """Report how the documents of a file ended."""
        position, path = read.file.position, read.file.path
        for one in read.reads:
            if one.error is not None or one.row is None:
                self._tally.failed(position, path, one.error, extra=one.extra, seconds=one.seconds)
                continue
            pairs = zip(self._columns, read.columns, strict=True)
            made = {column.name: of[one.row.id] for column, of in pairs}
            self._tally.document(position, path, one.row, made, one.seconds)
