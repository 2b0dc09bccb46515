"""`ingest`: read files one by one and hand each to every parser; nothing but a report comes back.

Documents are streamed, so memory holds one document and a batch of chunks per parser however
large the corpus is. What is stored already is neither cut nor embedded again, which also makes a
killed run complete itself when it is run again.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import ConfigurationError, EmptyFileError, MissingExtraError
from rag_nodes.metadata import READ_WARNINGS, SOURCE, SOURCE_HASH, TOTAL_PAGES, display_name
from rag_nodes.models import settled
from rag_nodes.models.embedded_tokens import metered
from rag_nodes.parsers import as_parser
from rag_nodes.pipeline.column import ColumnRun
from rag_nodes.pipeline.report import FileColumn, FileOutcome, FileStatus, IngestReport, Progress
from rag_nodes.store import parser_collection
from rag_nodes.text.packing import Packer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import Document

    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline.column import Parse
    from rag_nodes.pipeline.deposit import Deposit
    from rag_nodes.readers import Limits
    from rag_nodes.store import Store

MOST_THREADS = 8
"""Parsers that run at the same time where the embedding model is a server."""


class _Read(NamedTuple):
    """One document as it arrives, or why it did not; a blank one does both."""

    path: str
    document: Document | None
    error: Exception | None
    seconds: float

    def success(self, document: Document) -> FileOutcome:
        """The row of a file that became this document, before anything of it is stored."""
        warnings: list[str] = document.metadata.get(READ_WARNINGS) or []
        return FileOutcome(
            path=self.path,
            status="partial" if warnings else "read",
            pages=document.metadata.get(TOTAL_PAGES),
            characters=len(document.text),
            error="; ".join(warnings) or None,
            seconds=self.seconds,
            document_id=document.id_,
            name=display_name(document.metadata),
            source=document.metadata.get(SOURCE),
        )

    def failure(self) -> FileOutcome:
        """The row of a file that became no document."""
        cause = self.error.__cause__ if self.error else None
        return FileOutcome(
            path=self.path,
            status="failed",
            pages=None,
            characters=0,
            error=str(self.error),
            seconds=self.seconds,
            missing_extra=cause.extra if isinstance(cause, MissingExtraError) else None,
        )


def ingest(  # noqa: PLR0913 - options of one call, all but three with defaults
    paths: Iterable[str | Path],
    parsers: Mapping[str, object],
    store: Store,
    *,
    models: Models | None = None,
    embed_model: BaseEmbedding | str | None = None,
    corpus: str = "default",
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | None = None,
    prices: Prices = MappingProxyType({}),
) -> IngestReport:
    """Read files, cut them with every parser, embed the chunks and store them.

    Ingesting twice changes nothing and embeds nothing; a changed file replaces its chunks, new
    ones written before old ones are deleted; a run that was killed completes when run again. A
    file of which only metadata or pages changed, its title for example, is stored anew, and what
    reads the same to the embedding model keeps its vector.

    Args:
        paths: files, and folders to walk.
        parsers: parsers by the name they have in the report: ours, and splitters of LlamaIndex,
            LangChain, chonkie or your own (see `ForeignNodeParser`).
        store: where the chunks go.
        models: the embedding model used is `models.embedding`; None for `embed_model`.
        embed_model: any embedding model of LlamaIndex, instead of `models`; None for that of
            LlamaIndex's `Settings` where it was set, else offline, see `Models.of`.
        corpus: name of the document set; every corpus has its own collections.
        limits: what one file may cost; None for the defaults.
        progress: called after every step, never from two threads at once.
        prices: US dollars per million tokens by embedding model, over the built-in table.

    Returns:
        One row per file and one per parser. A file that cannot be read, or a parser that fails,
        is a row with its error and stops nothing else. The row of a file says what each parser's
        collection holds of it; former chunks go only when all new ones are stored.

    Raises:
        ConfigurationError: no parser, two parsers of equal configuration, or both `models` and
            `embed_model`.
    """
    from rag_nodes.readers import Limits, read_all

    chosen = settled(models, embed_model)
    wanted = [Path(path) for path in paths]
    total = None if any(path.is_dir() for path in wanted) else len(wanted)
    reads = (
        _Read(
            path=str(result.path),
            document=result.document,
            error=result.error,
            seconds=result.seconds,
        )
        for result in read_all(wanted, limits=limits or Limits())
    )
    return _run(
        reads,
        total,
        _columns(parsers, store, chosen, corpus, progress, prices=prices),
        chosen,
        corpus,
    )


def ingest_documents(  # noqa: PLR0913 - options of one call, all but three with defaults
    documents: Iterable[Document],
    parsers: Mapping[str, object],
    store: Store,
    *,
    models: Models | None = None,
    embed_model: BaseEmbedding | str | None = None,
    corpus: str = "default",
    progress: Callable[[Progress], None] | None = None,
    parse: Parse | None = None,
    prices: Prices = MappingProxyType({}),
) -> IngestReport:
    """Like `ingest`, for documents that are read already; their ids decide what replaces what.

    A document without text is a failed row, and nothing of it stays stored (S0-44).

    Args:
        documents: what to cut.
        parsers: as for `ingest`.
        store: as for `ingest`.
        models: as for `ingest`.
        embed_model: as for `ingest`.
        corpus: as for `ingest`.
        progress: as for `ingest`.
        parse: makes the nodes of a document by a parser, such as `IsolatedCutting.cut` does in a
            process that can be ended; None to have the parser do it here.
        prices: as for `ingest`.

    Raises:
        ConfigurationError: as `ingest`.
        CancelledError: `parse` was cancelled.
    """
    chosen = settled(models, embed_model)
    columns = _columns(parsers, store, chosen, corpus, progress, parse, prices=prices)
    return _run(map(_given, documents), None, columns, chosen, corpus)


def _given(document: Document) -> _Read:
    name = str(document.metadata.get(SOURCE) or document.id_)
    nothing = "the document has no text, so nothing of it is stored"
    blank = None if document.text.strip() else EmptyFileError(name, nothing, "check what made it")
    return _Read(name, document, blank, 0.0)


class _Columns(NamedTuple):
    runs: list[ColumnRun]
    report: Callable[[Progress], None]


def _columns(
    parsers: Mapping[str, object],
    store: Store,
    models: Models,
    corpus: str,
    progress: Callable[[Progress], None] | None,
    parse: Parse | None = None,
    *,
    prices: Prices,
) -> _Columns:
    if not parsers:
        raise ConfigurationError("nothing to ingest with: name at least one parser")
    made = {name: as_parser(parser) for name, parser in parsers.items()}
    _warm_up(made.values())
    report = _serialised(progress)
    collections: dict[str, str] = {}
    runs = []
    for name, parser in made.items():
        collection = parser_collection(corpus, parser, models.embedding_name)
        if collection in collections:
            raise ConfigurationError(
                f"parsers {collections[collection]!r} and {name!r} have the same configuration; "
                "change an option of one, or leave one out"
            )
        collections[collection] = name
        runs.append(
            ColumnRun(
                name,
                parser,
                store,
                collection,
                models=models,
                report=report,
                parse=parse,
                prices=prices,
            )
        )
    return _Columns(runs, report)


def _run(
    reads: Iterable[_Read], total: int | None, columns: _Columns, models: Models, corpus: str
) -> IngestReport:
    started = time.perf_counter()
    # Offline everything is computation under one interpreter lock: threads would only make each
    # other wait and every stage look slow. Waiting for a server is what they are good for.
    threads = 1 if models.offline else min(len(columns.runs), MOST_THREADS)
    with (
        metered(models.embedding),
        ThreadPoolExecutor(threads, thread_name_prefix="ingest") as pool,
    ):
        taken = list(_taken(reads, total, columns, pool))
        outcomes = tuple(pool.map(ColumnRun.finish, columns.runs))
    names = [run.name for run in columns.runs]
    return IngestReport(
        files=tuple(
            _with_columns(file, {n: one.outcome() for n, one in zip(names, deposits, strict=False)})
            for file, deposits in taken
        ),
        columns=outcomes,
        seconds=time.perf_counter() - started,
        models=models.describe(),
        corpus=corpus,
    )


def _warm_up(parsers: Iterable[SpanNodeParser]) -> None:
    """Load vocabularies and sentence rules now, or the parser that runs first would look slow."""
    for tokenizer in {parser.tokenizer for parser in parsers}:
        Packer("Warm up. Then run.", encoding=tokenizer).unit_starts(0, 1)


def _taken(
    reads: Iterable[_Read], total: int | None, columns: _Columns, pool: ThreadPoolExecutor
) -> Iterator[tuple[FileOutcome, list[Deposit]]]:
    """The row of each file as read, and what its parsers store of it, none where it failed."""
    for position, read in enumerate(reads, start=1):
        columns.report(Progress("read", Path(read.path).name, position, total))
        if read.document is None:
            yield read.failure(), []
            continue
        document = _hashed(read.document)
        # The next document is read only when every parser took this one: memory stays bounded.
        deposits = list(pool.map(ColumnRun.add, columns.runs, [document] * len(columns.runs)))
        yield (read.failure(), []) if read.error else (read.success(document), deposits)


def _with_columns(file: FileOutcome, columns: dict[str, FileColumn]) -> FileOutcome:
    """The row of a file with what is stored of it, which is known when the run is over."""
    if not columns:
        return file
    status: FileStatus = file.status
    if any(one.status == "incomplete" for one in columns.values()):
        status = "incomplete"
    elif all(one.status == "unchanged" for one in columns.values()):
        status = "unchanged"
    return replace(file, status=status, columns=columns)


def _hashed(document: Document) -> Document:
    """The document with a hash of all that its nodes are made of: text, pages and metadata."""
    ignored = (SOURCE_HASH, READ_WARNINGS)
    facts = sorted((key, value) for key, value in document.metadata.items() if key not in ignored)
    content = json.dumps([document.text, facts], default=str, skipkeys=True)
    hidden = {SOURCE_HASH: hashlib.sha256(content.encode()).hexdigest()}
    return document.model_copy(
        update={
            "metadata": {**document.metadata, **hidden},
            "excluded_embed_metadata_keys": [
                *dict.fromkeys((*document.excluded_embed_metadata_keys, SOURCE_HASH))
            ],
            "excluded_llm_metadata_keys": [
                *dict.fromkeys((*document.excluded_llm_metadata_keys, SOURCE_HASH))
            ],
        }
    )


def _serialised(progress: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
    """`progress`, called by one thread at a time; a caller's progress bar need not be locked."""
    lock = threading.Lock()

    def report(step: Progress) -> None:
        if progress is not None:
            with lock:
                progress(step)

    return report
