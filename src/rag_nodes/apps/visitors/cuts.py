"""Chunks that the parsers of a session made of the documents, and the part that is shown."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.schema import TextNode

from rag_nodes.apps.view.rails import DrawnChunk
from rag_nodes.apps.view.rendered import part_starts
from rag_nodes.core.metadata import CHUNK_INDEX, PAGE_STARTS, TOKEN_COUNT, display_name, sources
from rag_nodes.evaluation.engines import StoredCollection, listed_chunks
from rag_nodes.parsers import ForeignNodeParser, leaf_nodes
from rag_nodes.parsers.recovery import recovery_in_words
from rag_nodes.text.edges import EdgeFinder, Edges, Inside
from rag_nodes.text.formats import format_in
from rag_nodes.text.spans import PageMap, Span
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.apps.visitors.turns import Turn
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
        turns: answered questions, for which engines found chunks.
    """

    def __init__(
        self,
        comparison: Comparison,
        documents: Sequence[Document],
        previews: Mapping[str, SpanNodeParser] = MappingProxyType({}),
        turns: Sequence[Turn] = (),
    ) -> None:
        self.comparison = comparison
        self.documents = {document.id_: document for document in documents}
        self.turns = turns
        self._previews = previews
        self._listed: dict[str, list[TextNode]] = {}
        self._nodes: dict[tuple[str, str], tuple[TextNode, ...]] = {}
        self._cut: dict[tuple[str, str], tuple[Inside | None, ...]] = {}

    def with_preview(self, strategy: str, parser: SpanNodeParser) -> Cuts:
        """Return the same documents, one strategy of which is split by another parser."""
        return self._but([strategy], {**self._previews, strategy: parser}, self.turns)

    def with_turns(self, turns: Sequence[Turn]) -> Cuts:
        """Return the same documents, with the chunks that engines found for these questions."""
        return self._but(self.comparison.found, self._previews, turns)

    def _but(
        self,
        strategies: Collection[str],
        previews: Mapping[str, SpanNodeParser],
        turns: Sequence[Turn],
    ) -> Cuts:
        """Return the same documents, of which some strategies have other chunks."""
        cuts = Cuts(self.comparison, [*self.documents.values()], previews, turns)
        cuts._listed = self._listed
        cuts._nodes = {at: nodes for at, nodes in self._nodes.items() if at[0] not in strategies}
        cuts._cut = {at: cut for at, cut in self._cut.items() if at[0] not in strategies}
        return cuts

    def parser_of(self, strategy: str) -> SpanNodeParser | None:
        """Return the parser whose chunks are drawn; None if there is none of that name."""
        return self._previews.get(strategy) or self.comparison.parsers.get(strategy)

    def split_since(self, turn: Turn | None) -> list[str]:
        """Return the names of the columns of a turn that are split otherwise now."""
        asked = [(column.name, column.parser) for column in turn.columns] if turn else []
        return [
            name
            for name, spec in asked
            if (parser := self.parser_of(name)) and parser.fingerprint != spec.get("fingerprint")
        ]

    @property
    def strategies(self) -> tuple[str, ...]:
        """The columns of the comparison, in its order."""
        return self.comparison.names

    def name_of(self, document: str) -> str:
        """Name of a document, for display."""
        return display_name(self.documents[document].metadata, document)

    def text_of(self, document: str) -> str:
        """The text its chunks are slices of."""
        return self.documents[document].text

    def nodes(self, strategy: str, document: str) -> tuple[TextNode, ...]:
        """A document's chunks as stored, in order; of families the children, which are found.

        Of an engine that does not list its chunks, those that it found for the questions so far.
        Chunks of another package that are not located in the document are left out: they can be
        neither drawn nor measured, see `unlocated`.

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
        """Say how many chunks of a splitter of another package are located; "" for others.

        Args:
            strategy: name of the column.
            documents: ids; None for all of them.

        Raises:
            StoreError: the chunks cannot be read.
        """
        if not isinstance(self.comparison.parsers.get(strategy), ForeignNodeParser):
            return ""
        asked = list(self.documents) if documents is None else documents
        lost = sum(len(self.unlocated(strategy, document_id)) for document_id in asked)
        chunks = sum(len(self._all(strategy, document_id)) for document_id in asked)
        return recovery_in_words(lost, chunks, always=True)

    def lists_all(self, strategy: str) -> bool:
        """Return False if only the chunks of an engine that questions found are known."""
        return strategy not in self.comparison.found or bool(self._listed_by(strategy))

    def _listed_by(self, strategy: str) -> list[TextNode]:
        if strategy not in self._listed:
            given = self.comparison.found[strategy]
            self._listed[strategy] = listed_chunks(given, self.comparison.placing)
        return self._listed[strategy]

    def _found_by(self, strategy: str) -> Iterator[TextNode]:
        """Yield the chunks that an engine found for the questions so far."""
        for turn in self.turns:
            for column in turn.columns:
                if column.name == strategy and column.answer:
                    yield from (hit.node for hit in column.answer.hits)

    def _all(self, strategy: str, document: str) -> tuple[TextNode, ...]:
        if strategy in self.comparison.found and (strategy, document) not in self._nodes:
            chunks = chain(self._listed_by(strategy), self._found_by(strategy))
            own = (node for node in chunks if node.ref_doc_id == document)
            # An engine may give a chunk another id for each question.
            nodes = {(node.start_char_idx, node.text): node for node in own}
            self._nodes[strategy, document] = tuple(sorted(nodes.values(), key=_in_order))
        if (strategy, document) in self._nodes:
            return self._nodes[strategy, document]
        index, statistics = self.comparison.index, self.comparison.statistics.get(strategy)
        if index is None or statistics is None:
            return ()
        if strategy in self._previews:
            split = self._previews[strategy].get_nodes_from_documents([self.documents[document]])
            leaves = leaf_nodes(split)
        else:
            collection = StoredCollection(index.store, statistics.collection)
            leaves = leaf_nodes(collection.nodes_of(document))
        self._nodes[strategy, document] = tuple(sorted(leaves, key=_in_order))
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
        edges = {}
        for column in report.columns:
            for hit in column.answer.hits if column.answer else ():
                document, span = self.documents.get(hit.node.ref_doc_id or ""), span_of(hit.node)
                if document is None or span.of(document.text) != hit.node.text:
                    continue
                if document.id_ not in finders:
                    text_format = format_in(document.metadata, document.text)
                    finders[document.id_] = EdgeFinder(document.text, text_format)
                edges[hit.node.node_id] = finders[document.id_].of(span)
        return edges


def _in_order(node: TextNode) -> tuple[int, int]:
    """By place; those without one as their splitter gave them."""
    return node.start_char_idx or 0, int(node.metadata.get(CHUNK_INDEX) or 0)


def span_of(node: TextNode) -> Span:
    """The node's characters in its document."""
    return Span(node.start_char_idx or 0, node.end_char_idx or 0)


def tokens_in(node: TextNode) -> int:
    """Return the tokens of a node, as its parser counted them if it did."""
    return int(node.metadata.get(TOKEN_COUNT) or count_tokens(node.text))


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

    `strategy` is whose chunks are tinted, `page` counts from 1, `chosen` is the position of a chunk
    and `gold` are characters to point out; `ranks` are those of the chunks that were retrieved for
    `question`, by strategy and id; `unasked` strategies were split again since.
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
    unasked: Sequence[str] = ()

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
    metadata, text = cuts.documents[document].metadata, cuts.text_of(document)
    starts = metadata.get(PAGE_STARTS)
    if not starts:
        return Pages(part_starts(text, format_in(metadata, text)), unit="part")
    named = {*sources(metadata)}
    path = next((path for path in paths if named & {str(path), str(path.resolve())}), None)
    if path is None or path.suffix.lower() != ".pdf":
        return Pages(starts)
    if not path.is_file():
        return Pages(starts, why=GONE)
    return Pages(starts, path)


def page_at(starts: Sequence[int], offset: int) -> int:
    """Number of the page that holds an offset, counted from 1."""
    return PageMap(starts).page_of(offset)
