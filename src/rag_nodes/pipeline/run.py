"""One ingest: its parsers, collections and ledger, and the driver that takes files through them."""

from __future__ import annotations

import json
import time
from contextlib import closing
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError
from rag_nodes.executors import Inline, Pool, usable_cores
from rag_nodes.ledger import WEB_HOURS, CollectionRow, Ledger
from rag_nodes.models.pickling import pickled
from rag_nodes.parsers import as_parser
from rag_nodes.pipeline.columns import IngestColumn
from rag_nodes.pipeline.driver import Driver
from rag_nodes.pipeline.dry_run import cut_unasked, is_estimated, rehearsed_steps
from rag_nodes.pipeline.due import DueFiles, reading_key
from rag_nodes.pipeline.further import further_steps
from rag_nodes.pipeline.identity import codes_of, identities_of, untold_of
from rag_nodes.pipeline.recipe import IngestRecipe
from rag_nodes.pipeline.report import FormerCollection, IngestReport
from rag_nodes.pipeline.report_builder import ReportBuilder
from rag_nodes.pipeline.units import DueFile
from rag_nodes.store import parser_collection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from llama_index.core.schema import TransformComponent

    from rag_nodes.executors import Executor
    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline.build import Parse
    from rag_nodes.pipeline.due import UnchangedDocument
    from rag_nodes.pipeline.report import Progress
    from rag_nodes.readers import FileShard, Limits, ListedFile
    from rag_nodes.store import Store

LARGE = 20_000_000
"""Bytes of files that are due from which several processes end sooner than one."""


