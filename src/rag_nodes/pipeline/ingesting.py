"""`ingest`: files to chunks in a store, by every parser; nothing but a report comes back.

Files go through in units of a few, so that memory holds some units however large the corpus is.
What is stored already is neither split nor embedded again, which also makes a killed run complete
itself when it is run again.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several
from rag_nodes.models import settled
from rag_nodes.pipeline.assigned import FileMetadata
from rag_nodes.pipeline.ledger import WEB_HOURS
from rag_nodes.pipeline.pruning import check_prunable, compared
from rag_nodes.pipeline.run import IngestRun
from rag_nodes.pipeline.units import DueFile
from rag_nodes.readers import COLLECTIONS, Exclusion, Skipped, listed, with_stable_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import Document, TransformComponent

    from rag_nodes.core.metadata import EmbeddedAs
    from rag_nodes.embedding import Progress
    from rag_nodes.embedding.build import Parse
    from rag_nodes.models import Models
    from rag_nodes.models.executors import Executor
    from rag_nodes.models.prices import Prices
    from rag_nodes.pipeline.ledger import Ledger
    from rag_nodes.pipeline.report import IngestReport
    from rag_nodes.readers import Limits
    from rag_nodes.store import Store

logger = logging.getLogger(__name__)


@checks_keywords
def ingest(  # noqa: PLR0913 - options of one call, all but three with defaults
    paths: str | Path | Iterable[str | Path],
    parsers: Mapping[str, object],
    store: Store,
    *,
    models: Models | None = None,
    embed_model: BaseEmbedding | str | None = None,
    transformations: Sequence[TransformComponent] = (),
    text: EmbeddedAs = "heading",
    embed_metadata: str | Sequence[str] = (),
    corpus: str = "default",
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | None = None,
    prices: Prices = MappingProxyType({}),
    ledger: Ledger | str | Path | None = None,
    ttl: float = WEB_HOURS,
    exclude: str | Iterable[str] = (),
    prune: bool = False,
    dry_run: bool = False,
    executor: Executor | None = None,
    metadata: FileMetadata | None = None,
) -> IngestReport:
    """Read files, split them with every parser, embed the chunks and store them.

    Ingesting twice changes nothing and embeds nothing; a changed file, and changed code of a
    splitter, replaces its chunks, new ones written before old ones are deleted; a run that was
    killed completes when run again. A file of which only metadata or pages changed, its title for
    example, is stored again, and what reads the same to the embedding model keeps its vector.

    Args:
        paths: files, and folders to walk; a single path is one of them.
        parsers: parsers by the name they have in the report: ours, names of presets, and splitters
            of LlamaIndex, LangChain, chonkie or your own (see `ForeignNodeParser`).
        store: where the chunks go.
        models: the embedding model used is `models.embedding`; None for `embed_model`.
        embed_model: any embedding model of LlamaIndex, instead of `models`; None for that of
            LlamaIndex's `Settings` where it was set, else offline, see `Models.of`.
        transformations: extractors of LlamaIndex or your own, run on the chunks of every parser
            before they are embedded. What they add is stored with the chunks; a document for which
            one fails is stored as it was before, and its row says why. Where their code or options
            change, all documents are due again: see `UserTransformations` and `identity_of`.
        text: what of a chunk is embedded: "heading", its text with the headings above it;
            "plain", its text alone; or "summary", with a summary beside the headings. That is
            written by a `SectionSummary` among the transformations, else by the LLM of `models`,
            whose answers are kept beside the ledger, or made of sentences of the chunk where there
            is none. Another text makes all documents due again.
        embed_metadata: metadata keys whose values are embedded with it and found by keyword search,
            of your own, or "title", "description", "file_name", "source" and "language". No other
            metadata of documents is. Other keys make all documents due again.
        corpus: name of the document set; every corpus has its own collections.
        limits: what one file may cost; None for the defaults.
        progress: called after every step, never from two threads at once.
        prices: US dollars per million tokens by embedding model, each as `(input, 0)`, see
            `QueryOptions.prices`.
        ledger: of the store, or where it lies; None for that in its default place, see `Ledger.of`.
            Files that did not change since they were written down there are not opened.
        ttl: hours after which web pages are due again though their file did not change; 0 for
            never.
        exclude: patterns of files and folders to leave out, as in `.gitignore`: `*.tmp`, `drafts`,
            `drafts/*.md`. What is stored of them counts as gone from `paths`.
        prune: remove what is gone from `paths` from every collection of the corpus, once all else
            is stored: documents of files that were deleted, and pages that a crawl has no more.
            What was ingested from elsewhere stays.
        dry_run: do nothing but count what would be done, and price it: no model is asked, nothing
            is stored, no ledger is written, and transformations are left out.
        executor: does it with several processes, which give the same: `Pool(4)` of this machine,
            `Ray(64, address=…)` of many, both of `rag_nodes.models.executors`. None for this
            process, which a dry run is always done by.
        metadata: keys and values of your own that the documents of files get. A file for which they
            changed is due; what reads the same to the embedding model keeps its vector.

    Returns:
        One row per file and one per parser. A file that cannot be read or is missing, or a parser
        that fails, is a row with its error and stops nothing else; `failed` holds these files. The
        row of a file says what each parser's collection holds of it; previous chunks go only when
        all new ones are stored.

    Raises:
        ConfigurationError: no parser, two parsers of equal configuration, both `models` and
            `embed_model`, or a transformation that is none of LlamaIndex's. Or a parser, model or
            transformation that the executor's processes could not make, or `prune` for a store of
            which no ledger is kept.
        FileMissingError: with `prune`, none of the paths is there, or has a document where there
            were some: nothing is done. If others are there, they are ingested, and nothing is
            removed.
        LedgerError: the ledger cannot be opened or written.
    """
    wanted = [Path(path) for path in several(paths)]
    exclusion, skipped = Exclusion(exclude), Skipped()
    own = metadata or FileMetadata()
    with IngestRun(
        parsers,
        store,
        settled(models, embed_model),
        transformations,
        ledger,
        text=text,
        embed_metadata=embed_metadata,
        own=own,
        corpus=corpus,
        prices=prices,
        progress=progress,
        limits=limits,
        dry_run=dry_run,
        total=_documents_in(wanted, exclusion, own) if progress else None,
    ) as run:
        if prune:
            kept = run.ledger if run.keeps_ledger else None
            check_prunable(wanted, store, kept, corpus, exclusion)
        listing = listed(wanted, exclude=exclusion, skipped=skipped)
        files = run.due(file for file in listing if not own.is_at(file))
        report = run.execute(files, ttl=ttl, executor=None if dry_run else executor)
        report = replace(report, **skipped.facts())
        for reason in report.unhashable:
            logger.warning("%s, so every ingest processes its documents again", reason)
        if words := own.unmatched():
            logger.warning("%s", words)
        if not run.keeps_ledger:
            return report
        return compared(report, store, run.ledger, wanted, prune=prune, exclude=exclusion)


def _documents_in(paths: Sequence[Path], exclude: Exclusion, own: FileMetadata) -> int | None:
    """Return the number of documents in files and folders; None if only reading them tells."""
    if any(path.suffix.lower() in COLLECTIONS for path in paths):
        return None
    return sum(not own.is_at(file) for file in listed(paths, exclude=exclude))


async def aingest(
    paths: str | Path | Iterable[str | Path],
    parsers: Mapping[str, object],
    store: Store,
    **options: Any,
) -> IngestReport:
    """Like `ingest`, on a thread, so that the event loop stays free.

    One whose waiting is cancelled goes on to its end: a run that breaks off would leave documents
    half stored.
    """
    return await asyncio.to_thread(ingest, paths, parsers, store, **options)


async def aingest_documents(
    documents: Document | Iterable[Document],
    parsers: Mapping[str, object],
    store: Store,
    **options: Any,
) -> IngestReport:
    """Like `ingest_documents`, on a thread, see `aingest`."""
    return await asyncio.to_thread(ingest_documents, documents, parsers, store, **options)


@checks_keywords
def ingest_documents(  # noqa: PLR0913 - options of one call, all but three with defaults
    documents: Document | Iterable[Document],
    parsers: Mapping[str, object],
    store: Store,
    *,
    models: Models | None = None,
    embed_model: BaseEmbedding | str | None = None,
    transformations: Sequence[TransformComponent] = (),
    text: EmbeddedAs = "heading",
    embed_metadata: str | Sequence[str] = (),
    corpus: str = "default",
    progress: Callable[[Progress], None] | None = None,
    parse: Parse | None = None,
    prices: Prices = MappingProxyType({}),
    ledger: Ledger | str | Path | None = None,
) -> IngestReport:
    """Like `ingest`, for documents that are read already; their ids decide what replaces what.

    A document without text is a failed row, and nothing of it stays stored; so is an image without
    a caption. The image of one that has a caption is stored with it. Pages of a file, as
    `SimpleDirectoryReader` makes them, are named "report.pdf, page 7"; a blank one is no failure,
    but is named in `blank_pages` of the report. A document with a random id, as that reader gives,
    gets one that follows from its `file_path` (or `source`) and `page_label`: give all documents of
    a file in one call. One that has neither keeps its id, and a warning says so.

    `parse` makes the nodes of a document by a parser; None has the parser do it. All others are
    those of `ingest`.

    Raises:
        ConfigurationError: as `ingest`.
        LedgerError: as `ingest`.
        CancelledError: `parse` was cancelled.
    """
    given = with_stable_ids(documents)
    with IngestRun(
        parsers,
        store,
        settled(models, embed_model),
        transformations,
        ledger,
        text=text,
        embed_metadata=embed_metadata,
        own=FileMetadata(),
        corpus=corpus,
        prices=prices,
        progress=progress,
        parse=parse,
    ) as run:
        return run.execute(DueFile(at, document=document) for at, document in enumerate(given))


@checks_keywords
def ingest_from_store(  # noqa: PLR0913 - options of one call, all but two with defaults
    parsers: Mapping[str, object],
    store: Store,
    *,
    models: Models | None = None,
    embed_model: BaseEmbedding | str | None = None,
    corpus: str = "default",
    progress: Callable[[Progress], None] | None = None,
    prices: Prices = MappingProxyType({}),
    ledger: Ledger | str | Path | None = None,
    dry_run: bool = False,
    executor: Executor | None = None,
) -> IngestReport:
    """Embed the stored chunks of a corpus with another model: no file is opened, nothing is split.

    Store and ledger are then as after an ingest of the same files with that model, and the next
    ingest of unchanged files does nothing. Chunks keep their ids, metadata, summaries and the text
    that is embedded. A run that was killed goes on when it is run again, and pays for nothing
    twice. Collections of other models stay.

    Args:
        parsers: parsers whose chunks are embedded, by the name they have in the report.
        store: holds the chunks, and gets them.
        models: as for `ingest`, like all that follow.
        embed_model: instead of `models`.
        corpus: name of the document set.
        progress: called after every step.
        prices: US dollars per million tokens by embedding model, each as `(input, 0)`, see
            `QueryOptions.prices`.
        ledger: of the store.
        dry_run: only count and price what would be done.
        executor: does it with several processes.

    Returns:
        One row per document and one per parser. A document that no collection holds whole is
        incomplete, and so is every document of a splitter of your own whose code changed: ingest
        its file.

    Raises:
        ConfigurationError: as `ingest`; or no chunks of a parser are stored, as far as the ledger
            knows.
        LedgerError: as `ingest`.
        StoreError: the stored chunks cannot be read.
    """
    with IngestRun(
        parsers,
        store,
        settled(models, embed_model),
        (),
        ledger,
        text="heading",
        embed_metadata=(),
        own=FileMetadata(),
        corpus=corpus,
        prices=prices,
        progress=progress,
        dry_run=dry_run,
    ) as run:
        return run.execute(run.due_from_store(), executor=None if dry_run else executor)
