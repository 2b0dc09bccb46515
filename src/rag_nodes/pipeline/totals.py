"""What a run has done so far: counted by column, told while it goes on, and reported at the end."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import contextmanager
from os.path import basename
from typing import TYPE_CHECKING

from rag_nodes.models.prices import cost_of
from rag_nodes.pipeline.deposit import Counts
from rag_nodes.pipeline.failures import summary
from rag_nodes.pipeline.report import FileOutcome, ParserOutcome, Progress, WriterOutcome
from rag_nodes.transforms import ChunkWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices
    from rag_nodes.pipeline.deposit import Deposit
    from rag_nodes.pipeline.recipe import IngestRecipe
    from rag_nodes.pipeline.report import Stage
    from rag_nodes.pipeline.units import Result


class _ColumnTotals:
    """Running totals of one column."""

    def __init__(self, collection: str) -> None:
        self.collection = collection
        self.counts = Counts()
        self.errors: list[str] = []
        self.seconds: dict[str, float] = defaultdict(float)
        self.cut = self.told = self.wanted = self.written = 0
        self.unchanged = self.deleted = self.spared = self.embedded = 0


class Totals:
    """The totals of a run, used by one thread.

    Args:
        recipe: parsers, models and transformations.
        collections: of the parsers, in order.
        prices: US dollars per million tokens by model, over the built-in table.
        progress: called after every step.
        most_rows: rows from which on documents that ended well have none; None to keep all.
        total: documents of the run, where that is known.

    Attributes:
        omitted: documents that ended well and have no row.
        due: documents of which something is stored by this run, or lacks, by parser.
    """

    def __init__(
        self,
        recipe: IngestRecipe,
        collections: Sequence[str],
        prices: Prices,
        progress: Callable[[Progress], None] | None,
        *,
        most_rows: int | None = None,
        total: int | None = None,
    ) -> None:
        self._models: Models = recipe.models
        self._columns = dict(zip(recipe.parsers, map(_ColumnTotals, collections), strict=True))
        self._by_number = list(self._columns.values())
        self._writers = [one for one in recipe.steps if isinstance(one, ChunkWriter)]
        self._spent = [[0, 0, 0] for _ in self._writers]
        self._prices, self._progress = prices, progress
        self._most_rows, self._total = most_rows, total
        self._rows: list[tuple[int, int, FileOutcome]] = []
        self._documents = 0
        self._started = time.perf_counter()
        self.omitted = 0
        self.due = dict.fromkeys(recipe.parsers, 0)

    def tell(self, stage: Stage, name: str, chunks: int, tokens: int = 0) -> None:
        """Report a step of the work to whoever watches.

        Args:
            stage: what was done.
            name: file or parser.
            chunks: how many more passed it.
            tokens: that were embedded for them.
        """
        if stage == "read":
            self.passed(name)
            return
        one = self._columns[name]
        if stage == "parse":
            one.cut += chunks
            self._report(Progress(stage, name, one.cut, None, one.told, self._cost(one.told)))
            return
        one.told += tokens
        one.wanted += chunks
        self._report(Progress(stage, name, one.wanted, one.wanted, one.told, self._cost(one.told)))

    def passed(self, path: str) -> None:
        """Report that one more document was read, or left."""
        self._documents += 1
        done, total = self._documents, self._total
        each = (time.perf_counter() - self._started) / (done - 1) if done > 1 else None
        rest = each * (total - done + 1) if each and total else None
        name = basename(path.rstrip("/"))  # noqa: PTH119 - of each of a million files
        self._report(Progress("read", name, done, total, seconds_left=rest))

    def take(self, result: Result, *, is_told: bool) -> None:
        """Add what a unit took, before anything of it is stored.

        Args:
            result: of the unit.
            is_told: its steps were told while they were done, in this process.
        """
        for of in () if is_told else result.reads:
            for read in of:
                self.passed(read.found.name if read.found else "")
        for number, (name, one) in enumerate(self._columns.items()):
            column = result.columns[number]
            if not is_told:
                deposits = [r.deposits[number] for of in result.reads for r in of if r.deposits]
                self.tell("parse", name, sum(d.counts.chunks for d in deposits if d.is_cut))
                points = sum(point.vector is not None for point in column.points)
                self.tell("embed", name, points, column.embedded)
            one.errors += column.errors
            one.embedded += column.embedded
            for stage, seconds in column.seconds.items():
                one.seconds[stage] += seconds
        for number, spent in result.spent.items():
            self._spent[number] = [a + b for a, b in zip(self._spent[number], spent, strict=True)]

    def count(self, number: int, deposit: Deposit) -> None:
        """Add what a column has of a document."""
        one = self._by_number[number]
        one.counts.join(deposit.counts)
        one.unchanged += deposit.kept
        one.spared += deposit.spared

    def stored(self, number: int, chunks: int) -> None:
        """Add chunks that were stored."""
        one = self._by_number[number]
        one.written += chunks
        name = list(self._columns)[number]
        done = Progress(
            "store", name, one.written, max(one.wanted, one.written), one.told, self._cost(one.told)
        )
        self._report(done)

    def deleted(self, number: int, nodes: int) -> None:
        """Add nodes that were deleted."""
        self._by_number[number].deleted += nodes

    def note(self, number: int, error: str) -> None:
        """Add an error of a column."""
        self._by_number[number].errors.append(error)

    @contextmanager
    def timed(self, number: int, stage: Stage) -> Iterator[None]:
        """Add the time of the block to a stage of a column."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._by_number[number].seconds[stage] += time.perf_counter() - started

    def row(self, position: int, row: FileOutcome) -> None:
        """Add the row of a document; documents of one file share a position."""
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
    def columns(self) -> tuple[ParserOutcome, ...]:
        """What became of each column."""
        return tuple(self._outcome(name, one) for name, one in self._columns.items())

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

    def _outcome(self, name: str, one: _ColumnTotals) -> ParserOutcome:
        counts = one.counts
        return ParserOutcome(
            parser=name,
            collection=one.collection,
            chunks=counts.chunks,
            tokens=counts.tokens,
            mean_tokens=counts.tokens / counts.chunks if counts.chunks else 0.0,
            max_tokens=counts.largest,
            parents=counts.parents,
            written=one.written,
            unchanged=one.unchanged,
            deleted=one.deleted,
            seconds={stage: one.seconds[stage] for stage in ("parse", "embed", "store")},
            error=summary(one.errors),
            unplaced=counts.unplaced,
            embedding_tokens=one.embedded,
            embedding_cost=self._cost(one.embedded),
            spared_tokens=one.spared,
            spared_cost=self._cost(one.spared),
        )

    def _cost(self, tokens: int) -> float | None:
        return cost_of(tokens, 0, self._models.embedding_name, self._prices)

    def _report(self, step: Progress) -> None:
        if self._progress:
            self._progress(step)
