"""Chunks that were found in, the sentences of them that answer out: reading without a chunk size.

`rag_nodes.text.passages` says which sentences. Here chunks are joined to the text they were cut
from, and what is chosen becomes hits again: each with the chunk that holds it, and exactly the
characters that are read, which together fill the budget.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from math import inf
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo

from rag_nodes.core import metadata as keys
from rag_nodes.query.gaps import gaps_of
from rag_nodes.query.leads import leads_of_run
from rag_nodes.query.locations import (
    document_of,
    headings_of,
    pages_of,
    part_of,
    slice_of,
    span_of,
    tokens_of,
)
from rag_nodes.query.pieces import HitPiece, credible
from rag_nodes.query.reading import passage_of
from rag_nodes.text.edges import in_sentence
from rag_nodes.text.filling import Ranked, fill
from rag_nodes.text.passages import (
    PassageRanker,
    Similarity,
    TextRun,
    joined_runs,
    largest_weight,
)
from rag_nodes.text.spans import Span, merge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.query.similarity import Counted
    from rag_nodes.store import Hit
    from rag_nodes.text.filling import Lead
    from rag_nodes.text.passages import Read


class _Found(NamedTuple):
    """Passage worth reading, and its score: 1 is the best of its question."""

    passage: Ranked
    score: float


class Sentences:
    """The sentences of chunks that were found, ranked for a question, for any number of budgets.

    Passages of whole sentences, ranked by the question's words; where these are in none of the
    chunks, or do not fill a budget, chunks follow as they were ranked.

    Args:
        question: in the user's words.
        hits: what may be read, in rank order: what was found, and what stands beside it.
        counted: the similarity that counts beside the words; None to let words decide alone.
    """

    def __init__(self, question: str, hits: Sequence[Hit], counted: Counted | None = None) -> None:
        self._text = _Text(credible([HitPiece(hit, passage_of(hit)) for hit in hits]))
        similarity = self._text.similarity(counted) if counted else None
        self._ranker = PassageRanker(question, self._text.runs, similarity)

    def passages(self, budget: int) -> list[Ranked]:
        """Return the passages to read, best first, disjoint and filling the budget."""
        return [one.passage for one in self._read(budget)]

    def hits(self, budget: int) -> list[Hit]:
        """The same as hits, ranks counted anew.

        `node` is the chunk that holds the best sentence of the passage; `read` is the passage. The
        score is the share of the best passage's.
        """
        chosen = [
            replace(self._text.hit(one.passage), rank=rank, score=one.score)
            for rank, one in enumerate(self._read(budget), start=1)
        ]
        self._text.link(chosen)
        return chosen

    def _read(self, budget: int) -> Iterator[_Found]:
        ranked = list(self._ranked(budget))
        filled = fill((one.passage for one in ranked), budget)
        for one, parts in zip(ranked, filled.parts, strict=False):
            for part in parts:
                start = one.passage.span.start
                text = one.passage.text[part.start - start : part.end - start]
                core = _inside(one.passage.core, part)
                yield _Found(one.passage._replace(span=part, text=text, core=core), one.score)

    def _ranked(self, budget: int) -> Iterator[_Found]:
        """Passages with a word of the question, then chunks; scores from 1 down to 0."""
        reads = [read for read in self._ranker.passages(budget) if read.score > 0]
        least = 1.0
        for read in self._text.joined(self._text.within(reads, budget)):
            least = read.score / reads[0].score
            # The part with the best sentence first: what comes first may be all there is room for.
            for passage in sorted(self._text.parts(read), key=lambda one: one.core is None):
                yield _Found(passage, least)
        for hit, passage in self._text.pieces:
            if hit.origin == "search":
                least = min(least, hit.score)
                yield _Found(passage, max(0.0, least))


class _Text:
    """Texts of documents, as far as chunks hold them.

    What a parser left out between two chunks is blank, so both are text without a gap. The pieces
    are in rank order.
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
        self.runs = joined_runs(
            TextRun(
                one.document,
                one.span.start,
                one.text + self._white_space_after(one),
                headings_of(hit.read, 0),
                str(hit.read.metadata.get(keys.TABLE_HEADER) or ""),
            )
            for hit, one in pieces
        )

    def _white_space_after(self, passage: Ranked) -> str:
        gap = self._gaps.get((passage.document, passage.span.end))
        return gap.text if gap else ""

    def similarity(self, counted: Counted) -> Similarity | None:
        """Return the similarity of the chunk at a place; None if no chunk has any.

        Of chunks that were not found it is not known, and at most that of the worst that was.
        """
        found = [(hit, passage, counted.of(hit)) for hit, passage in self.pieces]
        known = [value for _, _, value in found if value is not None]
        if not known:
            return None
        least = min(known)
        chunks: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for _, passage, value in found:
            similarity = least if value is None else value
            insort(chunks[passage.document], (passage.span.start, -similarity))

        def near(run: TextRun, offset: int) -> float:
            own = chunks[run.document]
            return -own[max(0, bisect_right(own, (offset, inf)) - 1)][1]

        weight = largest_weight(fmean(tokens_of(hit.node) for hit, _ in self.pieces))
        return Similarity(near, lambda language: counted.largest(language, weight))

    def within(self, reads: Sequence[Read], budget: int) -> list[Read]:
        """As much as fits of passages, best first.

        Before they are joined: what is cut is the last of them, not one that is better.
        """
        runs = [self.runs[read.run] for read in reads]
        ranked = [
            self._passage(run, one.span, one.best) for run, one in zip(runs, reads, strict=True)
        ]
        found = zip(reads, fill(ranked, budget).parts, strict=False)
        return [
            one._replace(span=Span(parts[0].start, parts[-1].end)) for one, parts in found if parts
        ]

    def joined(self, reads: Sequence[Read]) -> list[Read]:
        """Passages with only blank space between them as one, in the place of the best of them.

        Unless the page is turned there: what an answer cites should be on one page.
        """
        best: list[tuple[int, Read]] = []
        for rank, read in sorted(enumerate(reads), key=lambda one: (one[1].run, one[1].span)):
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

        Two parts where a chunk ends with a sentence and white space follows, which nobody holds.
        """
        run = self.runs[read.run]
        for held in self._bridged(run):
            if held.overlap(read.span):
                span = Span(max(held.start, read.span.start), min(held.end, read.span.end))
                yield self._passage(run, span, _inside(read.best, span))

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
            own = (gap.span for gap in ends if gap and self._is_inside_sentence(run, gap.span))
            self._bridged_spans[run] = merge([*held, *own])
        return self._bridged_spans[run]

    def _is_inside_sentence(self, run: TextRun, gap: Span) -> bool:
        start = gap.start - run.start
        return 0 < start < len(run.text) and in_sentence(run.text, start)

    def hit(self, passage: Ranked) -> Hit:
        """The hit of a passage: the chunk that holds its best sentence, or most of that.

        Of chunks that hold as much, the one that was found rather than read beside another, and the
        best of these.
        """
        span, best = passage.span, passage.core or passage.span
        own = [one for one in self._by_document[passage.document] if _meet(one.passage.span, span)]
        piece = max(
            own,
            key=lambda one: (
                _overlap(one.hit.node, best),
                one.passage.span.overlap(span),
                one.hit.origin == "search",
                -one.hit.rank,
            ),
        )
        hit = piece.hit
        if span_of(hit.read) is None:
            whole = span == piece.passage.span
            return hit if whole else replace(hit, surroundings=part_of(hit.read, *span))
        for node in (hit.node, hit.read):
            if span_of(node) == span:
                return replace(hit, surroundings=None if node is hit.node else node)
        nodes = [one.hit.read for one in own]
        between = [
            gap.node()
            for (document, _), gap in self._gaps.items()
            if document == passage.document and gap.span.overlap(span)
        ]
        return replace(hit, surroundings=slice_of([*nodes, *between], span))

    def link(self, hits: Sequence[Hit]) -> None:
        """Note where only blank space is between what is read, so that nothing seems left out."""
        placed = [
            (document_of(hit.read), *span, hit.read) for hit in hits if (span := span_of(hit.read))
        ]
        for before, after in pairwise(sorted(placed, key=lambda one: one[:3])):
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


def _text(run: TextRun, span: Span) -> str:
    return run.text[span.start - run.start : span.end - run.start]


def _relate(node: TextNode, kind: NodeRelationship, other: TextNode) -> None:
    """Set a relationship of a slice made here; stored nodes have theirs already."""
    if kind not in node.relationships:
        node.relationships[kind] = RelatedNodeInfo(node_id=other.node_id)


def _inside(core: Span | None, span: Span) -> Span | None:
    """As much of the best sentence as is there."""
    if core is None or not core.overlap(span):
        return None
    return Span(max(core.start, span.start), min(core.end, span.end))


def _meet(one: Span, other: Span) -> bool:
    """Return True if both hold a character; called for every chunk and every passage."""
    return one.start < other.end and other.start < one.end


def _overlap(node: TextNode, span: Span) -> int:
    own = span_of(node)
    return own.overlap(span) if own else 0
