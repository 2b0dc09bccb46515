"""Progress and counts of a run, by parser, and the rows of its report."""

from __future__ import annotations

import time
from collections import Counter
from importlib.metadata import version
from os.path import basename
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import EmptyFileError
from rag_nodes.embedding import FileColumn, FileOutcome, ParserOutcome, Progress
from rag_nodes.embedding.report import STAGES, StepCounts, timed
from rag_nodes.models.prices import cost_of
from rag_nodes.pipeline.ledger import utc_time
from rag_nodes.pipeline.report import IngestReport

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from contextlib import AbstractContextManager

    from rag_nodes.embedding import FileStatus, Stage
    from rag_nodes.models.prices import Prices
    from rag_nodes.pipeline.ledger import DocumentRow
    from rag_nodes.pipeline.units import DocumentRead, DocumentResult, UnitResult

MOST_ROWS = 10_000
"""From which on documents that ended well have no row: one takes a kilobyte of memory."""


class Tally:
    """Counts what a run does, for its report and for whoever watches; used by one thread.

    `collections` are by label of the parser. `due` documents are those of which something is stored
    by this run, or lacks. `other_engine` counts the files that another PDF engine has read before.
    """

    def __init__(
        self,
        collections: Mapping[str, str],
        model: str,
        prices: Prices,
        progress: Callable[[Progress], None] | None,
        total: int | None = None,
    ) -> None:
        self.columns = {
            name: ParserOutcome(name, collection, seconds=dict.fromkeys(STAGES, 0.0))
            for name, collection in collections.items()
        }
        self.due = dict.fromkeys(collections, 0)
        self._model = model
        self._prices, self._progress, self._total = prices, progress, total
        self._errors = dict.fromkeys(collections, 0)
        self._steps = {name: StepCounts(name, self._cost) for name in collections}
        self._rows: list[tuple[int, int, FileOutcome]] = []
        self._omitted = 0
        self.other_engine = 0
        self._without_keys: dict[str, Collection[str]] = {}
        self._blank: list[str] = []
        self._given: dict[str, Counter[bool]] = {}
        self._counted: dict[int, bool] = {}  # by hashes of what is as long as a path
        self._documents = 0
        self._started, self._started_at = time.perf_counter(), time.time()

    def expect(self, documents: int) -> None:
        """Note how many documents there are, for the time that is left."""
        self._total = documents

    def tell(self, stage: Stage, name: str, chunks: int, tokens: int) -> None:
        """Tell whoever watches that so many more chunks passed a stage, or a file was read."""
        if stage == "read":
            self._documents += 1
            step = self._read(name)
        else:
            if stage == "store":
                self.columns[name].written += chunks
            step = self._steps[name].step(stage, chunks, tokens)
        if self._progress:
            self._progress(step)

    def _read(self, path: str) -> Progress:
        done, total = self._documents, self._total
        each = (time.perf_counter() - self._started) / (done - 1) if done > 1 else None
        rest = each * (total - done + 1) if each and total else None
        name = basename(path.rstrip("/"))  # noqa: PTH119 - of each of a million files
        return Progress("read", name, done, total, seconds_left=rest)

    def add(self, result: UnitResult) -> None:
        """Add what a unit took, before anything of it is stored."""
        for step in result.steps:
            self.tell(*step)
        for column, column_result in zip(self.columns.values(), result.columns, strict=True):
            for error in column_result.errors:
                self.fail(column.parser, error)
            column.embedding_tokens += column_result.embedded
            for stage, seconds in column_result.seconds.items():
                column.seconds[stage] += seconds

    def storing(self, name: str) -> AbstractContextManager[None]:
        """Add the time of the block to the time that storing took."""
        return timed(self.columns[name].seconds, "store")

    def fail(self, name: str, error: str) -> None:
        """Add an error of a column, of which the report says the first."""
        self.columns[name].error = self.columns[name].error or error
        self._errors[name] += 1

    def count(self, name: str, result: DocumentResult) -> None:
        """Add what a column has of a document, each version once; all that say so agree."""
        row, column = result.stored, self.columns[name]
        if result.removed_keys and result.error is None:
            self._without_keys[row.document_id] = result.removed_keys
        key = hash((name, row.document_id, row.version))
        if (touched := self._counted.get(key)) is not None:
            result.touched = touched
            return
        self._counted[key] = result.touched
        column.add(row.counts)
        column.unchanged += row.chunks if result.is_known else 0
        column.saved_tokens += result.saved

    def leave(
        self,
        position: int,
        path: str,
        row: DocumentRow,
        columns: Mapping[str, DocumentResult],
    ) -> None:
        """Count a document of a file that is not opened, and what each column has of it."""
        for name, result in columns.items():
            self.count(name, result)
        self.tell("read", path, 0, 0)
        self.document(position, path, row, columns)

    def document(
        self,
        position: int,
        path: str,
        row: DocumentRow,
        columns: Mapping[str, DocumentResult],
        seconds: float = 0.0,
    ) -> None:
        """Add the row of a document of the file at a position, read in so many seconds."""
        outcomes = {name: _outcome(column) for name, column in columns.items()}
        self._add(position, row.facts.outcome(path, outcomes, seconds))

    def failed(
        self,
        position: int,
        path: str,
        read: DocumentRead,
        columns: Mapping[str, FileColumn] = MappingProxyType({}),
    ) -> None:
        """Add the row of a file that became no document.

        With columns it was not opened, as every parser had given up.
        """
        state: FileStatus = "incomplete" if columns else "failed"
        facts = read.error, read.seconds, None, read.extra, dict(columns)
        self._add(position, FileOutcome(path, state, None, 0, *facts))

    def page(self, path: str, read: DocumentRead, *, is_given: bool) -> None:
        """Note the blank pages of a document, or whether one that was given is a blank page."""
        self._blank += read.blank_pages
        if is_given:
            self._given.setdefault(path, Counter())[read.is_blank_page] += 1

    def _add(self, position: int, row: FileOutcome) -> None:
        for name, column in row.columns.items():
            self.due[name] += column.status != "unchanged"
        if len(self._rows) >= MOST_ROWS and row.status in {"read", "unchanged"}:
            self._omitted += 1
        else:
            self._rows.append((position, len(self._rows), row))

    def report(self, models: str, corpus: str, **facts: Any) -> IngestReport:
        """Return the report: counts, prices and further facts; once, at the end."""
        for name, column in self.columns.items():
            column.conclude(self._errors[name], self._cost)
        for path, pages in self._given.items():
            if pages[True] and not pages[False]:
                self._add(self._documents, _without_text(path, pages[True]))
        return IngestReport(
            files=tuple(row for _, _, row in sorted(self._rows, key=lambda entry: entry[:2])),
            columns=tuple(self.columns.values()),
            seconds=time.perf_counter() - self._started,
            started=utc_time(self._started_at) or "",
            release=version("rag-nodes"),
            models=models,
            corpus=corpus,
            omitted=self._omitted,
            other_engine=self.other_engine,
            removed_keys=tuple(sorted(set().union(*self._without_keys.values()))),
            without_keys=len(self._without_keys),
            blank_pages=tuple(self._blank),
            **facts,
        )

    def _cost(self, tokens: int) -> float | None:
        return cost_of(tokens, 0, self._model, self._prices)


def _without_text(path: str, pages: int) -> FileOutcome:
    """Return the row of a file of which only blank pages were given."""
    reason = f"none of its {pages:,} pages has text" if pages > 1 else "its only page has no text"
    error = EmptyFileError(path, f"{reason}, so nothing of it is stored", "scans need OCR first")
    return FileOutcome(path, "failed", pages, 0, str(error), 0.0, name=basename(path))  # noqa: PTH119


def _outcome(result: DocumentResult) -> FileColumn:
    chunks, previous = result.stored.chunks, result.previous or 0
    if result.is_whole:
        return FileColumn(
            "stored" if result.touched else "unchanged", chunks, chunks, choice=result.choice
        )
    stored = max(0, chunks - result.missing)
    return FileColumn("incomplete", chunks, stored, previous, result.error, result.choice)
