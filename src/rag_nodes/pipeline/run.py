"""One ingest run: every document that arrives goes through all columns before the next is read."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from os.path import basename
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError
from rag_nodes.ledger import CollectionRow
from rag_nodes.models.prices import cost_of
from rag_nodes.parsers import as_parser
from rag_nodes.pipeline.books import Books
from rag_nodes.pipeline.build import column_pipeline
from rag_nodes.pipeline.column import ColumnRun
from rag_nodes.pipeline.dry_run import cut_unasked, is_estimated, rehearsed_steps
from rag_nodes.pipeline.found import FoundDocument
from rag_nodes.pipeline.identity import codes_of, hashed, identities_of, untold_of
from rag_nodes.pipeline.report import (
    FileOutcome,
    FormerCollection,
    IngestReport,
    Progress,
    WriterOutcome,
)
from rag_nodes.pipeline.rows import FileRows, OpenRows
from rag_nodes.processes import Interrupt, current_interrupt, interruptible
from rag_nodes.store import parser_collection
from rag_nodes.text.packing import Packer
from rag_nodes.transforms import ChunkWriter, UserTransformations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from llama_index.core.schema import TransformComponent

    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline.arrivals import Arrival
    from rag_nodes.pipeline.build import Parse
    from rag_nodes.pipeline.deposit import Deposit
    from rag_nodes.pipeline.found import Left
    from rag_nodes.pipeline.record import CollectionRecord
    from rag_nodes.store import Store

MOST_THREADS = 8
"""Parsers that run at the same time where the embedding model is a server."""


class IngestRun:
    """The columns of one run, and what they make of the documents that arrive.

    Args:
        parsers: as for `ingest`, like all that follow.
        store: where the chunks go.
        models: the embedding model used is `models.embedding`.
        transformations: between parser and guard of every column.
        corpus: name of the document set.
        progress: called after every step.
        parse: makes the nodes of a document; None to have the parser do it.
        prices: of embedding models.
        books: who is asked what is stored, and told what is written.
        dry_run: run none of the user's transformations but those that have an LLM write, which is
            not asked, and cut with nothing that asks a model.
        identities: what `identities_of` gave, where that was asked before.
        codes: what `codes_of` gave, by whoever drives this process.

    Raises:
        ConfigurationError: as `ingest`.
    """

    def __init__(  # noqa: PLR0913 - options of one run, most with defaults
        self,
        parsers: Mapping[str, object],
        store: Store,
        models: Models,
        *,
        transformations: Sequence[TransformComponent] = (),
        corpus: str,
        progress: Callable[[Progress], None] | None = None,
        parse: Parse | None = None,
        prices: Prices = MappingProxyType({}),
        books: Books | None = None,
        dry_run: bool = False,
        identities: Sequence[str] | None = None,
        codes: Mapping[str, str] | None = None,
    ) -> None:
        if not parsers:
            raise ConfigurationError("nothing to ingest with: name at least one parser")
        made = {name: as_parser(parser) for name, parser in parsers.items()}
        steps = UserTransformations(transformations).steps
        self._identities = identities_of(steps) if identities is None else identities
        self._untold = () if codes else tuple(untold_of(made.values(), models.embedding, steps))
        codes = codes_of(made, models.embedding) if codes is None else codes
        if dry_run:
            steps = rehearsed_steps(steps)
            parse = cut_unasked
        self._spent = [(one, one.spent) for one in steps if isinstance(one, ChunkWriter)]
        self._prices = prices
        self._dry_run = dry_run
        self._estimated = tuple(n for n, one in made.items() if dry_run and is_estimated(one))
        self._books = books or Books()
        self._models = models
        self._corpus = corpus
        self._report = _serialised(progress)
        _warm_up(made.values())
        collections = collections_of(made, corpus, models)
        self._columns = [
            ColumnRun(
                name,
                column_pipeline(parser, models.embedding, steps, parse),
                self._record(
                    store, _collection_row(collections[name], parser, corpus, models), codes[name]
                ),
                models=models,
                report=self._report,
                prices=prices,
            )
            for name, parser in made.items()
        ]

    @property
    def records(self) -> dict[str, CollectionRecord]:
        """What is known of the collections, by parser."""
        return {column.name: column.record for column in self._columns}

    @property
    def errors(self) -> dict[str, tuple[str, ...]]:
        """Everything that went wrong, by parser."""
        return {column.name: column.errors for column in self._columns}

    @property
    def stopped(self) -> dict[str, str]:
        """Why parsers gave up, by name; those that did not are left out."""
        return {one.name: one.stopped for one in self._columns if one.stopped is not None}

    @property
    def is_over(self) -> bool:
        """Whether every parser gave up, so that whatever arrives would fail as the last did."""
        return len(self.stopped) == len(self._columns)

    def _record(self, store: Store, row: CollectionRow, code: str) -> CollectionRecord:
        record = self._books.record(store, row)
        record.code = code
        return record

    def leave(self, arrival: Arrival, left: Left) -> tuple[FileOutcome, list[Deposit]]:
        """Count a document that is left as it is stored, and give its row and what is stored."""
        pairs = zip(self._columns, left.deposits, strict=True)
        deposits = [column.leave(left.row.name, deposit) for column, deposit in pairs]
        return arrival.untouched(left.row), deposits

    def take(
        self,
        arrivals: Iterable[Arrival],
        total: int | None = None,
        *,
        rows: FileRows | None = None,
    ) -> IngestReport:
        """Have all columns take every document.

        Args:
            arrivals: the documents.
            total: how many, where that is known.
            rows: take their rows, in the order of the documents, next to others; None to report
                them all.
        """
        started = time.perf_counter()
        rows = FileRows() if rows is None else rows
        under_way = OpenRows([column.name for column in self._columns], rows)
        with self._working() as at_work:
            taken = self._taken(arrivals, total, at_work)
            for position, (file, deposits) in enumerate(taken):
                under_way.add(position, file, deposits)
            outcomes = tuple(at_work(ColumnRun.finish))
        under_way.close()
        self._books.close()
        return IngestReport(
            files=rows.in_order(),
            omitted=rows.omitted,
            columns=outcomes,
            seconds=time.perf_counter() - started,
            models=self._models.describe(),
            corpus=self._corpus,
            former=tuple(map(FormerCollection.of, self._books.former())),
            writers=self.writers,
            dry_run=self._dry_run,
            due=under_way.changed if self._dry_run else {},
            estimated=self._estimated,
            untold=self._untold,
        )

    @property
    def writers(self) -> tuple[WriterOutcome, ...]:
        """What LLMs wrote in this run so far."""
        return tuple(self._written())

    def _written(self) -> Iterator[WriterOutcome]:
        for step, before in self._spent:
            spent, model = step.spent, step.priced_name
            read, written = spent.tokens_in - before.tokens_in, spent.tokens_out - before.tokens_out
            if requests := spent.requests - before.requests:
                cost = cost_of(read, written, model, self._prices)
                yield WriterOutcome(step.class_name(), model, requests, read, written, cost)

    @contextmanager
    def _working(self) -> Iterator[Callable[..., list[Any]]]:
        """What has all columns do something; where that is given up, they end as soon as they can.

        What was paid for by then is stored.
        """
        # Offline everything is computation under one interpreter lock: threads would only make
        # each other wait and every stage look slow. Waiting for a server is what they are good for.
        threads = 1 if self._models.offline else min(len(self._columns), MOST_THREADS)
        interrupt = Interrupt()

        def do(work: Callable[..., Any], *arguments: object) -> list[Any]:
            under_way = [
                pool.submit(copy_context().run, work, column, *arguments)
                for column in self._columns
            ]
            return [one.result() for one in under_way]

        try:
            with (
                current_interrupt().killing(interrupt.set),
                interruptible(interrupt),
                ThreadPoolExecutor(threads, thread_name_prefix="ingest") as pool,
                _setting(interrupt),
            ):
                yield do
        except BaseException:
            for column in self._columns:
                column.salvage()
            raise

    def _taken(
        self,
        arrivals: Iterable[Arrival],
        total: int | None,
        at_work: Callable[..., list[Deposit]],
    ) -> Iterator[tuple[FileOutcome, list[Deposit]]]:
        """The row of each file as read, and what its parsers store of it, none where it failed."""
        started = time.perf_counter()
        for position, one in enumerate(arrivals, start=1):
            each = (time.perf_counter() - started) / (position - 1) if position > 1 else None
            rest = each * (total - position + 1) if each and total else None
            name = basename(one.path.rstrip("/"))  # noqa: PTH119 - of each of a million files
            self._report(Progress("read", name, position, total, seconds_left=rest))
            if one.left:
                yield self.leave(one, one.left)
                continue
            if one.document is None and one.error is None:
                yield one.unopened(self.stopped), []
                continue
            document = hashed(one.document, self._identities) if one.document else None
            if one.file:
                found = FoundDocument.of(document) if document else None
                self._books.note(one.file, found, one.error)
                if found:
                    self._books.announce(one.file, found)
            if document is None:
                yield one.failure(), []
                continue
            # The next document is taken only when every parser took this one, so that memory stays
            # bounded.
            deposits = at_work(ColumnRun.add, document, one.twins)
            yield (one.failure(), []) if one.error else (one.success(document), deposits)


@contextmanager
def _setting(interrupt: Interrupt) -> Iterator[None]:
    """Set it where what is inside is given up."""
    try:
        yield
    except BaseException:
        interrupt.set()
        raise


def collections_of(
    parsers: Mapping[str, SpanNodeParser], corpus: str, models: Models
) -> dict[str, str]:
    """The collection of each parser, by its name.

    Raises:
        ConfigurationError: two parsers have the same.
    """
    found: dict[str, str] = {}
    for name, parser in parsers.items():
        collection = parser_collection(corpus, parser, models.embedding_name)
        for other, taken in found.items():
            if taken == collection:
                raise ConfigurationError(
                    f"parsers {other!r} and {name!r} have the same configuration; "
                    "change an option of one, or leave one out"
                )
        found[name] = collection
    return found


def _collection_row(
    name: str, parser: SpanNodeParser, corpus: str, models: Models
) -> CollectionRow:
    """What a ledger says of the collection of a parser."""
    return CollectionRow(
        name,
        corpus,
        parser.class_name(),
        parser.fingerprint,
        json.dumps(parser.to_dict(), default=str),
        models.embedding_name,
    )


def _warm_up(parsers: Iterable[SpanNodeParser]) -> None:
    """Load vocabularies and sentence rules now, or the parser that runs first would look slow."""
    for tokenizer in {parser.tokenizer for parser in parsers}:
        Packer("Warm up. Then run.", encoding=tokenizer).unit_starts(0, 1)


def _serialised(progress: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
    """`progress`, called by one thread at a time; a caller's progress bar need not be locked."""
    lock = threading.Lock()

    def report(step: Progress) -> None:
        if progress is not None:
            with lock:
                progress(step)

    return report
