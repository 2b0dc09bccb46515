"""A crawl in, checked and summarised chunks out, a few pages at a time.

Memory holds some pages per worker and a batch of chunks, however large the crawl is.
"""

from __future__ import annotations

import json
import logging
import time
from contextlib import closing
from dataclasses import dataclass, field, fields
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import (
    ConfigurationError,
    FileMissingError,
    NoPagesError,
    ReadError,
    UnsupportedFileError,
)
from rag_nodes.core.files import replacing, write_text
from rag_nodes.embedding import SectionSummary
from rag_nodes.models.kept import KeptAnswers
from rag_nodes.operations.crawl.export import as_json, chunk_objects, chunk_rows
from rag_nodes.operations.crawl.pages import SplitPage, Splitting, process_pages
from rag_nodes.operations.crawl.statistics import Statistics
from rag_nodes.parsers import as_parser, get_parser
from rag_nodes.readers import COLLECTIONS, Limits, readings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rag_nodes.operations.crawl.checks import PageFinding

BATCH = 256
"""Chunks that are summarised side by side before they are written."""
MAX_FINDINGS = 10_000
"""Findings kept in full; more are only counted, so that memory stays flat."""
LINES = ".jsonl"
"""Suffix of an output with one chunk per line; any other is one JSON document."""
EXTRACTS = SectionSummary()
"""Summaries made of the chunks' own sentences."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DocsStep:
    """One step of a running workflow, for progress bars.

    "pages" are split and checked, by the URL of the page just done; "summaries" are written, by
    the model. `total` is None while it is not known.
    """

    stage: Literal["pages", "summaries"]
    name: str
    done: int
    total: int | None = None


@dataclass(slots=True, kw_only=True)
class DocsReport:
    """Result of one run.

    `parser` split the pages, as `load_parser` takes it; `model` wrote the summaries, None if there
    are none. `kept` is the file of paid summaries, which stays if others failed. `findings` are up
    to 10,000, in the order of the pages; `failed_pages` says why each page failed.
    """

    input: str
    output: str
    parser: dict[str, Any]
    model: str | None
    statistics: Statistics = field(default_factory=Statistics)
    findings: list[PageFinding] = field(default_factory=list)
    failed_pages: list[str] = field(default_factory=list)
    kept: str | None = None
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        """True if no page failed and no summary of a model is missing."""
        return not self.failed_pages and not self.statistics.summaries["failed"]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for `--json` and the report beside the output."""
        return {item.name: getattr(self, item.name) for item in fields(self)} | {
            "statistics": self.statistics.as_dict(),
            "findings": [finding._asdict() for finding in self.findings],
            "seconds": round(self.seconds, 3),
        }


def run(
    crawl: str | Path,
    output: str | Path,
    *,
    parser: object = None,
    summary: SectionSummary | None = EXTRACTS,
    resume: bool = False,
    workers: int | None = None,
    limits: Limits | None = None,
    progress: Callable[[DocsStep], None] = lambda _: None,
) -> DocsReport:
    """Read a Firecrawl crawl, split every page, check, summarise and write the chunks.

    Pages are streamed; the output appears when all of it is written. Next to it, the report goes
    to `<output>.report.json`: statistics and findings.

    While a model writes summaries, each is kept in `<output>.summaries.sqlite` as it arrives. After
    an interruption, `resume` takes them from there; the file goes when no summary is missing.

    Args:
        crawl: the JSON or JSON lines of the crawl.
        output: the file to write; replaced if it exists. One chunk per line if it ends in `.jsonl`,
            else one JSON document.
        parser: any parser of ours, or a splitter of another package (see `as_parser`); by default
            `heading`.
        summary: writes the summaries; None for none.
        resume: use the summaries that an interrupted run left beside the output.
        workers: processes that split; by default one, or all cores if the crawl is large and the
            parser asks no model.
        limits: how large the crawl and each page may be, and what reading may take.
        progress: called after every page and every summary.

    Returns:
        Statistics, findings, and the pages that failed: one bad page stops nothing.

    Raises:
        ReadError: the file is no crawl, or none of its pages could be read.
        ConfigurationError: the output cannot be written, or an interrupted run left summaries there
            and `resume` is off.
        MissingExtraError: ijson is not installed.
    """
    started = time.perf_counter()
    crawl, output = Path(crawl), Path(output)
    _check_crawl(crawl)
    report_path = _beside(output, "report.json")
    if crawl.resolve() in (output.resolve(), report_path.resolve()):
        raise ConfigurationError(
            f"{output}: the crawl itself would be overwritten; name another output"
        )
    splitter = as_parser(parser or get_parser("heading"))
    report = DocsReport(
        input=str(crawl),
        output=str(output),
        parser=splitter.to_dict(),
        model=summary.model_name if summary else None,
    )
    is_lines = output.suffix.lower() == LINES
    results = process_pages(Splitting(crawl.resolve(), splitter), limits or Limits(), workers)
    with replacing(output) as write, closing(results):
        kept = _kept(output, resume=resume) if summary and summary.llm else None
        pages: Iterator[SplitPage] = _good_pages(results, report, progress)
        if summary:
            pages = _summarised(pages, summary, kept, report, progress)
        for text in as_json(_rows(pages, lines=is_lines), lines=is_lines):
            write(text)
        if not report.statistics.pages:
            first = next(iter(report.failed_pages), "there is none")
            raise NoPagesError(
                crawl,
                f"none of its {len(report.failed_pages)} pages could be read, the first because: "
                f"{first}",
                "crawl the site again",
            )
    if kept and report.statistics.summaries["failed"]:
        report.kept = str(kept.path)
    elif kept:
        kept.path.unlink()
    report.seconds = time.perf_counter() - started
    write_text(report_path, json.dumps(report.as_dict(), ensure_ascii=False, indent=2) + "\n")
    return report


