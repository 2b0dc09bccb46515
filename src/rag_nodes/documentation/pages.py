"""One page of a crawl: read, cut, checked. Runs in worker processes, so everything can travel."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.documentation.validate import check_page
from rag_nodes.errors import ReadError
from rag_nodes.executors import Inline, LostUnit, Pool
from rag_nodes.keys import words_of
from rag_nodes.parsers import leaf_nodes
from rag_nodes.readers import Reading, build_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from llama_index.core.schema import Document, TextNode

    from rag_nodes.documentation.statistics import PageCheck
    from rag_nodes.parsers import SpanNodeParser


class CutPage(NamedTuple):
    """A page and its chunks."""

    document: Document
    nodes: list[TextNode]
    check: PageCheck


@dataclass(frozen=True, slots=True)
class PageCutter:
    """Cuts one page of a crawl and checks the result; the same in any process.

    Of parents and children, the children are the chunks.
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
            reason = f"{page.source}: it could not be split: {words_of(error)}"
            return ReadError(self.path, reason, "please report this page as a bug")
        return CutPage(document, nodes, check)


def cut_pages(
    cutter: PageCutter, pages: Iterable[Reading | ReadError], workers: int
) -> Iterator[CutPage | ReadError]:
    """The pages in their order, cut by this process or by several.

    A page by which two processes died is one that failed.
    """
    waiting: dict[int, CutPage | ReadError] = {}
    due = 0
    with closing(Pool(workers) if workers > 1 else Inline()) as executor:
        for (number, page), cut in executor.run(_cut, cutter, enumerate(pages)):
            if isinstance(cut, LostUnit):
                source = page.source if isinstance(page, Reading) else page
                reason = f"{source}: the process that cut it died ({cut.reason})"
                waiting[number] = ReadError(cutter.path, reason, "use fewer --workers")
            else:
                waiting[number] = cut
            while due in waiting:
                yield waiting.pop(due)
                due += 1


def _cut(cutter: PageCutter, unit: tuple[int, Reading | ReadError]) -> CutPage | ReadError:
    return cutter(unit[1])