class IngestRun:
    """One ingest: what it is made of, and how it goes.

    Args:
        parsers: by name.
        store: where the chunks go.
        models: of which one embeds.
        transformations: between parsers and guard, further vectors among them.
        ledger: of the store; None where none is kept.
        journal: file in which what an LLM writes is kept; None to keep it nowhere.
        corpus: name of the document set.
        limits: what one file may cost.
        parse: makes the nodes of a document by a parser; None to have the parser do it.
        dry_run: store nothing.
        shard: of the files, where others write to the same collections meanwhile; None for all.
        progress: called after every step.
        prices: US dollars per million tokens by embedding model, over the built-in table.
        total: documents of the run, where that is known.
        most_rows: see `ingest`.

    Attributes:
        recipe: what units are done by.
        new: parsers whose collections the ledger did not know.
    """

    def __init__(  # noqa: PLR0913 - what a run is made of, by name
        self,
        parsers: Mapping[str, object],
        store: Store,
        models: Models,
        transformations: Sequence[TransformComponent],
        ledger: Ledger | None,
        *,
        corpus: str,
        limits: Limits,
        journal: Path | None = None,
        parse: Parse | None = None,
        dry_run: bool = False,
        shard: FileShard | None = None,
        progress: Callable[[Progress], None] | None = None,
        prices: Prices = MappingProxyType({}),
        total: int | None = None,
        most_rows: int | None = None,
    ) -> None:
        if not parsers:
            raise ConfigurationError("nothing to ingest with: name at least one parser")
        made = {name: as_parser(parser) for name, parser in parsers.items()}
        names = collections_of(made, corpus, models)
        steps, self._kept = further_steps(
            transformations, names.values(), store, models, journal, dry_run=dry_run
        )
        identities, codes = identities_of(steps), codes_of(made, models.embedding)
        self._untold = tuple(untold_of(made.values(), models.embedding, steps))
        self._estimated = tuple(n for n, one in made.items() if dry_run and is_estimated(one))
        self._corpus, self._models, self._dry_run, self._ledger = corpus, models, dry_run, ledger
        self.recipe = IngestRecipe(
            parsers=made,
            models=models,
            steps=rehearsed_steps(steps) if dry_run else steps,
            limits=limits,
            identities=identities,
            codes=codes,
            parse=cut_unasked if dry_run else parse,
            dry_run=dry_run,
        )
        self._report = ReportBuilder(
            self.recipe, prices, progress, most_rows=most_rows, total=total
        )
        self._own = ledger or Ledger(":memory:")
        known = {one.name: one for one in self._own.collections(corpus)}
        self._rows = [
            _collection_row(names[name], parser, corpus, models, known.get(names[name]))
            for name, parser in made.items()
        ]
        self.new = {row.parser for row in self._rows if row.name not in known}
        columns = [
            IngestColumn(
                name,
                row,
                store,
                self._own,
                code=codes[name],
                report=self._report,
                is_shared=shard is not None,
                dry_run=dry_run,
            )
            for name, row in zip(made, self._rows, strict=True)
        ]
        self._columns = columns
        self._due = DueFiles(
            self._own,
            columns,
            corpus,
            reading_key(limits, identities),
            limits.file_bytes,
        )

    def due(self, files: Iterable[ListedFile]) -> Iterable[DueFile | UnchangedDocument]:
        """What is to be done about files; all of it where no ledger is kept."""
        if self._ledger is None:
            return (DueFile(position, file) for position, file in enumerate(files))
        return self._due.of(files)

    def changed(self, files: Iterable[ListedFile]) -> Iterator[ListedFile]:
        """Files that are not as they were, as far as can be told without opening one."""
        return iter(files) if self.new else self._due.changed(files)

    def automatic_pool(self, files: Iterable[ListedFile]) -> Pool | None:
        """Several processes where that pays; None for this one, which has what others cannot make.

        Starting one takes seconds, and so it pays for `LARGE` bytes that are due and for a model
        that runs offline: where a server embeds, waiting for it is what takes the time, and one
        process has several requests under way.

        Args:
            files: all of the ingest, as often as they are asked for.
        """
        if usable_cores() < 2 or not self._models.embeds_offline or not _are_large(files):  # noqa: PLR2004
            return None
        if not _are_large(self.changed(files)):
            return None
        try:
            pickled(self.recipe.for_workers(is_remote=False))
        except ConfigurationError:
            return None
        return Pool()

    def execute(
        self,
        items: Iterable[DueFile | UnchangedDocument],
        *,
        ttl: float = WEB_HOURS,
        executor: Executor | None = None,
    ) -> IngestReport:
        """Read, cut, embed and store all that is due, and report it.

        Args:
            items: all files of the ingest, in order, see `due`.
            ttl: hours after which web pages are due again; 0 for never.
            executor: does it, and is closed then; None for this process.
        """
        started = time.perf_counter()
        report = self._report
        driver = Driver(
            self.recipe,
            self._columns,
            self._own,
            report,
            corpus=self._corpus,
            keeps_files=self._ledger is not None,
            ttl=ttl,
        )
        if executor:
            with closing(executor):
                recipe = self.recipe.for_workers(is_remote=executor.is_remote)
                driver.run(items, executor, recipe)
        else:
            self.recipe.tell = report.tell
            driver.run(items, Inline(), self.recipe)
        if self._ledger is None:
            self._own.close()
        return IngestReport(
            files=report.rows,
            omitted=report.omitted,
            columns=report.parsers,
            seconds=time.perf_counter() - started,
            models=self._models.describe(),
            corpus=self._corpus,
            former=tuple(self._former()),
            writers=report.writers,
            kept_vectors=self._kept,
            dry_run=self._dry_run,
            due=report.due if self._dry_run else {},
            estimated=self._estimated,
            untold=self._untold,
        )

    def _former(self) -> Iterator[FormerCollection]:
        """Other collections of the corpus by a parser of the same kind, where one is new."""
        used = {one.name for one in self._rows}
        for one in self._ledger.collections(self._corpus) if self._ledger else ():
            if one.parser in self.new and one.name not in used and one.documents:
                yield FormerCollection(
                    one.name, one.parser, one.model, one.documents, one.chunks, one.last_used
                )


def _are_large(files: Iterable[ListedFile]) -> bool:
    """Whether several processes are done with files sooner than one; no more are looked at."""
    return any(total >= LARGE for total in accumulate(one.size or 0 for one in files))


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
    name: str, parser: SpanNodeParser, corpus: str, models: Models, known: CollectionRow | None
) -> CollectionRow:
    """What a ledger says of the collection of a parser."""
    return CollectionRow(
        name,
        corpus,
        parser.class_name(),
        parser.fingerprint,
        json.dumps(parser.to_dict(), default=str),
        models.embedding_name,
        known.dimension if known else None,
    )
