"""Texts of documents as far as chunks hold them, and passages of them as hits."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from math import inf
from statistics import fmean
from typing import TYPE_CHECKING

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo

from rag_nodes.core import metadata as keys
from rag_nodes.query.gaps import gaps_of
from rag_nodes.query.locations import (
    document_of,
    headings_of,
    pages_of,
    part_of,
    sections_of,
    slice_of,
    span_of,
    tokens_of,
)
from rag_nodes.query.reading import leads_of_run
from rag_nodes.text.edges import in_sentence
from rag_nodes.text.filling import Ranked
from rag_nodes.text.formats import format_of
from rag_nodes.text.passages import (
    Read,
    Similarity,
    TextRun,
    joined_runs,
    largest_weight,
    shown_places,
)
from rag_nodes.text.spans import PageMap, Span, merge
from rag_nodes.text.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.query.sentences import HitPiece
    from rag_nodes.query.similarity import Counted
    from rag_nodes.store import Filter, Hit
    from rag_nodes.text.filling import Lead, Repeat


class HeldText:
    """Texts of documents, as far as chunks hold them.

    What a parser left out between two chunks is blank, so sentences are looked for in text without
    a gap. A passage never holds characters that are not stored. The pieces are in rank order.
    """

    def __init__(self, pieces: Sequence[HitPiece]) -> None:
        self.pieces = pieces
        self._by_document: dict[str, list[HitPiece]] = defaultdict(list)
        for piece in pieces:
            self._by_document[piece.passage.document].append(piece)
        self._held = {
            document: merge([piece.passage.span for piece in own])
            for document, own in self._by_document.items()
        }
        self._gaps = gaps_of(pieces)
        self._bridged_spans: dict[TextRun, list[Span]] = {}
        self._leads: dict[TextRun, tuple[Lead, ...]] = {}
        self._tables: dict[TextRun, Tables] = {}
        self.runs = joined_runs(
            TextRun(
                passage.document,
                passage.span.start,
                passage.text + self._white_space_after(passage),
                headings_of(hit.read, 0),
                str(hit.read.metadata.get(keys.TABLE_HEADER) or ""),
            )
            for hit, passage in pieces
        )

    def _white_space_after(self, passage: Ranked) -> str:
        gap = self._gaps.get((passage.document, passage.span.end))
        return gap.text if gap else ""

    def similarity(self, counted: Counted) -> Similarity | None:
        """Return the similarity of the chunk at a place; None if no chunk has any.

        Of chunks that were not found it is not known, and at most that of the worst that was.
        """
        scored = [(hit, passage, counted.of(hit)) for hit, passage in self.pieces]
        values = [value for _, _, value in scored if value is not None]
        if not values:
            return None
        least = min(values)
        chunks: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for _, passage, value in scored:
            similarity = least if value is None else value
            insort(chunks[passage.document], (passage.span.start, -similarity))

        def near(run: TextRun, offset: int) -> float:
            own = chunks[run.document]
            return -own[max(0, bisect_right(own, (offset, inf)) - 1)][1]

        weight = largest_weight(fmean(tokens_of(hit.node) for hit, _ in self.pieces))
        return Similarity(near, lambda language: counted.largest(language, weight))

    def within(self, scope: Filter) -> dict[str, list[Span]]:
        """Return the parts of each document on the pages and below the headings of a filter.

        A document without known pages and headings is left out. A document in which no part is on
        the pages and below the headings has an empty list.
        """
        within: dict[str, list[Span]] = {}
        for document, pieces in self._by_document.items():
            reads = [piece.hit.read for piece in pieces]
            sections = [
                (PageMap.of(read.metadata), *section)
                for read in reads
                for section in sections_of(read)
            ]
            wanted = scope.pages if any(pages for pages, _, _ in sections) else None
            by_headings = scope.has_headings and any(path for _, _, path in sections)
            if wanted or by_headings:
                below = (
                    _on_pages(section, pages, wanted)
                    for pages, section, path in sections
                    if not by_headings or scope.is_under([path])
                )
                within[document] = merge([*filter(None, below)])
        return within

    def passage(self, read: Read) -> Ranked:
        """Return the characters of a passage, also those that no chunk holds."""
        return self._passage(self.runs[read.run], read.span, read.best)

    def read_of(self, passage: Ranked, span: Span) -> Read:
        """Return characters around a chunk as a passage, as far as its run goes."""
        number = next(
            number
            for number, run in enumerate(self.runs)
            if run.document == passage.document
            and run.start <= passage.span.start < run.start + len(run.text)
        )
        return Read(number, span, 0.0, passage.core or span)

    def joined(self, reads: Sequence[Read]) -> list[Read]:
        """Passages with only blank space between them as one, in the place of the best of them.

        Unless the page is turned there: what an answer cites should be on one page.
        """
        best: list[tuple[int, Read]] = []
        for rank, read in sorted(enumerate(reads), key=lambda entry: (entry[1].run, entry[1].span)):
            if best and self._continues(best[-1][1], read):
                first, before = best.pop()
                span = Span(before.span.start, read.span.end)
                place = min(rank, first)
                best.append((place, reads[place]._replace(span=span)))
            else:
                best.append((rank, read))
        return [read for _, read in sorted(best)]

    def _continues(self, before: Read, read: Read) -> bool:
        """Return True if a passage continues another."""
        run, end, start = self.runs[read.run], before.span.end, read.span.start
        if before.run != read.run or not _text(run, Span(end, start)).isspace():
            return False
        return self._page(run.document, before.span.start) == self._page(run.document, start)

    def _page(self, document: str, offset: int) -> int | None:
        for hit, passage in self._by_document[document]:
            if passage.span.start <= offset < passage.span.end:
                at = offset - passage.span.start
                return pages_of(hit.read, at, at + 1)[0]
        return None

    def parts(self, read: Read) -> Iterator[Ranked]:
        """The characters of a passage that chunks hold, and white space inside its sentences.

        Two parts where a chunk ends with a sentence and white space follows, or inside a sentence
        if nobody knows which white space.
        """
        run = self.runs[read.run]
        for held in self._bridged(run):
            if span := held.common(read.span):
                yield self._passage(run, span, read.best and read.best.common(span))

    def _passage(self, run: TextRun, span: Span, best: Span | None) -> Ranked:
        """Return characters of a run with the lines before parts that begin inside a table."""
        if run not in self._leads:
            pieces = self._by_document[run.document]
            starts = [piece.passage.span.start for piece in pieces]
            turned = (piece.hit.read.metadata.get(keys.PAGE_BREAKS) or () for piece in pieces)
            page = partial(self._page, run.document)
            self._leads[run] = leads_of_run(run, chain(starts, *turned), page)
        leads = tuple(lead for lead in self._leads[run] if lead.span.overlap(span))
        return Ranked(run.document, span, _text(run, span), best, leads)

    def _bridged(self, run: TextRun) -> list[Span]:
        """Return the parts of a document that chunks hold, joined where a sentence continues."""
        if run not in self._bridged_spans:  # each budget asks again for each passage
            held = self._held[run.document]
            ends = (self._gaps.get((run.document, span.end)) for span in held)
            own = (
                gap.span
                for gap in ends
                if gap and gap.is_sure and self._is_in_sentence(run, gap.span)
            )
            self._bridged_spans[run] = merge([*held, *own])
        return self._bridged_spans[run]

    def _is_in_sentence(self, run: TextRun, gap: Span) -> bool:
        start = gap.start - run.start
        return 0 < start < len(run.text) and in_sentence(run.text, start)

    def hit(self, passage: Ranked) -> Hit:
        """The hit of a passage: the chunk that holds its best sentence, or most of that.

        Of chunks that hold as much, the one that was found rather than read beside another, and the
        best of these.
        """
        span, best = passage.span, passage.core or passage.span
        own = [
            excerpt
            for excerpt in self._by_document[passage.document]
            if _meet(excerpt.passage.span, span)
        ]
        piece = max(
            own,
            key=lambda excerpt: (
                _overlap(excerpt.hit.node, best),
                excerpt.passage.span.overlap(span),
                excerpt.hit.origin == "search",
                -excerpt.hit.rank,
            ),
        )
        hit = piece.hit
        if span_of(hit.read) is None:
            whole = span == piece.passage.span
            return hit if whole else replace(hit, surroundings=part_of(hit.read, *span))
        header = self._header_above(passage)
        for node in (hit.node, hit.read):
            if span_of(node) == span and (not header or keys.TABLE_HEADER in node.metadata):
                return replace(hit, surroundings=None if node is hit.node else node)
        nodes = [excerpt.hit.read for excerpt in own]
        between = [
            gap.node()
            for (document, _), gap in self._gaps.items()
            if document == passage.document and gap.span.overlap(span)
        ]
        return replace(hit, surroundings=slice_of([*nodes, *between], span, header))

    def _header_above(self, passage: Ranked) -> str:
        """Return the header rows of the table that a passage begins inside of; "" for none."""
        start = passage.span.start
        if passage.lead_at(start) is None:
            return ""
        run = self.runs[self.read_of(passage, passage.span).run]
        if run not in self._tables:
            self._tables[run] = Tables.of(run.text, format_of(run.text), run.table_header)
        return self._tables[run].header_at(start - run.start)

    def hit_with_places(self, passage: Ranked) -> Hit:
        """Return the hit of a passage with the places of other documents that repeat it."""
        hit, also = self.hit(passage), self.nodes_of(passage.repeats, passage)
        return replace(hit, also=also) if also else hit

    def nodes_of(self, repeats: Sequence[Repeat], passage: Ranked) -> tuple[TextNode, ...]:
        """Return the places that repeat a passage as slices of their documents.

        Chunks without a known place are documents of their own here; those in the document
        of the passage are no further place.
        """
        shown = shown_places(each for each in repeats if each.document != passage.document)
        if not shown:
            return ()
        nodes = (self.hit(Ranked(document, span, "")).read for document, span in shown)
        own = document_of(self.hit(passage).node)
        return tuple(node for node in nodes if document_of(node) != own)

    def link(self, hits: Sequence[Hit]) -> None:
        """Note where only blank space is between what is read, so that nothing seems left out."""
        placed = [
            (document_of(hit.read), *span, hit.read) for hit in hits if (span := span_of(hit.read))
        ]
        for before, after in pairwise(sorted(placed, key=lambda entry: entry[:3])):
            between = Span(before[2], after[1])
            if before[0] == after[0] and self._is_blank(before[0], between):
                _relate(before[3], NodeRelationship.NEXT, after[3])
                _relate(after[3], NodeRelationship.PREVIOUS, before[3])

    def _is_blank(self, document: str, span: Span) -> bool:
        return any(
            run.document == document
            and run.start <= span.start
            and span.end <= run.start + len(run.text)
            and _text(run, span).isspace()
            for run in self.runs
        )


def _on_pages(part: Span, pages: PageMap | None, wanted: tuple[int, int] | None) -> Span | None:
    """Return as much of a part as is on the wanted pages; None stands for all pages."""
    if wanted is None:
        return part
    span = pages.span(*wanted, part.end) if pages else None
    return part.common(span) if span else None


def _text(run: TextRun, span: Span) -> str:
    return run.text[span.start - run.start : span.end - run.start]


def _relate(node: TextNode, kind: NodeRelationship, other: TextNode) -> None:
    """Set a relationship of a slice made here; stored nodes have theirs already."""
    if kind not in node.relationships:
        node.relationships[kind] = RelatedNodeInfo(node_id=other.node_id)


def _meet(span: Span, other: Span) -> bool:
    """Return True if both hold a character; called for every chunk and every passage."""
    return span.start < other.end and other.start < span.end


def _overlap(node: TextNode, span: Span) -> int:
    own = span_of(node)
    return own.overlap(span) if own else 0
