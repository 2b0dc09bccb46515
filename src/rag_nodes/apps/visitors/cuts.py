"""Chunks that the parsers of a session made of the documents, and the part that is shown."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.schema import TextNode

from rag_nodes.apps.view.rails import DrawnChunk
from rag_nodes.apps.view.rendered import part_starts
from rag_nodes.core.metadata import CHUNK_INDEX, PAGE_STARTS, display_name, sources
from rag_nodes.evaluation.engines import StoredCollection
from rag_nodes.parsers import ForeignNodeParser, leaf_nodes
from rag_nodes.parsers.recovery import recovery_in_words
from rag_nodes.text.edges import EdgeFinder, Edges, Inside
from rag_nodes.text.formats import format_in
from rag_nodes.text.spans import PageMap, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.compare import Comparison, ComparisonReport
    from rag_nodes.parsers import SpanNodeParser

GONE = "The file is no longer here, so its text is shown. Upload it again."


class Cuts:
    """The documents of one comparison and their chunks, each read from the store at most once.

    Safe to share between threads: two that ask for the same at once both find it, and neither
    waits for the other.

    Attributes:
        comparison: as given.
        documents: by id, in the order they were loaded.
    """

    def __init__(
        self,
        comparison: Comparison,
        documents: Sequence[Document],
        previews: Mapping[str, SpanNodeParser] = MappingProxyType({}),
    ) -> None:
        self.comparison = comparison
        self.documents = {document.id_: document for document in documents}
        self._previews = previews
        self._nodes: dict[tuple[str, str], tuple[TextNode, ...]] = {}
        self._cut: dict[tuple[str, str], tuple[Inside | None, ...]] = {}

    def with_preview(self, strategy: str, parser: SpanNodeParser) -> Cuts:
        """Return the same documents, one strategy of which is split by another parser."""
        previews = {**self._previews, strategy: parser}
        cuts = Cuts(self.comparison, [*self.documents.values()], previews)
        cuts._nodes = {key: nodes for key, nodes in self._nodes.items() if key[0] != strategy}
        cuts._cut = {key: cut for key, cut in self._cut.items() if key[0] != strategy}
        return cuts

    def parser_of(self, strategy: str) -> SpanNodeParser | None:
        """Return the parser whose chunks are drawn; None if there is none of that name."""
        return self._previews.get(strategy) or self.comparison.parsers.get(strategy)

    @property
    def strategies(self) -> tuple[str, ...]:
        """The parsers of the comparison, in its order."""
        return tuple(self.comparison.parsers)

    def name_of(self, document: str) -> str:
        """Name of a document, for display."""
        return display_name(self.documents[document].metadata) or "document"

    def text_of(self, document: str) -> str:
        """The text its chunks are slices of."""
        return self.documents[document].text

    def nodes(self, strategy: str, document: str) -> tuple[TextNode, ...]:
        """A document's chunks as stored, in order; of families the children, which are found.

        Chunks of a splitter of another package that are not located in the document are left out:
        they can be neither drawn nor measured, see `unlocated`.

        Raises:
            StoreError: they cannot be read, for example because the visitor just left.
        """
        return tuple(
            node for node in self._all(strategy, document) if node.start_char_idx is not None
        )

    def unlocated(self, strategy: str, document: str) -> tuple[TextNode, ...]:
        """A document's chunks that stand nowhere in it for certain; none of parsers of ours.

        Raises:
            StoreError: they cannot be read.
        """
        return tuple(node for node in self._all(strategy, document) if node.start_char_idx is None)

    def recovery(self, strategy: str, documents: Sequence[str] | None = None) -> str:
        """Say how many chunks of a splitter of another package are located; "" for our parsers.

        Args:
            strategy: name of the parser.
            documents: ids; None for all of them.

        Raises:
            StoreError: the chunks cannot be read.
        """
        if not isinstance(self.comparison.parsers[strategy], ForeignNodeParser):
            return ""
        asked = list(self.documents) if documents is None else documents
        lost = sum(len(self.unlocated(strategy, document_id)) for document_id in asked)
        chunks = sum(len(self._all(strategy, document_id)) for document_id in asked)
        return recovery_in_words(lost, chunks, always=True)

    def _all(self, strategy: str, document: str) -> tuple[TextNode, ...]:
        index, made = self.comparison.index, self.comparison.statistics.get(strategy)
        if index is None or made is None:
            return ()
        if (strategy, document) not in self._nodes and strategy in self._previews:
            split = self._previews[strategy].get_nodes_from_documents([self.documents[document]])
            leaves = [node for node in leaf_nodes(split) if isinstance(node, TextNode)]
            self._nodes[strategy, document] = tuple(sorted(leaves, key=_in_order))
        elif (strategy, document) not in self._nodes:
            collection = StoredCollection(index.store, made.collection)
            leaves = leaf_nodes(collection.nodes_of(document))
            nodes = sorted(leaves, key=_in_order)
            self._nodes[strategy, document] = tuple(nodes)
        return self._nodes[strategy, document]

    def cut_by(self, strategy: str, document: str) -> tuple[Inside | None, ...]:
        """Return what the beginning of each of a document's chunks splits in two.

        Raises:
            StoreError: they cannot be read.
        """
        if (strategy, document) not in self._cut:
            text = self.text_of(document)
            finder = EdgeFinder(text, format_in(self.documents[document].metadata, text))
            nodes = self.nodes(strategy, document)
            self._cut[strategy, document] = tuple(finder.of(span_of(node)).start for node in nodes)
        return self._cut[strategy, document]

    def edges(self, report: ComparisonReport) -> dict[str, Edges]:
        """Return what the chunks of some answers split in two, by node id, if they are located."""
        finders: dict[str, EdgeFinder] = {}
        found = {}
        for column in report.columns:
            for hit in column.answer.hits if column.answer else ():
                document, span = self.documents.get(hit.node.ref_doc_id or ""), span_of(hit.node)
                if document is None or span.of(document.text) != hit.node.text:
                    continue
                if document.id_ not in finders:
                    text_format = format_in(document.metadata, document.text)
                    finders[document.id_] = EdgeFinder(document.text, text_format)
                found[hit.node.node_id] = finders[document.id_].of(span)
        return found


def _in_order(node: TextNode) -> tuple[int, int]:
    """By place; those without one as their splitter gave them."""
    return node.start_char_idx or 0, int(node.metadata.get(CHUNK_INDEX) or 0)


def span_of(node: TextNode) -> Span:
    """The node's characters in its document."""
    return Span(node.start_char_idx or 0, node.end_char_idx or 0)


