"""What of a document the Document tab shows: its pages, the chunks on one, what is pointed out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.apps.visitors.cuts import span_of
from rag_nodes.metadata import PAGE_STARTS, SOURCE
from rag_nodes.text.formats import format_in
from rag_nodes.text.spans import PageMap, Span
from rag_nodes.view.rails import DrawnChunk
from rag_nodes.view.rendered import part_starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rag_nodes.apps.visitors.cuts import Cuts

GONE = "The file is no longer here, so its text is shown. Upload it again."


class Pages(NamedTuple):
    """The pages in which a document is shown.

    Attributes:
        starts: offset of each.
        path: the PDF they are printed in; None for documents without.
        why: what to say where they are not shown as printed.
        unit: what they are called.
    """

    starts: Sequence[int]
    path: Path | None = None
    why: str | None = None
    unit: str = "page"


class Shown(NamedTuple):
    """What of a document is shown.

    Attributes:
        cuts: of the session.
        strategy: whose chunks are tinted.
        document: its id.
        pages: of the document.
        page: counted from 1.
        chosen: position of a chunk to point out.
        gold: characters to point out.
        ranks: for each strategy the rank of its chunks that were retrieved, by id.
        question: for which they were.
    """

    cuts: Cuts
    strategy: str
    document: str
    pages: Pages
    page: int
    chosen: int | None = None
    gold: Sequence[Span] = ()
    ranks: Mapping[str, Mapping[str, int]] = {}
    question: str = ""

    @property
    def text(self) -> str:
        """Of the whole document."""
        return self.cuts.text_of(self.document)

    @property
    def span(self) -> Span:
        """What the page holds."""
        return Span(
            self.pages.starts[self.page - 1], (*self.pages.starts, len(self.text))[self.page]
        )

    def pieces(self, strategy: str) -> list[DrawnChunk]:
        """The chunks of a strategy."""
        nodes, ranks = self.cuts.nodes(strategy, self.document), self.ranks.get(strategy, {})
        cut = self.cuts.cut_by(strategy, self.document)
        return [
            DrawnChunk(number, span_of(node), node.node_id in ranks, cut[number])
            for number, node in enumerate(nodes)
        ]

    def here(self, strategy: str) -> list[DrawnChunk]:
        """Those that share characters with the page."""
        return [one for one in self.pieces(strategy) if one.span.overlap(self.span)]


def pages_of(cuts: Cuts, document: str, paths: Iterable[Path]) -> Pages:
    """The pages of a document: printed where it is one of these files, else parts of its text."""
    known, text = cuts.documents[document].metadata, cuts.text_of(document)
    starts = known.get(PAGE_STARTS)
    if not starts:
        return Pages(part_starts(text, format_in(known, text)), unit="part")
    source = str(known.get(SOURCE))
    path = next((one for one in paths if source in {str(one), str(one.resolve())}), None)
    if path is None or path.suffix.lower() != ".pdf":
        return Pages(starts)
    if not path.is_file():
        return Pages(starts, why=GONE)
    return Pages(starts, path)


def page_at(starts: Sequence[int], offset: int) -> int:
    """Number of the page that holds an offset, counted from 1."""
    return PageMap(starts).page_of(offset)
