"""What a run has done so far: counted by column, told while it goes on, and reported at the end."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import contextmanager
from os.path import basename
from typing import TYPE_CHECKING

from rag_nodes.models.prices import cost_of
from rag_nodes.pipeline.failures import summary
from rag_nodes.pipeline.report import FileOutcome, ParserOutcome, Progress, WriterOutcome
from rag_nodes.transforms import ChunkWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rag_nodes.ledger import DocumentRow
    from rag_nodes.models.prices import Prices
    from rag_nodes.pipeline.recipe import IngestRecipe
    from rag_nodes.pipeline.report import FileColumn, FileStatus, Stage
    from rag_nodes.pipeline.units import DocumentResult, Result


class ColumnTotals:
    """Running totals of one column; parents hold the same text again and count apart."""

    def __init__(self) -> None:
        self.collection = ""
        self.chunks = self.tokens = self.largest = self.parents = self.unplaced = 0
        self.cut = self.told = self.wanted = self.written = 0
        self.unchanged = self.deleted = self.spared = self.embedded = 0
        self.errors: list[str] = []
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        """Add the time of the block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += time.perf_counter() - started


class ReportBuilder:
    """Makes the report of a run; used by one thread.

    Args:
        recipe: parsers, models and transformations.
        prices: US dollars per million tokens by model, over the built-in table.
        progress: called after every step.
        most_rows: rows from which on documents that ended well have none; None to keep all.
        total: documents of the run, where that is known.

    Attributes:
        columns: totals, by parser.
        omitted: documents that ended well and have no row.
        due: documents of which something is stored by this run, or lacks, by parser.
    """

    def __init__(
        self,
        recipe: IngestRecipe,
        prices: Prices,
        progress: Callable[[Progress], None] | None,
        *,
        most_rows: int | None = None,
        total: int | None = None,
    ) -> None:
        self.columns = {name: ColumnTotals() for name in recipe.parsers}
        self.omitted = 0
        self.due = dict.fromkeys(recipe.parsers, 0)
        self._model = recipe.models.embedding_name
        self._writers = [one for one in recipe.steps if isinstance(one, ChunkWriter)]
        self._spent = [[0, 0, 0] for _ in self._writers]
        self._prices, self._progress = prices, progress
        self._most_rows, self._total = most_rows, total
        self._rows: list[tuple[int, int, FileOutcome]] = []
        self._counted: dict[int, bool] = {}  # by hashes of what is as long as a path
        self._documents = 0
        self._started = time.perf_counter()

    def tell(self, stage: Stage, name: str, chunks: int, tokens: int) -> None:
        """Report a step of the work to whoever watches.

        Args:
            stage: what was done.
            name: file or parser.
            chunks: how many more passed it.
            tokens: that were embedded for them.
        """
        if stage == "read":
            self._read(name)
            return
        one = self.columns[name]
        one.told += tokens
        if stage == "parse":
            one.cut += chunks
            done, total = one.cut, None
        elif stage == "embed":
            one.wanted += chunks
            done = total = one.wanted
        else:
            one.written += chunks
            done, total = one.written, max(one.wanted, one.written)
        self._report(Progress(stage, name, done, total, one.told, self._cost(one.told)))

    def _read(self, path: str) -> None:
        """Report that one more document was read, or left."""
        self._documents += 1
        done, total = self._documents, self._total
        each = (time.perf_counter() - self._started) / (done - 1) if done > 1 else None
        rest = each * (total - done + 1) if each and total else None
        name = basename(path.rstrip("/"))  # noqa: PTH119 - of each of a million files
        self._report(Progress("read", name, done, total, seconds_left=rest))

    def take(self, result: Result) -> None:
        """Add what a unit took, before anything of it is stored."""
        for step in result.steps:
            self.tell(*step)
        for one, made in zip(self.columns.values(), result.columns, strict=True):
            one.errors += made.errors
            one.embedded += made.embedded
            for stage, seconds in made.seconds.items():
                one.seconds[stage] += seconds
        for number, spent in result.spent.items():
            self._spent[number] = [a + b for a, b in zip(self._spent[number], spent, strict=True)]

    def count(self, name: str, made: DocumentResult) -> None:
        """Add what a column has of a document, each version once; all that say so agree."""
        row, one = made.stored, self.columns[name]
        key = hash((name, row.document_id, row.version))
        if (touched := self._counted.get(key)) is not None:
            made.touched = touched
            return
        self._counted[key] = made.touched
        one.chunks += row.chunks
        one.tokens += row.tokens
        one.largest = max(one.largest, row.largest)
        one.parents += row.parents
        one.unplaced += row.unplaced
        one.unchanged += row.chunks if made.is_known else 0
        one.spared += made.spared

    def document(
        self,
        position: int,
        path: str,
        row: DocumentRow,
        columns: Mapping[str, DocumentResult],
        seconds: float = 0.0,
    ) -> None:
        """Add the row of a document.

        Args:
            position: of its file; documents of one file share it.
            path: of its file as found, or its source.
            row: the document.
            columns: what became of it, by parser.
            seconds: that reading it took.
        """
        outcomes = {name: made.outcome() for name, made in columns.items()}
        self._add(
            position,
            FileOutcome(
                path=path,
                status=_status(row.warnings, outcomes),
                pages=row.pages,
                characters=row.characters,
                error=row.warnings,
                seconds=seconds,
                document_id=row.id,
                columns=outcomes,
                name=row.name,
                source=row.source,
            ),
        )

    def failed(
        self,
        position: int,
        path: str,
        error: str | None,
        *,
        columns: Mapping[str, FileColumn] | None = None,
        extra: str | None = None,
        seconds: float = 0.0,
    ) -> None:
        """Add the row of a file that became no document.

        Args:
            position: of the file.
            path: of the file as found.
            error: why it could not be read.
            columns: what is stored of it, where it was not opened as every parser had given up.
            extra: of rag-nodes that would read it.
            seconds: that reading it took.
        """
        self._add(
            position,
            FileOutcome(
                path=path,
                status="incomplete" if columns else "failed",
                pages=None,
                characters=0,
                error=error,
                seconds=seconds,
                missing_extra=extra,
                columns=dict(columns or {}),
            ),
        )

    def _add(self, position: int, row: FileOutcome) -> None:
        for name, column in row.columns.items():
            self.due[name] += column.status != "unchanged"
        is_full = self._most_rows is not None and len(self._rows) >= self._most_rows
        if is_full and row.status in {"read", "unchanged"}:
            self.omitted += 1
        else:
            self._rows.append((position, len(self._rows), row))

    @property
    def rows(self) -> tuple[FileOutcome, ...]:
        """All rows that were kept, in the order of the files."""
        return tuple(row for _, _, row in sorted(self._rows, key=lambda one: one[:2]))

    @property
    def parsers(self) -> tuple[ParserOutcome, ...]:
        """What became of each column."""
        return tuple(self._outcome(name, one) for name, one in self.columns.items())

    @property
    def writers(self) -> tuple[WriterOutcome, ...]:
        """What LLMs wrote about chunks."""
        found = []
        for step, (requests, read, written) in zip(self._writers, self._spent, strict=True):
            if requests:
                model = step.priced_name
                cost = cost_of(read, written, model, self._prices)
                found.append(WriterOutcome(step.class_name(), model, requests, read, written, cost))
        return tuple(found)

    def _outcome(self, name: str, one: ColumnTotals) -> ParserOutcome:
        return ParserOutcome(
            parser=name,
            collection=one.collection,
            chunks=one.chunks,
            tokens=one.tokens,
            mean_tokens=one.tokens / one.chunks if one.chunks else 0.0,
            max_tokens=one.largest,
            parents=one.parents,
            written=one.written,
            unchanged=one.unchanged,
            deleted=one.deleted,
            seconds={stage: one.seconds[stage] for stage in ("parse", "embed", "store")},
            error=summary(one.errors),
            unplaced=one.unplaced,
            embedding_tokens=one.embedded,
            embedding_cost=self._cost(one.embedded),
            spared_tokens=one.spared,
            spared_cost=self._cost(one.spared),
        )

    def _cost(self, tokens: int) -> float | None:
        return cost_of(tokens, 0, self._model, self._prices)

    def _report(self, step: Progress) -> None:
        if self._progress:
            self._progress(step)


def _status(warnings: str | None, columns: Mapping[str, FileColumn]) -> FileStatus:
    found = {one.status for one in columns.values()}
    if "incomplete" in found:
        return "incomplete"
    if found == {"unchanged"}:
        return "unchanged"
    return "partial" if warnings else "read"