class ChunkLocation(NamedTuple):
    """The part of a session's documents to show; what does not exist falls back to the first.

    `strategy` None is the chosen column. `page` counts from 1, `chosen` is the position of a chunk,
    from 0, whose page is shown, and `gold` are characters to point out, whose page is shown first.
    """

    strategy: str | None = None
    document: str | None = None
    page: int = 1
    chosen: int | None = None
    gold: tuple[Span, ...] = ()


class Pages(NamedTuple):
    """The pages in which a document is shown, by the offset of each, and what they are called.

    `path` is the PDF they are printed in, None for documents without; `why` is what to say where
    they are not shown as printed.
    """

    starts: Sequence[int]
    path: Path | None = None
    why: str | None = None
    unit: str = "page"


class Shown(NamedTuple):
    """The part of a document that is shown.

    `strategy` is whose chunks are tinted, "" if there is no parser, `page` counts from 1, `chosen`
    is the position of a chunk and `gold` are characters to point out; `ranks` are those of the
    chunks that were retrieved for `question`, by strategy and id.
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
        """Text of the whole document."""
        return self.cuts.text_of(self.document)

    @property
    def span(self) -> Span:
        """Characters of the page in the document."""
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
        return [piece for piece in self.pieces(strategy) if piece.span.overlap(self.span)]


def pages_of(cuts: Cuts, document: str, paths: Iterable[Path]) -> Pages:
    """The pages of a document: printed where it is one of these files, else parts of its text."""
    known, text = cuts.documents[document].metadata, cuts.text_of(document)
    starts = known.get(PAGE_STARTS)
    if not starts:
        return Pages(part_starts(text, format_in(known, text)), unit="part")
    named = {*sources(known)}
    path = next((path for path in paths if named & {str(path), str(path.resolve())}), None)
    if path is None or path.suffix.lower() != ".pdf":
        return Pages(starts)
    if not path.is_file():
        return Pages(starts, why=GONE)
    return Pages(starts, path)


def page_at(starts: Sequence[int], offset: int) -> int:
    """Number of the page that holds an offset, counted from 1."""
    return PageMap(starts).page_of(offset)
