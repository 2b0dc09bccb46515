"""One ingest: units of files go to an executor, what comes of them to store and ledger.

For each result: its documents are opened in the ledger, points are stored, what they replace is
deleted; and every few thousand points the store is flushed and the ledger says what is stored
whole. A run that is killed is completed by the next one, see `rag_nodes.pipeline.columns`.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from contextlib import ExitStack, closing, contextmanager
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Self

from llama_index.core import instrumentation

from rag_nodes.core.errors import ConfigurationError, ReaderCrashedError
from rag_nodes.core.several import several
from rag_nodes.embedding import FileColumn, UserTransformations, embedded_as
from rag_nodes.models.executors import Inline, LostUnit
from rag_nodes.parsers import as_parser
from rag_nodes.pipeline.columns import IngestColumn
from rag_nodes.pipeline.due import DueFiles
from rag_nodes.pipeline.from_store import StoredDocuments
from rag_nodes.pipeline.ledger import WEB_HOURS, Ledger, ledger_path
from rag_nodes.pipeline.recipe import (
    IngestRecipe,
    Origins,
    collection_row,
    collections_of,
    kept_beside,
)
from rag_nodes.pipeline.tally import Tally
from rag_nodes.pipeline.units import DocumentRead, FileUnit, UnitResult
from rag_nodes.pipeline.work import work
from rag_nodes.readers import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llama_index.core.schema import TransformComponent

    from rag_nodes.core.metadata import EmbeddedAs
    from rag_nodes.embedding import Progress
    from rag_nodes.embedding.build import Parse
    from rag_nodes.models import Models
    from rag_nodes.models.executors import Executor
    from rag_nodes.models.prices import Prices
    from rag_nodes.pipeline.assigned import FileMetadata
    from rag_nodes.pipeline.ledger import StoredDocument
    from rag_nodes.pipeline.report import IngestReport
    from rag_nodes.pipeline.units import DueFile
    from rag_nodes.readers import ListedFile
    from rag_nodes.store import Store

dispatcher = instrumentation.get_dispatcher(__name__)  # type: ignore[attr-defined] # re-exported
MOST_FILES = 32
"""Files of a unit."""
MOST_BYTES = 1_000_000
"""Their bytes; a larger file is a unit of its own."""
MOST_BYTES_PAID = 200_000
"""The same where they go to a server, or to another process: as much is lost where that dies."""
CHECKPOINT = 2_000
"""Points and documents after which the store is flushed and the ledger settled."""


class IngestRun:
    """One ingest: what it is made of, and how it goes. See `ingest` for what is given.

    Attributes:
        ledger: of the store, or one for this run alone.
        keeps_ledger: it is of the store.
    """

    def __init__(  # noqa: PLR0913 - what a run is made of, by name
        self,
        parsers: Mapping[str, object],
        store: Store,
        models: Models,
        transformations: Sequence[TransformComponent],
        ledger: Ledger | str | Path | None,
        *,
        text: EmbeddedAs,
        embed_metadata: str | Sequence[str],
        own: FileMetadata,
        corpus: str,
        prices: Prices,
        progress: Callable[[Progress], None] | None,
        limits: Limits | None = None,
        parse: Parse | None = None,
        dry_run: bool = False,
        total: int | None = None,
    ) -> None:
        span_parsers = {name: as_parser(parser) for name, parser in _checked(parsers).items()}
        names = collections_of(span_parsers, corpus, models)
        place = ledger.path if isinstance(ledger, Ledger) else ledger_path(store.location, ledger)
        self._corpus, self._models, self._dry_run, self._names = corpus, models, dry_run, names
        self._store = store
        self._estimated: tuple[str, ...] = ()
        self._pending: list[tuple[DueFile, Sequence[DocumentRead], UnitResult]] = []
        self._stopped: dict[str, str] = {}
        self._unsettled = 0
        with ExitStack() as stack:
            self.keeps_ledger = place is not None
            self.ledger = stack.enter_context(_opened(ledger, place, dry_run=dry_run))
            is_paid = text == "summary" and models.llm is not None and not dry_run
            kept = kept_beside(place) if is_paid else None
            given = UserTransformations(transformations).steps
            steps = embedded_as(text, given, models.llm, kept, metadata=several(embed_metadata))
            bounds = limits or Limits()
            self._origins = origins = Origins.of(span_parsers, models.embedding, steps, bounds.ocr)
            if dry_run:
                from rag_nodes.pipeline.dry_run import rehearsal

                models, steps, parse, self._estimated = stack.enter_context(
                    rehearsal(span_parsers, models, steps)
                )
            self._recipe = IngestRecipe(span_parsers, models, steps, bounds, origins, parse)
            self._tally = Tally(names, models.embedding_name, prices, progress, total)
            entries = {row.name: row for row in self.ledger.collections(corpus)}
            rows = {
                name: collection_row(names[name], parser, corpus, models, entries.get(names[name]))
                for name, parser in span_parsers.items()
            }
            self._new = {row.parser for row in rows.values() if row.name not in entries}
            self._columns = [
                IngestColumn(
                    name,
                    row,
                    store,
                    self.ledger,
                    self._tally,
                    code=origins.codes[name],
                    dry_run=dry_run,
                )
                for name, row in rows.items()
            ]
            self._due = DueFiles(
                self.ledger, self._columns, self._tally, corpus, bounds, origins, own
            )
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        """The run itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close what was opened for it."""
        self._stack.close()

    def due(self, files: Iterable[ListedFile]) -> Iterator[DueFile]:
        """Yield the files that are to be opened; the others are counted."""
        return self._due.of(files)

    def due_from_store(self) -> Iterator[DueFile]:
        """Yield the documents whose stored chunks are to be embedded; the others are counted.

        Raises:
            ConfigurationError: no chunks of a parser are stored.
        """
        parts = self._store, self.ledger, self._columns, self._tally, self._corpus, self._origins
        return StoredDocuments(*parts).due()

    @dispatcher.span
    def execute(
        self, files: Iterable[DueFile], *, ttl: float = WEB_HOURS, executor: Executor | None = None
    ) -> IngestReport:
        """Read, split, embed and store what is due, by an executor that is closed then.

        Web pages are due again after `ttl` hours, or never for 0.

        Raises:
            CancelledError: see `interruptible`; what was paid for by then is stored.
            EngineError: see `Executor`.
            LedgerError: the ledger cannot be read or written.
        """
        self._ttl = ttl
        with closing(executor or Inline()) as opened:
            self._run(files, opened)
        held = [
            collection
            for collection in self.ledger.collections(self._corpus)
            if collection.documents
        ]
        named = self._names.values()
        current = [collection for collection in held if collection.name in named]
        return self._tally.report(
            self._models.describe(),
            self._corpus,
            superseded=tuple(
                collection
                for collection in held
                if collection.parser in self._new
                and collection.name not in named
                and any(
                    new.parser == collection.parser and new.documents >= collection.documents
                    for new in current
                )
            ),
            dry_run=self._dry_run,
            due=self._tally.due if self._dry_run else {},
            estimated=self._estimated,
            unhashable=self._origins.unhashable,
        )

    def _run(self, files: Iterable[DueFile], executor: Executor) -> None:
        """Have everything done that is due; other processes get a copy of the recipe."""
        recipe, is_here = self._recipe, isinstance(executor, Inline)
        if is_here:
            recipe.tell = self._tally.tell
        else:
            recipe = recipe.for_workers(is_remote=executor.is_remote)
        most = MOST_BYTES if is_here and recipe.models.offline else MOST_BYTES_PAID
        try:
            for unit, result in executor.run(work, recipe, self._units(files, most)):
                if isinstance(result, LostUnit):
                    self._lose(unit, result)
                    continue
                self._tally.add(result)
                self.store(unit, result)
                if result.broken:
                    raise result.broken
        finally:
            self._checkpoint()
        for column in self._columns:
            column.conclude()

    # What is due.

    def _units(self, due: Iterable[DueFile], most: int) -> Iterator[FileUnit]:
        """The files that are due, a few at a time, of so many bytes."""
        files: list[DueFile] = []
        size = 0
        for file in due:
            if files and (len(files) == MOST_FILES or size + file.size > most):
                yield self._unit(files)
                files, size = [], 0
            if len(self._stopped) == len(self._columns):  # it would fail as the last did
                self._give_up(file)
                continue
            files.append(file)
            size += file.size
        if files:
            yield self._unit(files)

    def _unit(self, files: Sequence[DueFile]) -> FileUnit:
        """A unit with all that is known of its documents: who does it cannot ask."""
        dimensions = [column.dimension for column in self._columns]
        ids = self._due.document_ids(files, is_read=any(dimensions))
        documents: dict[tuple[int, str], StoredDocument] = {}
        vectors: dict[int, Mapping[str, Sequence[float]]] = {}
        for number, column in enumerate(self._columns):
            documents |= {
                (number, document_id): row for document_id, row in column.stored_whole(ids).items()
            }
            pairs = column.vectors(ids).items()
            vectors[number] = {text: array("f", vector) for text, vector in pairs}
            if column.stopped:
                self._stopped.setdefault(column.name, column.stopped)
        if self._dry_run:  # whose models make vectors of another length
            dimensions = [None] * len(dimensions)
        return FileUnit(tuple(files), documents, vectors, dimensions, dict(self._stopped))

    def _give_up(self, file: DueFile) -> None:
        """Report a file that is not opened, as every parser has given up."""
        ids, columns = self._due.document_ids([file]), {}
        for column in self._columns:
            count = sum(row.chunks for row in column.stored_whole(ids).values())
            columns[column.name] = FileColumn("incomplete", 0, 0, count, self._stopped[column.name])
        self._tally.tell("read", file.path, 0, 0)
        self._tally.failed(file.position, file.path, DocumentRead(None), columns)

    # What was done.

    def _lose(self, unit: FileUnit, lost: LostUnit) -> None:
        """Take down a file that ended every process that worked on it."""
        for file in unit.files:
            why = f"the worker died twice reading it ({lost.reason})"
            read = DocumentRead(None, error=str(ReaderCrashedError(file.path, why)))
            self._tally.tell("read", file.path, 0, 0)
            self._pending.append((file, [read], UnitResult([])))

    @dispatcher.span
    def store(self, unit: FileUnit, result: UnitResult) -> None:
        """Store what came of a unit."""
        parts = list(zip(self._columns, result.columns, strict=True))
        paths = {file.row.id: file.row.path for reads in result.reads for file in reads if file.row}
        if not self._dry_run:
            with self.ledger.transaction():
                for column, part in parts:
                    column.open(part, paths)
        for column, part in parts:
            points = column.rehearse(part) if self._dry_run else column.write(part)
            self._unsettled += len(part.documents) + points
            for document in part.documents.values():
                self._tally.count(column.name, document)
            if why := part.stopped or column.stopped:
                self._stopped.setdefault(column.name, why)
        self._pending += zip(unit.files, result.reads, repeat(result))
        if self._unsettled >= CHECKPOINT:
            self._checkpoint()

    def _checkpoint(self) -> None:
        """Have the store keep what it was given, then say in the ledger what is stored whole."""
        pending, self._pending, self._unsettled = self._pending, [], 0
        for column in self._columns:
            column.flush()
        with self.ledger.transaction():
            for column in self._columns:
                column.settle()
            for file, reads, result in pending:
                if file.row and not result.broken:
                    self._due.record(file.row, reads, self._ttl)
        for one_read in pending:
            self._tell(*one_read)

    def _tell(self, file: DueFile, reads: Sequence[DocumentRead], result: UnitResult) -> None:
        """Report how the documents of a file ended."""
        for read in reads:
            self._tally.page(file.path, read, is_given=file.document is not None)
            if read.is_blank_page:
                continue
            if read.error is not None or read.row is None:
                self._tally.failed(file.position, file.path, read)
                continue
            pairs = zip(self._columns, result.columns, strict=True)
            results = {column.name: part.documents[read.row.id] for column, part in pairs}
            self._tally.document(file.position, file.path, read.row, results, read.seconds)


def _checked(parsers: Mapping[str, object]) -> Mapping[str, object]:
    if not isinstance(parsers, Mapping) or not parsers:
        raise ConfigurationError("give at least one parser by name: {'retrieval': parser}")
    return parsers


@contextmanager
def _opened(
    ledger: Ledger | str | Path | None, place: Path | None, *, dry_run: bool
) -> Iterator[Ledger]:
    """The ledger of a store; what is opened here is closed, and what is the caller's is not."""
    if isinstance(ledger, Ledger) and not dry_run:
        yield ledger
        return
    with Ledger.scratch(place) if dry_run and place else Ledger(place or ":memory:") as opened:
        yield opened
