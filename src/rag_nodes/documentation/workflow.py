"""A crawl in, checked and summarised chunks out, a few pages at a time.

Memory holds some pages per worker, a batch of chunks and short ids, however large the crawl is.
"""

from __future__ import annotations

import json
import logging
import os
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_nodes import metadata as keys
from rag_nodes.documentation.export import FORMATS, LINES
from rag_nodes.documentation.pages import CutPage, PageCutter, cut_pages
from rag_nodes.documentation.report import DocsOptions, DocsReport, DocsStep, Repeated
from rag_nodes.documentation.statistics import RunningStatistics
from rag_nodes.documentation.writer import as_json
from rag_nodes.errors import (
    ConfigurationError,
    FileMissingError,
    NoPagesError,
    ReadError,
    UnsupportedFileError,
)
from rag_nodes.files import replacing
from rag_nodes.parsers import as_parser, get_parser
from rag_nodes.readers import COLLECTIONS, Limits, readings
from rag_nodes.transforms import SectionSummary, TextJournal

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from llama_index.core.llms import LLM

    from rag_nodes.parsers import SpanNodeParser

BATCH = 256
"""Chunks that are summarised side by side before they are written."""
WORTH_WORKERS = 16 * 1024 * 1024
"""Bytes of a crawl from which on more processes save more time than they take to start."""

_log = logging.getLogger(__name__)


def run(
    crawl: str | Path,
    output: str | Path,
    options: DocsOptions | None = None,
    *,
    llm: LLM | None = None,
    limits: Limits | None = None,
    progress: Callable[[DocsStep], None] | None = None,
) -> DocsReport:
    """Read a Firecrawl crawl, cut every page, check, summarise and write the chunks.

    Pages are streamed; the output appears when all of it is written. Next to it, the report goes
    to `<output>.report.json`: statistics, and everything that is to look at.

    While a model writes summaries, each is kept in `<output>.summaries.sqlite` as it arrives. After
    an interruption, `resume` takes them from there; the file goes when no summary is missing.

    Args:
        crawl: the JSON or JSON lines of the crawl.
        output: the file to write; replaced if it exists.
        options: parser, summaries, format and thresholds.
        llm: writes the summaries; None for extracts made of the chunks' own sentences. Its limit
            on the length of an answer should be `options.summary_tokens`.
        limits: how large the crawl and each page may be, and what reading may take.
        progress: called after every page and every summary.

    Returns:
        Statistics, findings, and the pages that failed: one bad page stops nothing.

    Raises:
        ReadError: the file is no crawl, or none of its pages could be read.
        ConfigurationError: an option is out of range, the output cannot be written, or an
            interrupted run left summaries there and `resume` is off.
        MissingExtraError: ijson is not installed.
    """
    started = time.perf_counter()
    work = _Work(Path(crawl), Path(output), options or DocsOptions(), progress or _nothing)
    _check_places(work)
    parser = as_parser(work.options.parser or get_parser("heading"))
    with ExitStack() as opened:
        summarise = _summariser(work, llm) if work.options.summaries else None
        write = opened.enter_context(replacing(work.output))
        pages = opened.enter_context(closing(_cut(work, parser, limits or Limits())))
        rows = _rows(work, pages, summarise)
        for text in as_json(rows, lines=work.options.format == LINES):
            write(text)
        if not work.tally.statistics.pages:
            raise _nothing_read(work)
    report = _report(work, parser, summarise, time.perf_counter() - started)
    with replacing(work.beside("report.json")) as write:
        write(json.dumps(report.as_dict(), ensure_ascii=False, indent=2) + "\n")
    return report


def validate_input(crawl: str | Path, limits: Limits | None = None) -> tuple[ReadError, ...]:
    """What is wrong with each bad page of a crawl; nothing where all are good.

    `run` checks the same while it works; this only reads.

    Raises:
        ReadError: the file is no crawl.
        MissingExtraError: ijson is not installed.
    """
    path = Path(crawl)
    if not path.is_file():
        raise FileMissingError(path)
    _check_kind(path)
    pages = readings(path, limits=limits or Limits())
    return tuple(page for page in pages if isinstance(page, ReadError))


@dataclass(slots=True)
class _Work:
    """What one run is about, and what it has found so far."""

    crawl: Path
    output: Path
    options: DocsOptions
    progress: Callable[[DocsStep], None]
    tally: RunningStatistics = field(default_factory=RunningStatistics)
    failed: list[str] = field(default_factory=list)
    repeated: list[Repeated] = field(default_factory=list)
    pages: int = 0
    chunks: int = 0
    summaries: int = 0

    def beside(self, ending: str) -> Path:
        """A file of ours next to the output."""
        return self.output.with_name(f"{self.output.name}.{ending}")


def _nothing(_step: DocsStep) -> None:
    """Nobody watches."""


