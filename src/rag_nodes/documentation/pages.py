"""One page of a crawl: read, cut, checked. Runs in worker processes, so everything can travel."""

from __future__ import annotations

import signal
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from rag_nodes.documentation.validate import check_page
from rag_nodes.errors import RagNodesError, ReadError
from rag_nodes.parsers import leaf_nodes
from rag_nodes.readers import build_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from llama_index.core.schema import Document, TextNode

    from rag_nodes.documentation.validate import PageCheck
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.readers import Reading

_AHEAD = 4
"""Pages per worker that are read before they are cut; bounds memory."""


@dataclass(frozen=True, slots=True)
class CutPage:
    """A page and its chunks."""

    document: Document
    nodes: list[TextNode]
    check: PageCheck


@dataclass(frozen=True, slots=True)
class PageCutter:
    """Cuts one page and checks the result; the same in any process.

    Attributes:
        path: the crawl.
        parser: makes the chunks; of parents and children, the children are the chunks.
    """

    path: Path
    parser: SpanNodeParser

    def __call__(self, page: Reading | ReadError) -> CutPage | ReadError:
        """The page with its chunks, or why there are none."""
        if isinstance(page, ReadError):
            return page
        try:
            document = build_document(self.path, page)
            nodes = leaf_nodes(self.parser([document]))
            check = check_page(document, nodes, self.parser)
        except Exception as error:  # noqa: BLE001 -- one page must not end the work on the others
            reason = f"{page.source}: unexpected {type(error).__name__} while cutting it: {error}"
            return ReadError(self.path, reason, "please report this page as a bug")
        return CutPage(document, nodes, check)


def cut_pages(
    cutter: PageCutter, pages: Iterable[Reading | ReadError], workers: int
) -> Iterator[CutPage | ReadError]:
    """The pages in their order, cut by one process or several.

    A few pages per worker are under way at any time, however many there are. With one worker all
    happens in this process.

    Raises:
        RagNodesError: a worker process died.
    """
    if workers == 1:
        yield from map(cutter, pages)
        return
    context = get_context("spawn")  # no fork: this process may have threads
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_ignore_ctrl_c) as pool:
        try:
            yield from _in_order(pool, cutter, pages, _AHEAD * workers)
        except BrokenProcessPool as error:
            raise RagNodesError(
                "a worker process died, most likely for want of memory; use fewer --workers"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _in_order(
    pool: ProcessPoolExecutor,
    cutter: Callable[[Any], CutPage | ReadError],
    pages: Iterable[Reading | ReadError],
    ahead: int,
) -> Iterator[CutPage | ReadError]:
    pending: deque[Future[CutPage | ReadError]] = deque()
    for page in pages:
        pending.append(pool.submit(cutter, page))
        if len(pending) >= ahead:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def _ignore_ctrl_c() -> None:
    """Ctrl-C reaches all processes; the one that started them ends the work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
