"""The text of a document on one of its printed pages: boxes of spans, runs of characters."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.readers.pdf.engines.geometry import union
from rag_nodes.readers.pdf.places import boxes_of
from rag_nodes.text.alignment import letters_of
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag_nodes.readers.pdf.engines.protocol import Box
    from rag_nodes.readers.pdf.places import PrintedPage

LEAST_PLACED = 0.8
"""Share of the letters of a piece below which it counts as not found: no guess is drawn."""


class PlacedText(NamedTuple):
    """Characters that follow each other in the text and on a line of the page."""

    text: str
    start: int
    box: Box


class PdfSurface:
    """A printed page.

    Args:
        page: size and characters of the page.
        places: for each character of `text` the position of its glyph on the page, -1 for none.
        text: text of the document on this page.
        start: offset of the text in the document.
    """

    def __init__(self, page: PrintedPage, places: Sequence[int], text: str, start: int = 0) -> None:
        self.page = page
        self.places = places
        self.text = text
        self.span = Span(start, start + len(text))

    def placed(self, span: Span) -> list[int]:
        """Return positions of the glyphs that show a span on this page; none below 80 %."""
        low, high = self._within(span)
        places = self.places[low:high]
        letters = letters_of(self.text[low:high])
        located = sum(places[at] >= 0 for at in letters)
        return [at for at in places if at >= 0] if located >= LEAST_PLACED * len(letters) else []

    def is_lost(self, span: Span) -> bool:
        """Return True if a span has letters on this page, but no place."""
        low, high = self._within(span)
        return bool(letters_of(self.text[low:high])) and not self.placed(span)

    def boxes(self, span: Span) -> list[Box]:
        """Return the boxes that a span covers on this page, in points; none if it is not found."""
        return boxes_of(self.placed(span), self.page.glyphs)

    def runs(self) -> Iterator[PlacedText]:
        """Yield the text of the page in pieces that can be selected, in the order of the text."""
        places, lines = self.places, self.page.glyphs.lines
        shown = [at for at, on in enumerate(places) if on >= 0]
        starts = [
            at
            for before, at in pairwise([-1, *shown])
            if before < 0
            or lines[places[before]] != lines[places[at]]
            or places[at] < places[before]
            or self.text[before + 1 : at].strip()
            or "\n" in self.text[before + 1 : at]
        ]
        for start, after in pairwise([*starts, len(self.text)]):
            end = shown[bisect_right(shown, after - 1) - 1] + 1
            box = union(self.page.glyphs.boxes[at] for at in places[start:end] if at >= 0)
            yield PlacedText(self.text[start:end], self.span.start + start, box)

    def _within(self, span: Span) -> tuple[int, int]:
        low, high = (min(max(at - self.span.start, 0), len(self.text)) for at in span)
        return low, high
