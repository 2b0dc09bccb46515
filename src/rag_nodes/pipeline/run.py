"""One ingest: its parsers, collections and ledger, and the driver that takes files through them."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rag_nodes.errors import ConfigurationError
from rag_nodes.executors import Inline
from rag_nodes.ledger import FILE_NAME, WEB_HOURS, CollectionRow, Ledger, ledger_path
from rag_nodes.metadata import USUAL
from rag_nodes.parsers import as_parser
from rag_nodes.pipeline.columns import IngestColumn
from rag_nodes.pipeline.driver import Driver
from rag_nodes.pipeline.due import DueFiles, Remembered
from rag_nodes.pipeline.report import IngestReport
from rag_nodes.pipeline.tally import Tally
from rag_nodes.pipeline.units import IngestRecipe
from rag_nodes.pipeline.versions import codes_of, identities_of, untold_of
from rag_nodes.readers import Limits
from rag_nodes.store import parser_collection
from rag_nodes.transforms import (
    WRITTEN_FILE,
    ChunkWriter,
    NamedVectors,
    TextJournal,
    UserTransformations,
    asked_vectors,
    unwritten,
    vector_steps,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from llama_index.core.schema import TransformComponent

    from rag_nodes.executors import Executor
    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline.build import Parse
    from rag_nodes.pipeline.due import UnchangedDocument
    from rag_nodes.pipeline.report import Progress
    from rag_nodes.pipeline.units import DueFile
    from rag_nodes.readers import FileShard, ListedFile
    from rag_nodes.store import Store


class IngestRun:
    """One ingest: what it is made of, and how it goes. See `ingest` for what is given.

    Attributes:
        ledger: of the store, or one for this run alone.
        keeps_ledger: it is of the store.
        recipe: what units are done by.
    """

    def __init__(  # noqa: PLR0913 - what a run is made of, by name
        self,
        parsers: Mapping[str, object],
        store: Store,
        models: Models,
        transformations: Sequence[TransformComponent],
        ledger: Ledger | str | Path | None,
        *,
        corpus: str,
        prices: Prices,
        progress: Callable[[Progress], None] | None,
        limits: Limits | None = None,
        parse: Parse | None = None,
        dry_run: bool = False,
        shard: FileShard | None = None,
        total: int | None = None,
    ) -> None:
        if not parsers:
            raise ConfigurationError("nothing to ingest with: name at least one parser")
        self._stack = ExitStack()
        made = {name: as_parser(parser) for name, parser in parsers.items()}
        names = collections_of(made, corpus, models)
        place = ledger.path if isinstance(ledger, Ledger) else ledger_path(store.location, ledger)
        self._corpus, self._models, self._dry_run = corpus, models, dry_run
        with ExitStack() as stack:
            self.keeps_ledger = place is not None
            self.ledger = stack.enter_context(_opened(ledger, place, dry_run=dry_run))
            journal = journal_beside(place) if place and place.name != ":memory:" else None
            steps, self._kept = _complete(
                transformations, names.values(), store, models, journal, dry_run=dry_run
            )
            identities, codes = identities_of(steps), codes_of(made, models.embedding)
            self._untold = tuple(untold_of(made.values(), models.embedding, steps))
            self._estimated: tuple[str, ...] = ()
            if dry_run:
                from rag_nodes.pipeline import dry_run as dry

                self._estimated = tuple(n for n, one in made.items() if dry.is_estimated(one))
                models = stack.enter_context(dry.rehearsed(models))
                steps, store = dry.rehearsed_steps(steps), dry.untouched(store)
                parse = dry.cut_unasked
            bounds = limits or Limits()
            self.recipe = IngestRecipe(made, models, steps, bounds, identities, codes, parse)
            writers = [one for one in steps if isinstance(one, ChunkWriter)]
            name = models.embedding_name
            self._tally = Tally(names, name, prices, progress, total, writers)
            self._collections, self._shared = names, shard is not None
            known = {one.name: one for one in self.ledger.collections(corpus)}
            rows = {
                name: _collection_row(names[name], parser, corpus, models, known.get(names[name]))
                for name, parser in made.items()
            }
            self._used = set(names.values())
            self._new = {row.parser for row in rows.values() if row.name not in known}
            shared = shard is not None
            self._columns = [
                IngestColumn(
                    name, row, store, self.ledger, self._tally, code=codes[name], is_shared=shared
                )
                for name, row in rows.items()
            ]
            self._due = DueFiles(self.ledger, self._columns, corpus, bounds, identities)
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        """The run itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close what was opened for it."""
        self._stack.close()

    def due(self, files: Iterable[ListedFile]) -> Iterator[DueFile | UnchangedDocument]:
        """What is to be done about files."""
        return self._due.of(files)

    def remember(self, request: str) -> None:
        """Have `unchanged` know what a request came to, unless code of the user had a part in it.

        Or an LLM, or embeddings that were not asked for.
        """
        recipe = self.recipe
        is_told = self.keeps_ledger and not (self._untold or self._kept or self._dry_run)
        if is_told and not any(recipe.codes.values()):
            models = self._models
            facts = (
                self._collections,
                recipe.identities,
                models.embedding_name,
                models.describe(),
            )
            self.ledger.remember(request, Remembered(*facts)._asdict())

    def execute(
        self,
        items: Iterable[DueFile | UnchangedDocument],
        *,
        ttl: float = WEB_HOURS,
        executor: Executor | None = None,
    ) -> IngestReport:
        """Read, cut, embed and store all that is due, by an executor that is closed then."""
        started, tally = time.perf_counter(), self._tally
        driver = Driver(
            self.recipe,
            self._columns,
            self.ledger,
            tally,
            corpus=self._corpus,
            ttl=ttl,
            dry_run=self._dry_run,
        )
        with closing(executor or Inline()) as opened:
            driver.run(items, opened)
        return IngestReport(
            files=tally.rows,
            omitted=tally.omitted,
            columns=tally.finish(),
            seconds=time.perf_counter() - started,
            models=self._models.describe(),
            corpus=self._corpus,
            superseded=tuple(
                one
                for one in self.ledger.collections(self._corpus)
                if one.parser in self._new and one.name not in self._used and one.documents
            ),
            writers=tally.writers,
            kept_vectors=self._kept,
            dry_run=self._dry_run,
            due=tally.due if self._dry_run else {},
            estimated=self._estimated,
            untold=self._untold,
        )


@contextmanager
def _opened(
    ledger: Ledger | str | Path | None, place: Path | None, *, dry_run: bool
) -> Iterator[Ledger]:
    """The ledger of a store; what is opened here is closed, and what is the caller's is not."""
    if isinstance(ledger, Ledger) and not dry_run:
        yield ledger
        return
    scratch = dry_run and place is not None
    with Ledger.scratch(place) if scratch and place else Ledger(place or ":memory:") as opened:
        yield opened


def journal_beside(ledger: Path) -> Path:
    """Where what an LLM wrote for an ingest is kept: beside the ledger of its store."""
    return ledger.with_name(
        WRITTEN_FILE if ledger.name == FILE_NAME else f"{ledger.stem}.{WRITTEN_FILE}"
    )


def _complete(
    transformations: Sequence[TransformComponent],
    collections: Iterable[str],
    store: Store,
    models: Models,
    journal: Path | None,
    *,
    dry_run: bool,
) -> tuple[Sequence[TransformComponent], tuple[str, ...]]:
    """The transformations with those that write for further embeddings, and names that are kept.

    An ingest that names no further embeddings keeps up to date what its collections have: a vector
    that is missing from a changed document would be found by its words alone, unnoticed.
    """
    given = UserTransformations(transformations).steps
    asked, there = asked_vectors(given), set[str]()
    if all(step.keep for step in given if isinstance(step, NamedVectors)):
        there = {name for one in collections for name in store.vector_names(one)}
    kept = tuple(sorted(there.difference(asked, [USUAL])))
    writes = models.llm and journal and unwritten([*asked, *kept], given)
    texts = TextJournal(journal, frozen=dry_run) if journal and writes else None
    return vector_steps(kept, models.llm, texts, given), kept


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
