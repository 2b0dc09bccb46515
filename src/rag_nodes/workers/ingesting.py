"""An ingest by workers: what is due goes to them, what is not stays, and the report is one."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError
from rag_nodes.ledger import WEB_HOURS
from rag_nodes.models import settled
from rag_nodes.parsers import as_parser
from rag_nodes.pipeline import IngestReport
from rag_nodes.pipeline.arrivals import Arrival, arrivals_of, parsers_for
from rag_nodes.pipeline.identity import codes_of, identities_of, untold_of
from rag_nodes.pipeline.ingesting import books_of, opened_ledger
from rag_nodes.pipeline.listing import FileListing
from rag_nodes.pipeline.rows import FileRows, OpenRows
from rag_nodes.pipeline.run import IngestRun
from rag_nodes.readers import Limits
from rag_nodes.transforms import further_names
from rag_nodes.vector_names import USUAL
from rag_nodes.workers.batches import DueFile
from rag_nodes.workers.driver import Driver
from rag_nodes.workers.merging import PartReport, merged_column, merged_writers
from rag_nodes.workers.messages import BatchFinished
from rag_nodes.workers.recipe import Recipe
from rag_nodes.workers.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import TransformComponent

    from rag_nodes.ledger import Ledger
    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline import Progress
    from rag_nodes.pipeline.arrivals import Parsers
    from rag_nodes.pipeline.found import Seen
    from rag_nodes.readers import FileShard
    from rag_nodes.store import Store
    from rag_nodes.workers.messages import Batch, Message
    from rag_nodes.workers.transport import Transport


def ingest_by(  # noqa: PLR0913 - options of one call, all but four with defaults
    start: Callable[[Recipe], Transport[Batch, Message]],
    paths: Iterable[str | Path],
    parsers: Parsers,
    store: Store,
    *,
    models: Models | None = None,
    embed_model: BaseEmbedding | str | None = None,
    transformations: Sequence[TransformComponent] = (),
    corpus: str = "default",
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | None = None,
    prices: Prices = MappingProxyType({}),
    ledger: Ledger | str | Path | None = None,
    ttl: float = WEB_HOURS,
    shard: FileShard | None = None,
    most_rows: int | None = None,
    files: FileListing | None = None,
) -> IngestReport:
    """Ingest files by workers that `start` starts, made of a recipe.

    The files may be listed already. All other arguments, and what is returned, are those of
    `rag_nodes.pipeline.ingest`.

    Raises:
        ConfigurationError: as `ingest`; or a parser, model or transformation cannot be made in
            another process.
        EngineError: workers cannot be started.
        LedgerError: as `ingest`.
        RagNodesError: a worker cannot work.
    """
    started = time.perf_counter()
    chosen, bounds = settled(models, embed_model), limits or Limits()
    files = files or FileListing(paths, shard)
    given: dict[str, Any] = {
        "transformations": transformations,
        "corpus": corpus,
        "prices": prices,
    }
    made = _made(parsers, files, bounds)
    # Found out here alone: workers of another interpreter would find something else.
    given["identities"] = identities_of(transformations)
    given["codes"] = codes_of(made, chosen.embedding)
    recipe = Recipe.of(made, chosen, limits=bounds, address=store.address, **given)
    with opened_ledger(ledger, store) as opened:
        books = books_of(opened, corpus, bounds, given["identities"], ttl=ttl, shard=shard)
        run = IngestRun(made, store, chosen, books=books, **given)
        collections = {name: record.collection for name, record in run.records.items()}
        writer = Writer(
            run.records.values(),
            books,
            vectors=() if chosen.embeds_offline else (USUAL, *further_names(transformations)),
            is_shared=store.address is not None,
        )
        with closing(start(recipe)) as transport:
            total = files.documents() if progress else None
            rows = FileRows(most_rows)
            driver = Driver(
                transport, writer, collections, progress=progress, total=total, rows=rows
            )
            done = driver.run(_due(books.seen(files), run, driver, rows))
        # What it left is counted; none is left to be taken.
        own = PartReport(0, BatchFinished(run.take((), rows=rows), (), run.errors, run.stopped))
    done = done._replace(parts=[own, *done.parts])
    return IngestReport(
        files=rows.in_order(),
        omitted=rows.omitted,
        columns=tuple(
            merged_column(name, collection, done, model=chosen.embedding_name, prices=prices)
            for name, collection in collections.items()
        ),
        seconds=time.perf_counter() - started,
        models=chosen.describe(),
        corpus=corpus,
        former=own.finished.report.former,
        untold=tuple(untold_of(made.values(), chosen.embedding, transformations)),
        writers=merged_writers(done, prices, order=[one.class_name() for one in transformations]),
    )


def _due(
    files: Iterable[Seen], run: IngestRun, driver: Driver, rows: FileRows
) -> Iterator[DueFile]:
    """Files that are to be opened; of the others, which did not change, no worker has to hear.

    Args:
        files: all of them.
        run: counts what is stored of those that are left.
        driver: told that they are passed.
        rows: take theirs.
    """
    left = OpenRows(list(run.records), rows)
    for position, seen in enumerate(files):
        if not seen.left:
            yield DueFile(position, seen.file, seen.row, seen.twins)
            continue
        driver.passed(position, seen.file.path.name)
        for one in seen.left:
            left.add(position, *run.leave(Arrival(str(seen.file.path), None, left=one), one))
    left.close()


def _made(parsers: Parsers, files: FileListing, limits: Limits) -> Mapping[str, SpanNodeParser]:
    """The parsers, for which the first documents may have been read."""
    made, _ = parsers_for(parsers, arrivals_of(files, limits))
    if not made:
        raise ConfigurationError("nothing to ingest with: name at least one parser")
    return {name: as_parser(parser) for name, parser in made.items()}