def validate_input(crawl: str | Path, limits: Limits | None = None) -> tuple[ReadError, ...]:
    """Return what is wrong with each bad page of a crawl, without splitting it.

    Raises:
        ReadError: the file is no crawl.
        MissingExtraError: ijson is not installed.
    """
    path = Path(crawl)
    _check_crawl(path)
    pages = readings(path, limits=limits or Limits())
    return tuple(page for page in pages if isinstance(page, ReadError))


def _check_crawl(crawl: Path) -> None:
    if not crawl.is_file():
        raise FileMissingError(crawl)
    # The suffix decides which reader is used; any other would make one page of all of it.
    if crawl.suffix.lower() not in COLLECTIONS:
        raise UnsupportedFileError(
            crawl, "not a crawl by its name", f"rename it to end in {' or '.join(COLLECTIONS)}"
        )


def _beside(output: Path, ending: str) -> Path:
    return output.with_name(f"{output.name}.{ending}")


def _kept(output: Path, *, resume: bool) -> KeptAnswers:
    path = _beside(output, "summaries.sqlite")
    if not resume and path.exists() and path.stat().st_size:
        raise ConfigurationError(
            f"{path}: an interrupted run left paid summaries there; add --resume to use them, or "
            "remove the file to start afresh"
        )
    return KeptAnswers(path)


def _good_pages(
    results: Iterable[SplitPage | ReadError],
    report: DocsReport,
    progress: Callable[[DocsStep], None],
) -> Iterator[SplitPage]:
    """Yield the pages with chunks; every page is counted, and its findings are reported."""
    for number, page in enumerate(results, 1):
        if isinstance(page, ReadError):
            _log.warning("page failed: %s", page)
            report.failed_pages.append(str(page))
            report.statistics.pages_failed += 1
            progress(DocsStep("pages", "failed", number))
            continue
        url = str(page.document.metadata[keys.SOURCE])
        _log.info("%s: %d chunks, %d findings", url, len(page.nodes), len(page.findings))
        report.statistics.add(page.statistics)
        report.findings += page.findings[: MAX_FINDINGS - len(report.findings)]
        progress(DocsStep("pages", url, number))
        yield page


def _summarised(
    pages: Iterable[SplitPage],
    summary: SectionSummary,
    kept: KeptAnswers | None,
    report: DocsReport,
    progress: Callable[[DocsStep], None],
) -> Iterator[SplitPage]:
    """Yield the pages with summarised chunks; paid summaries go into `kept`."""
    numbers = count(1)
    name = summary.model_name

    def done() -> None:
        progress(DocsStep("summaries", name, next(numbers), report.statistics.chunks))

    summary = summary.model_copy(update={"kept": kept, "on_done": done})
    for batch in _batches(pages):
        nodes = [node for page in batch for node in page.nodes]
        summary(nodes)
        for node in nodes:
            has_failed = keys.SUMMARY_ERROR in node.metadata
            if kind := "failed" if has_failed else node.metadata.get(keys.SUMMARY_KIND):
                report.statistics.summaries[kind] += 1
        yield from batch


def _batches(pages: Iterable[SplitPage]) -> Iterator[list[SplitPage]]:
    """Yield whole pages that together have enough chunks to keep the model busy."""
    batch: list[SplitPage] = []
    for page in pages:
        batch.append(page)
        if sum(len(waiting.nodes) for waiting in batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _rows(pages: Iterable[SplitPage], *, lines: bool) -> Iterator[dict[str, Any]]:
    for page in pages:
        yield from chunk_rows(page.nodes, page.document) if lines else chunk_objects(page.nodes)
