"""Pages of a crawl: read, split and checked, in this process or in several."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.core.errors import ReadError
from rag_nodes.core.keys import words_of
from rag_nodes.models.executors import Inline, LostUnit, Pool, usable_cores
from rag_nodes.operations.crawl.checks import CheckedPage, PageFinding, check_page
from rag_nodes.operations.crawl.statistics import Statistics, page_statistics
from rag_nodes.parsers import leaf_nodes
from rag_nodes.readers import Reading, build_document, readings

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from llama_index.core.schema import Document, TextNode

    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.readers import Limits

WORTH_WORKERS = 16 * 1024 * 1024
"""Bytes of a crawl above which several processes save more time than they take to start."""


class SplitPage(NamedTuple):
    """A page with its chunks; of parents and children, the children are the chunks."""

    document: Document
    nodes: list[TextNode]
    statistics: Statistics
    findings: list[PageFinding]


class Splitting(NamedTuple):
    """File and parser that all pages of a crawl share."""

    path: Path
    parser: SpanNodeParser


def process_pages(
    crawl: Splitting, limits: Limits, workers: int | None
) -> Generator[SplitPage | ReadError]:
    """Read, split and check the pages of a crawl; yield them in their order.

    An error takes the place of a page that failed, and of one that ended its process twice.
    """
    pages = readings(crawl.path, limits=limits)  # by a child process: it is somebody else's HTML
    workers = workers or _default_workers(crawl)
    waiting: dict[int, SplitPage | ReadError] = {}
    due = 0
    with closing(Pool(workers) if workers > 1 else Inline()) as executor:
        for (number, page), result in executor.run(process_page, crawl, enumerate(pages)):
            if isinstance(result, LostUnit):
                source = page.source if isinstance(page, Reading) else page
                reason = f"{source}: the process that split it died ({result.reason})"
                waiting[number] = ReadError(crawl.path, reason, "use fewer --workers")
            else:
                waiting[number] = result
            while due in waiting:
                yield waiting.pop(due)
                due += 1


def process_page(
    crawl: Splitting, numbered: tuple[int, Reading | ReadError]
) -> SplitPage | ReadError:
    """Split one page and check its chunks, or return why that failed."""
    _, reading = numbered
    if isinstance(reading, ReadError):
        return reading
    try:
        document = build_document(crawl.path, reading)
        page = CheckedPage(document, leaf_nodes(crawl.parser([document])), crawl.parser)
        findings = check_page(page)
        return SplitPage(document, list(page.nodes), page_statistics(page, findings), findings)
    except Exception as error:  # noqa: BLE001 -- one page must not end the work on the others
        reason = f"{reading.source}: it could not be split: {words_of(error)}"
        return ReadError(crawl.path, reason, "please report this page as a bug")


def _default_workers(crawl: Splitting) -> int:
    asks_a_model = getattr(crawl.parser, "embed_model", None) is not None
    is_small = crawl.path.stat().st_size < WORTH_WORKERS
    return 1 if is_small or asks_a_model else usable_cores()
