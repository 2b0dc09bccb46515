"""The driver of an ingest: units go to an executor, what comes of them to store and ledger.

For each result: ids are written down, points are stored, what they replace is deleted; and every
few thousand points the store is flushed and the ledger says what is stored whole. A run that is
killed is completed by the next one, see `rag_nodes.pipeline.collections`.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from rag_nodes.errors import ReaderCrashedError
from rag_nodes.executors import Inline, LostUnit
from rag_nodes.hashed import HashedKeys
from rag_nodes.ledger import DocumentRow
from rag_nodes.metadata import USUAL
from rag_nodes.pipeline.deposit import Deposit
from rag_nodes.pipeline.due import LeftDocument, concluded
from rag_nodes.pipeline.known import Asked
from rag_nodes.pipeline.outcomes import failed_row, left_row, read_row, unopened_row
from rag_nodes.pipeline.units import DocumentRead, FileUnit, Unread
from rag_nodes.pipeline.work import work
from rag_nodes.pipeline.writer import ColumnWriter
from rag_nodes.readers import document_id
from rag_nodes.transforms import ChunkWriter, TextJournal, further_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rag_nodes.executors import Executor, PickledRecipe
    from rag_nodes.ledger import FileRow, Ledger
    from rag_nodes.pipeline.collections import IngestCollection
    from rag_nodes.pipeline.recipe import IngestRecipe
    from rag_nodes.pipeline.totals import Totals
    from rag_nodes.pipeline.units import DueFile, FoundDocument, Result

MOST_FILES = 32
"""Files of a unit."""
MOST_BYTES = 1_000_000
"""Their bytes; a larger file is a unit of its own."""
MOST_BYTES_PAID = 200_000
"""The same where they go to a server, or to another process: as much is lost where that dies."""
CHECKPOINT = 2_000
"""Points and documents after which the store is flushed and the ledger settled."""

_FileReads = list[tuple["DueFile", list[DocumentRead]]]
"""Files of a unit, and what became of their documents."""


class Driver:
    """One ingest.

    Args:
        recipe: parsers and models.
        collections: one for each parser, in order.
        ledger: of the store, or one for this run alone.
        totals: counts what is done, and tells it.
        corpus: name of the document set.
        keeps_files: the ledger knows files, too.
        ttl: hours after which a web page is due again; 0 for never.
        dry_run: store nothing, and write nothing down.
    """

    def __init__(
        self,
        recipe: IngestRecipe,
        collections: Sequence[IngestCollection],
        ledger: Ledger,
        totals: Totals,
        *,
        corpus: str,
        keeps_files: bool,
        ttl: float,
        dry_run: bool,
    ) -> None:
        self._recipe, self._collections, self._ledger = recipe, collections, ledger
        self._totals, self._corpus, self._dry_run = totals, corpus, dry_run
        self._keeps_files, self._ttl = keeps_files and not dry_run, ttl
        self._names = list(recipe.parsers)
        self._writers = [
            ColumnWriter(number, name, one, totals, partial(self._stop, name), dry_run=dry_run)
            for number, (name, one) in enumerate(zip(self._names, collections, strict=True))
        ]
        self._again: deque[DueFile] = deque()
        self._redone: set[int] = set()
        self._taken, self._touched = HashedKeys(), HashedKeys()
        self._files: list[tuple[FileRow, list[DocumentRow]]] = []
        self._unsettled = 0

    def run(
        self,
        items: Iterable[DueFile | LeftDocument],
        executor: Executor,
        recipe: IngestRecipe | PickledRecipe,
    ) -> None:
        """Have everything done that is due.

        Args:
            items: all files, in order.
            executor: does the work.
            recipe: what it is given.

        Raises:
            CancelledError: see `interruptible`; what was paid for by then is stored.
            EngineError: see `Executor`.
            LedgerError: the ledger cannot be read or written.
        """
        is_here = isinstance(executor, Inline)
        paid = not (is_here and self._recipe.models.offline)
        most = MOST_BYTES_PAID if paid else MOST_BYTES
        self._recipe.prepare()
        try:
            units = self._units(items, most, in_order=is_here)
            self._do(executor.run(work, recipe, units), is_told=is_here)
            for unit in self._outdated():
                self._do(executor.run(work, recipe, [unit]), is_told=is_here)
        finally:
            self._checkpoint()
        for one in self._writers:
            one.conclude()

    def _do(self, done: Iterable[tuple[FileUnit, Result | LostUnit]], *, is_told: bool) -> None:
        for unit, result in done:
            if isinstance(result, LostUnit):
                self._lose(unit, result)
                continue
            self._totals.take(result, is_told=is_told)
            self._apply(unit, result)
            if result.broken:
                raise result.broken

    def _units(
        self, items: Iterable[DueFile | LeftDocument], most: int, *, in_order: bool
    ) -> Iterator[FileUnit]:
        """The files that are due, a few at a time; the others are counted.

        Args:
            items: all files.
            most: bytes of a unit.
            in_order: each unit is stored before the next one is asked for.
        """
        files: list[DueFile] = []
        size = 0
        for one in items:
            if isinstance(one, LeftDocument):
                self._leave(one)
                continue
            if files and (len(files) == MOST_FILES or size + one.size > most):
                yield self._unit(files)
                files, size = [], 0
            if in_order:
                yield from self._outdated()
            if len(self._recipe.stopped) == len(self._names):  # it would fail as the last did
                row = unopened_row(one.path, self._recipe.stopped, self._former_chunks(one))
                self._totals.passed(one.path)
                self._totals.row(one.position, row)
                continue
            files.append(one)
            size += one.size
        if files:
            yield self._unit(files)

    def _outdated(self) -> Iterator[FileUnit]:
        """Each file that has to be done again, alone, so that what is looked up stays true."""
        while self._again:
            file = self._again.popleft()
            self._redone.add(file.position)
            yield self._unit([file])

    def _unit(self, files: Sequence[DueFile]) -> FileUnit:
        def documents() -> list[str]:
            return [*self._documents(files), *(twin for one in files for twin in one.twins)]

        names = [USUAL, *further_names(self._recipe.steps)]
        known = Asked(self._collections, documents, names)
        return FileUnit(tuple(files), known, dict(self._recipe.stopped))

    def _documents(self, files: Iterable[DueFile]) -> list[str]:
        """Those that may be stored of files, as far as that is known before they are read."""
        places = [one.file.place for one in files if one.file and one.row]
        known = self._ledger.known(self._corpus, places)
        ids = [row.id for of in known.values() for row in of.documents]
        return [*dict.fromkeys([*ids, *map(document_id, places)])]

    def _former_chunks(self, file: DueFile) -> dict[str, int]:
        """Chunks that are stored of a file that is not opened, by parser."""
        documents = self._documents([file])
        return {
            name: sum(row.chunks for row in writer.whole(documents).values())
            for name, writer in zip(self._names, self._writers, strict=True)
        }

    def _leave(self, left: LeftDocument) -> None:
        """Count a document that is left as it is stored."""
        columns = {}
        for number, row in enumerate(left.deposits):
            deposit = Deposit(row.document_id, left.row.name, row.version, is_known=True)
            deposit.counts.join(row)
            deposit.kept, deposit.spared = row.chunks, row.tokens
            if self._is_new(number, deposit):
                self._totals.count(number, deposit)
            if row.error is not None:  # of another version, or of a run that was killed
                self._writers[number].later([deposit])
            columns[self._names[number]] = deposit.outcome()
        self._totals.passed(left.path)
        self._totals.row(left.position, left_row(left.path, left.row, columns))

    def _lose(self, unit: FileUnit, lost: LostUnit) -> None:
        """Take down a file that ended every process that worked on it."""
        for file in unit.files:
            why = f"the worker died twice reading it ({lost.reason})"
            unread = Unread(str(ReaderCrashedError(file.path, why)))
            self._totals.passed(file.path)
            self._totals.row(file.position, failed_row(file.path, DocumentRead(None, unread, 0.0)))
            if file.row:
                self._files.append((concluded(file.row, [], [unread]), []))

    def _apply(self, unit: FileUnit, result: Result) -> None:
        """Store what came of a unit."""
        self._keep_texts(result)
        for name, column in zip(self._names, result.columns, strict=True):
            if column.stopped:
                self._stop(name, column.stopped)
        reads = self._still_true(unit, result)
        deposits = self._unique(reads)
        points = [one.points for one in result.columns]
        work = list(zip(self._writers, deposits, points, strict=True))
        former = [one.listed(own) for one, own, _ in work]
        if not self._dry_run:
            with self._ledger.transaction():
                self._announce(reads)
                for (one, own, new), there in zip(work, former, strict=True):
                    one.intend(own, there, new)
        for (one, own, new), there in zip(work, former, strict=True):
            self._unsettled += len(own) + one.store(own, there, new)
        self._count(reads, deposits, is_complete=result.broken is None)
        if self._unsettled >= CHECKPOINT:
            self._checkpoint()

    def _stop(self, name: str, why: str) -> None:
        """Have a column do nothing more, for the same reason."""
        self._recipe.stopped.setdefault(name, why)

    def _keep_texts(self, result: Result) -> None:
        """Put what LLMs wrote on machines without a journal into those of this one."""
        kept = (one.journal for one in self._recipe.steps if isinstance(one, ChunkWriter))
        journals = {str(one.path): one for one in kept if isinstance(one, TextJournal)}
        for path, texts in result.written.items():
            for key, text in texts:
                journals[path].add(key, text)

    def _still_true(self, unit: FileUnit, result: Result) -> _FileReads:
        """What became of the files; those are done again of which it is not true any more.

        Two files may have the same page, each as it was when they were crawled: then what was
        looked up of the second changed when the first was stored.
        """
        reads = []
        seen: dict[tuple[int, str], str] = {}
        for file, of in zip(unit.files, result.reads, strict=False):
            own = [(number, one) for read in of for number, one in enumerate(read.deposits)]
            versions = {(number, one.document_id): one.version for number, one in own}
            is_outdated = any(self._is_outdated(number, one) for number, one in own)
            is_outdated |= any(seen.get(key, one) != one for key, one in versions.items())
            if is_outdated and file.position not in self._redone:
                self._again.append(file)
                # After it whatever came later, be it what is stored now.
                seen.update(dict.fromkeys(versions, ""))
            else:
                seen.update(versions)
                reads.append((file, of))
        return reads

    def _is_outdated(self, number: int, deposit: Deposit) -> bool:
        """Whether another version of the document was stored since it was looked up."""
        taken = self._taken.get((number, deposit.document_id))
        claims = deposit.is_known or deposit.kept
        return bool(claims) and taken is not None and taken != _number_of(deposit.version)

    def _is_new(self, number: int, deposit: Deposit) -> bool:
        """Whether this version was not counted yet, which it is from now on."""
        key = number, deposit.document_id, deposit.version
        self._taken.put(key[:2], _number_of(deposit.version))
        if (touched := self._touched.get(key)) is not None:
            deposit.touched = bool(touched)
            return False
        self._touched.put(key, int(deposit.touched))
        return True

    def _unique(self, reads: _FileReads) -> list[list[Deposit]]:
        """The deposits of each column, each once."""
        found: list[dict[int, Deposit]] = [{} for _ in self._names]
        for _, of in reads:
            for read in of:
                for number, deposit in enumerate(read.deposits):
                    found[number][id(deposit)] = deposit
        return [list(one.values()) for one in found]

    def _announce(self, reads: _FileReads) -> None:
        """Write down of which file documents are, before anything of them is stored."""
        for file, of in reads:
            for read in of:
                if self._keeps_files and file.row and read.found:
                    self._ledger.announce(self._document_row(file.row, read.found))

    def _count(
        self, reads: _FileReads, deposits: Sequence[Sequence[Deposit]], *, is_complete: bool
    ) -> None:
        """Count what was stored, and have it written down at the next checkpoint."""
        for number, own in enumerate(deposits):
            for one in own:
                if self._is_new(number, one):
                    self._totals.count(number, one)
            self._writers[number].later(own)
        for file, of in reads:
            for read in of:
                pairs = zip(self._names, read.deposits, strict=False)
                columns = {name: deposit.outcome() for name, deposit in pairs}
                self._totals.row(file.position, read_row(file.path, read, columns))
            if file.row and is_complete:
                self._files.append(self._recorded(file.row, of))

    def _checkpoint(self) -> None:
        """Have the store keep what it was given, then say in the ledger what is stored whole."""
        files, self._files, self._unsettled = self._files, [], 0
        if self._dry_run:
            return
        for one in self._writers:
            one.flush()
        with self._ledger.transaction():
            for one in self._writers:
                one.settle()
            for row, documents in files if self._keeps_files else ():
                self._ledger.record(row, documents)

    def _recorded(
        self, file: FileRow, reads: Iterable[DocumentRead]
    ) -> tuple[FileRow, list[DocumentRow]]:
        documents = {
            one.found.id: self._document_row(file, one.found)
            for one in reads
            if one.found and not one.unread
        }
        unread = [one.unread for one in reads if one.unread]
        return concluded(file, [*documents.values()], unread), [*documents.values()]

    def _document_row(self, file: FileRow, found: FoundDocument) -> DocumentRow:
        is_web = str(found.source).startswith(("http://", "https://"))
        expires_at = self._ledger.clock() + self._ttl * 3600 if is_web and self._ttl else None
        return DocumentRow(file.corpus, file.path, *found, expires_at)


def _number_of(version: str) -> int:
    """What tells versions of a document apart, in 32 bits."""
    return hash(version) & 0xFFFFFFFF
