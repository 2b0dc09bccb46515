"""Chunks that were found in, the sentences of them that answer out: reading without a chunk size.

`rag_nodes.text.passages` says which sentences. Here chunks are joined to the text they were split
from, and what is chosen becomes hits again: each with the chunk that holds it, and exactly the
characters that are read, which together fill the budget.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.query.held import HeldText
from rag_nodes.query.locations import span_of
from rag_nodes.query.reading import passage_of, plain_passage_of
from rag_nodes.text.filling import Ranked, fill
from rag_nodes.text.passages import PassageRanker, Repeats
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag_nodes.query.similarity import Counted
    from rag_nodes.store import Filter, Hit
    from rag_nodes.text.passages import Read


class HitPiece(NamedTuple):
    """A hit with the text that may be read because of it."""

    hit: Hit
    passage: Ranked


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
        scope: filter on whose pages and below whose headings sentences begin that may be read.
    """

    def __init__(
        self,
        question: str,
        hits: Sequence[Hit],
        counted: Counted | None = None,
        scope: Filter | None = None,
    ) -> None:
        self._text = HeldText(credible([HitPiece(hit, passage_of(hit)) for hit in hits]))
        similarity = self._text.similarity(counted) if counted else None
        within = self._text.within(scope) if scope else None
        self._ranker = PassageRanker(question, self._text.runs, similarity, within)

    def passages(self, budget: int) -> list[Ranked]:
        """Return the passages to read, best first, disjoint and filling the budget."""
        return [read.passage for read in self._read(budget)]

    def hits(self, budget: int, *, repeats_leads: bool = False) -> list[Hit]:
        """The same as hits, ranks counted again.

        `node` is the chunk that holds the best sentence of the passage; `read` is the passage. The
        score is the share of the best passage's. With `repeats_leads`, the budget counts the line
        `Table: A | B` in every passage that has it, else once for each table and page.
        """
        passages = self._read(budget, repeats_leads=repeats_leads)
        chosen = [
            replace(self._text.hit_with_places(read.passage), rank=rank, score=read.score)
            for rank, read in enumerate(passages, start=1)
        ]
        self._text.link(chosen)
        return chosen

    def _read(self, budget: int, *, repeats_leads: bool = False) -> Iterator[_Found]:
        ranked: list[_Found] = []

        def passages(*, headings: bool) -> Iterator[Ranked]:
            for read in self._ranked(budget):
                if read.passage.sentences or headings:
                    ranked.append(read)
                    yield read.passage

        filled = fill(passages(headings=False), budget, repeats_leads=repeats_leads)
        if not ranked:  # there is nothing but headings
            filled = fill(passages(headings=True), budget)
        for read, parts in zip(ranked, filled.parts, strict=False):
            for part in parts:
                start = read.passage.span.start
                text = read.passage.text[part.start - start : part.end - start]
                core = read.passage.core and read.passage.core.common(part)
                passage = read.passage._replace(span=part, text=text, core=core)
                yield _Found(self._known(passage), read.score)

    def _known(self, passage: Ranked) -> Ranked:
        """Return a passage with its sentences and the places that repeat them."""
        sentences = self._ranker.sentences(passage.document, passage.span)
        own = (sentence.common(passage.span) for sentence in sentences)
        places = self._ranker.repeats.places(passage.document, passage.span)
        return passage._replace(repeats=tuple(places), sentences=tuple(filter(None, own)))

    def _ranked(self, budget: int) -> Iterator[_Found]:
        """Passages with a word of the question, then chunks; scores from 1 down to 0."""
        reads = [read for read in self._ranker.passages(budget) if read.score > 0]
        least = 1.0
        for read in self._text.joined(self._within(reads, budget)):
            least = read.score / reads[0].score
            # The part with the best sentence first: what comes first may be all there is room for.
            for passage in sorted(self._text.parts(read), key=lambda part: part.core is None):
                yield _Found(self._known(passage), least)
        for hit, passage in self._text.pieces:
            for span in self._ranker.limited(passage.document, passage.span):
                if hit.origin == "search" and span.length:
                    least = min(least, hit.score)
                    for part in self._text.parts(self._in_whole_sentences(passage, span)):
                        yield _Found(self._known(part), max(0.0, least))

    def _within(self, reads: Sequence[Read], budget: int) -> list[Read]:
        """As much as fits of passages, best first.

        Before they are joined: what does not fit is the last of them, not one that is better.
        """
        ranked = [self._known(self._text.passage(read)) for read in reads]
        pairs = zip(reads, fill(ranked, budget).parts, strict=False)
        return [
            read._replace(span=Span(parts[0].start, parts[-1].end))
            for read, parts in pairs
            if parts
        ]

    def _in_whole_sentences(self, passage: Ranked, span: Span) -> Read:
        """Return part of a chunk with the rest of the sentences that it begins and ends inside."""
        for sentence in self._ranker.sentences(passage.document, span):
            span = span.union(sentence)
        return self._text.read_of(passage, span)


def with_places(hits: Sequence[Hit]) -> list[Hit]:
    """Return whole chunks with the places of other documents that repeat what is read of them."""
    pieces = credible([HitPiece(hit, plain_passage_of(hit)) for hit in hits])
    text = HeldText(pieces)
    repeats = Repeats.of(text.runs)
    result = []
    for hit, (own, passage) in zip(hits, pieces, strict=True):
        places = repeats.places(passage.document, passage.span) if own is hit else ()
        also = text.nodes_of(places, passage)
        result.append(replace(hit, also=also) if also else hit)
    return result


def credible(pieces: Sequence[HitPiece]) -> list[HitPiece]:
    """The pieces, those without a place whose text contradicts that of another at the same place.

    Splitters that search for their chunks in the text can find an earlier one that begins alike.
    """
    reached: dict[str, Ranked] = {}
    wrong: set[int] = set()
    placed = [piece for piece in pieces if span_of(piece.hit.read)]
    for piece in sorted(placed, key=lambda entry: entry.passage.span):
        passage = piece.passage
        before = reached.get(passage.document)
        if before and not _agree(before, passage):
            wrong.add(id(piece))
        elif not before or passage.span.end > before.span.end:
            reached[passage.document] = passage
    return [_without_place(piece.hit) if id(piece) in wrong else piece for piece in pieces]


def _agree(first: Ranked, second: Ranked) -> bool:
    """Return True if two passages agree where they overlap; the first begins first."""
    common = first.span.overlap(second.span)
    start = second.span.start - first.span.start
    return first.text[start : start + common] == second.text[:common]


def _without_place(hit: Hit) -> HitPiece:
    unknown = {"start_char_idx": None, "end_char_idx": None}
    hit = replace(hit, node=hit.read.model_copy(update=unknown), surroundings=None)
    return HitPiece(hit, passage_of(hit))
