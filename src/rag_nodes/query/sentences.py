"""Chunks that were found in, the sentences of them that answer out: reading without a chunk size.

`rag_nodes.text.ladder` says which sentences. Here chunks are joined to the text they were cut from,
and what is chosen becomes hits again: each with the chunk that holds it, and exactly the characters
that are read, which together fill the budget.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo

from rag_nodes.query.packing import passage_of
from rag_nodes.query.places import document_of, related, span_of
from rag_nodes.query.slices import part_of, slice_of
from rag_nodes.text.filling import Ranked, fill
from rag_nodes.text.ladder import Run, best_passages, joined_runs
from rag_nodes.text.spans import Span, merge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.store import Hit


class _Piece(NamedTuple):
    """A hit with the text that may be read because of it."""

    hit: Hit
    passage: Ranked


class _Found(NamedTuple):
    """What is worth reading, and what it scores: 1 is the best of its question."""

    passage: Ranked
    score: float


def best_sentences(question: str, hits: Sequence[Hit], budget: int) -> list[Hit]:
    """What to read of chunks that were found, best first, until a budget is full.

    Passages of whole sentences, ranked by the question's words; where these are in none of the
    chunks, or do not fill the budget, chunks follow as they were ranked.

    Args:
        question: in the user's words.
        hits: what may be read, in rank order: what was found, and what stands beside it.
        budget: tokens of all that is read.

    Returns:
        Hits that share no character, ranks counted anew. `node` is the chunk that holds the
        passage, or most of it; `read` is the passage. The score is the share of the best passage's.
    """
    text = _Text([_Piece(hit, passage_of(hit)) for hit in hits])
    found = list(text.passages(question, budget))
    best = max((one.score for one in found), default=0.0)
    least = min((one.score / best for one in found), default=1.0)
    rest = [one for one in text.pieces if one.hit.origin == "search"]
    ranked = [
        *(one._replace(score=one.score / best) for one in found),
        *(_Found(one.passage, min(least, one.hit.score)) for one in rest),
    ]
    filled = fill((one.passage for one in ranked), budget)
    chosen: list[Hit] = []
    for (passage, score), parts in zip(ranked, filled.parts, strict=False):
        for part in parts:
            hit = text.hit(passage.document, part)
            chosen.append(replace(hit, rank=len(chosen) + 1, score=min(score, 1.0)))
    text.link(chosen)
    return chosen


class _Text:
    """What may be read, by document.

    What a parser left out between two chunks is blank, so both are text without a gap.

    Args:
        pieces: in rank order.
    """

    def __init__(self, pieces: Sequence[_Piece]) -> None:
        self.pieces = pieces
        self._by_document: dict[str, list[_Piece]] = defaultdict(list)
        for piece in pieces:
            self._by_document[piece.passage.document].append(piece)
        self._held = {
            document: merge([piece.passage.span for piece in own])
            for document, own in self._by_document.items()
        }
        gaps = _gaps(pieces)
        self._runs = joined_runs(
            Run(one.document, one.span.start, one.text + "\n" * gaps.get(_end(one), 0))
            for _, one in pieces
        )

    def passages(self, question: str, budget: int) -> Iterator[_Found]:
        """The best sentences and what belongs to them, as far as they have a word of the question.

        One that goes on in the next chunk, behind blank space, is read as two.
        """
        for read in best_passages(question, self._runs, budget):
            run = self._runs[read.run]
            if read.score <= 0:
                continue
            for held in self._held[run.document]:
                if held.overlap(read.span):
                    span = Span(max(held.start, read.span.start), min(held.end, read.span.end))
                    yield _Found(Ranked(run.document, span, _text(run, span)), read.score)

    def hit(self, document: str, span: Span) -> Hit:
        """The hit of some characters: the chunk that holds most of them, and they as what is read.

        Of chunks that hold as much, the one that was found rather than read beside another, and the
        best of these.
        """
        own = self._by_document[document]
        piece = max(
            own,
            key=lambda one: (
                _overlap(one.hit.node, span),
                one.passage.span.overlap(span),
                one.hit.origin == "search",
                -one.hit.rank,
            ),
        )
        if span_of(piece.hit.read) is None:
            whole = span == piece.passage.span
            return (
                piece.hit
                if whole
                else replace(piece.hit, surroundings=part_of(piece.hit.read, *span))
            )
        for node in (piece.hit.node, piece.hit.read):
            if span_of(node) == span:
                return replace(piece.hit, surroundings=None if node is piece.hit.node else node)
        nodes = [one.hit.read for one in own]
        return replace(piece.hit, surroundings=slice_of(nodes, span))

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
            for run in self._runs
        )


def _text(run: Run, span: Span) -> str:
    return run.text[span.start - run.start : span.end - run.start]


def _gaps(pieces: Sequence[_Piece]) -> dict[tuple[str, int], int]:
    """Where a chunk ends before the next one begins: characters between them."""
    starts = {
        piece.hit.node.node_id: piece.passage.span.start
        for piece in pieces
        if span_of(piece.hit.read)
    }
    gaps = {}
    for hit, passage in pieces:
        following = related(hit.read, NodeRelationship.NEXT)
        if following in starts:
            gaps[_end(passage)] = starts[following] - passage.span.end
    return gaps


def _end(passage: Ranked) -> tuple[str, int]:
    return passage.document, passage.span.end


def _relate(node: TextNode, kind: NodeRelationship, other: TextNode) -> None:
    """Of a slice made here; stored nodes have their neighbours already."""
    if kind not in node.relationships:
        node.relationships[kind] = RelatedNodeInfo(node_id=other.node_id)


def _overlap(node: TextNode, span: Span) -> int:
    own = span_of(node)
    return own.overlap(span) if own else 0
