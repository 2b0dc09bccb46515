"""Hits as passages of their documents, those that contradict others without a place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.query.locations import span_of
from rag_nodes.query.reading import passage_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.store import Hit
    from rag_nodes.text.filling import Ranked


class HitPiece(NamedTuple):
    """A hit with the text that may be read because of it."""

    hit: Hit
    passage: Ranked


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
