"""Retrieved text that several parsers found, and text that only one of them found."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rag_nodes.query.locations import document_of, span_of
from rag_nodes.text.spans import Span, merge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_nodes.query import Hit

_MIN_SHARE = 0.5
"""Share of a hit's characters another parser must have found to have found it too."""


def found_also_by(columns: Mapping[str, Sequence[Hit]]) -> dict[tuple[str, int], tuple[str, ...]]:
    """For every hit the other parsers that found most of the same text of the same document.

    Args:
        columns: the hits of each parser.

    Returns:
        Names of parsers by parser and rank. A hit whose place in its document is unknown is
        left out.
    """
    places = {name: _places(hits) for name, hits in columns.items()}
    return {
        (name, hit.rank): tuple(
            other
            for other, spans in places.items()
            if other != name and _covered(span, spans.get(document, ())) >= _MIN_SHARE * span.length
        )
        for name, hits in columns.items()
        for hit in hits
        if (place := _place(hit))
        for document, span in [place]
    }


def _place(hit: Hit) -> tuple[str, Span] | None:
    span = span_of(hit.found)
    return None if span is None else (document_of(hit.node), span)


def _places(hits: Sequence[Hit]) -> dict[str, list[Span]]:
    """Per document the spans that were found, disjoint."""
    places: dict[str, list[Span]] = defaultdict(list)
    for hit in hits:
        if place := _place(hit):
            places[place[0]].append(place[1])
    return {document: merge(spans) for document, spans in places.items()}


def _covered(span: Span, others: Sequence[Span]) -> int:
    """Characters of `span` that disjoint spans hold."""
    return sum(span.overlap(other) for other in others)