def _check_places(work: _Work) -> None:
    """Find what cannot work before anything is read or paid for."""
    if not work.crawl.is_file():
        raise FileMissingError(work.crawl)
    _check_kind(work.crawl)
    written = (work.output, *map(work.beside, ("part", "report.json", "summaries.sqlite")))
    if work.crawl.resolve() in {path.resolve() for path in written}:
        raise ConfigurationError(
            f"{work.output}: the crawl itself would be overwritten; name another output"
        )
    if work.output.is_dir() or not work.output.parent.is_dir():
        raise ConfigurationError(
            f"{work.output}: not a file in an existing folder; name one, for example chunks.json"
        )


def _check_kind(crawl: Path) -> None:
    """The suffix decides what reads it; any other reader would make one page of all of it."""
    if crawl.suffix.lower() not in COLLECTIONS:
        raise UnsupportedFileError(
            crawl, "not a crawl by its name", f"let it end in {' or '.join(COLLECTIONS)}"
        )


def _summariser(work: _Work, llm: LLM | None) -> SectionSummary:
    """The transform that summarises; with a model, what it writes is kept as it arrives."""
    options = work.options
    name = ""

    def done() -> None:
        work.summaries += 1
        work.progress(DocsStep("summaries", name, work.summaries, work.chunks))

    summary = SectionSummary(
        llm=llm,
        knowledge_base=options.knowledge_base,
        max_tokens=options.summary_tokens,
        concurrency=options.concurrency,
        journal=_journal(work) if llm else None,
        on_done=done,
    )
    name = summary.model_name
    return summary


def _journal(work: _Work) -> TextJournal:
    path = work.beside("summaries.sqlite")
    if not work.options.resume and path.exists() and path.stat().st_size:
        raise ConfigurationError(
            f"{path}: an interrupted run left paid summaries there; add --resume to use them, or "
            "remove the file to start afresh"
        )
    return TextJournal(path)


def _cut(work: _Work, parser: SpanNodeParser, limits: Limits) -> Generator[CutPage]:
    """The pages with their chunks; those that failed are noted."""
    cutter = PageCutter(work.crawl.resolve(), parser)
    # In a child process: a crawl is somebody else's HTML, and may be made to break its reader.
    pages = readings(work.crawl, limits=limits, keep_duplicates=work.options.keep_duplicates)
    for page in cut_pages(cutter, pages, _workers(work, parser)):
        work.pages += 1
        if isinstance(page, ReadError):
            _log.warning("page failed: %s", page)
            work.failed.append(str(page))
            work.tally.statistics.pages_failed += 1
            work.progress(DocsStep("pages", "failed", work.pages))
            continue
        url = str(page.document.metadata[keys.SOURCE])
        if also_at := page.document.metadata.get(keys.ALSO_AT):
            work.repeated.append(Repeated(url, tuple(also_at)))
        work.chunks += len(page.nodes)
        _log.info("%s: %d chunks", url, len(page.nodes))
        work.progress(DocsStep("pages", url, work.pages))
        yield page


def _workers(work: _Work, parser: SpanNodeParser) -> int:
    if work.options.workers is not None:
        return work.options.workers
    asks_a_model = getattr(parser, "embed_model", None) is not None
    small = work.crawl.stat().st_size < WORTH_WORKERS
    return 1 if small or asks_a_model else os.cpu_count() or 1


def _rows(
    work: _Work, pages: Iterable[CutPage], summarise: SectionSummary | None
) -> Iterator[dict[str, Any]]:
    """The chunks of the output, summarised and counted."""
    shape = FORMATS[work.options.format]
    for batch in _batches(pages):
        if summarise:
            summarise([node for page in batch for node in page.nodes])
        for page in batch:
            work.tally.add(*page)
            yield from shape(page.nodes, page.document.metadata)


def _batches(pages: Iterable[CutPage]) -> Iterator[list[CutPage]]:
    """Whole pages that together have enough chunks to keep the model busy."""
    batch: list[CutPage] = []
    chunks = 0
    for page in pages:
        batch.append(page)
        chunks += len(page.nodes)
        if chunks >= BATCH:
            yield batch
            batch, chunks = [], 0
    if batch:
        yield batch


def _nothing_read(work: _Work) -> NoPagesError:
    first = work.failed[0] if work.failed else "there is none"
    return NoPagesError(
        work.crawl,
        f"none of its {work.pages} pages could be read, the first because: {first}",
        "crawl the site again",
    )


def _report(
    work: _Work, parser: SpanNodeParser, summarise: SectionSummary | None, seconds: float
) -> DocsReport:
    statistics = work.tally.statistics
    kept = summarise.journal if summarise else None
    journal = kept if isinstance(kept, TextJournal) else None
    if journal and not statistics.summaries.get("failed"):
        journal.path.unlink()
    crossed = (one.crossed(statistics) for one in work.options.fail_on)
    return DocsReport(
        input=str(work.crawl),
        output=str(work.output),
        format=work.options.format,
        parser=parser.to_dict(),
        model=summarise.model_name if summarise else None,
        reused=journal.reused if journal else 0,
        statistics=statistics,
        findings=tuple(work.tally.findings),
        failed_pages=tuple(work.failed),
        repeated=tuple(work.repeated),
        crossed=tuple(words for words in crossed if words),
        journal=str(journal.path) if journal and journal.path.exists() else None,
        seconds=seconds,
    )
