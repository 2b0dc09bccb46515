"""Location of a foreign splitter's chunks in a document: certain, or none.

Whatever a splitter does to blank space, the visible characters of a chunk stand in the document as
they are. So the search is one among visible characters. A chunk is located where it follows the one
before it without a gap or overlaps it, if there is one such place only. Where text was left out
before it, it must be long and stand once in what comes next. All else has no place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rag_nodes.parsers.foreign.chunks import ForeignChunk
from rag_nodes.text.spans import Span

_LEAST = 20
"""Visible characters of a chunk that is looked for elsewhere than next to the one before it."""
_REACH = 50_000
"""Visible characters that a splitter leaves out at most between two chunks."""
_LOOKS = 50
"""Average number of times that a character of the document may be looked at: cost stays linear."""
_LAST_BLANK = 0x3000
"""The highest code point of blank space."""


def place(text: Visible, pieces: Sequence[ForeignChunk], overlap: int | None) -> list[Span | None]:
    """The span of each piece; None where it has no place that is certain.

    Pieces of the same parent, which come after it, are located within it, in order: none starts or
    ends before the one before it does. Neighbours share at most `overlap` characters, if that is
    known.
    """
    families: dict[int | None, list[int]] = {}
    for number, piece in enumerate(pieces):
        families.setdefault(piece.parent, []).append(number)
    places: list[Span | None] = [None] * len(pieces)
    for parent, numbers in families.items():
        region = Span(0, len(text.letters)) if parent is None else places[parent]
        if region is None:
            continue
        walk = _Walk(text, region, overlap, len(numbers))
        for number, span in zip(numbers, walk.over([pieces[n] for n in numbers]), strict=True):
            places[number] = span
    return [
        text.span(span, piece.text) if span else None
        for span, piece in zip(places, pieces, strict=True)
    ]


def place_window(text: Visible, own: Span, window: str) -> Span | None:
    """The span of a window around a node; None where it has no place that is certain."""
    letters, inner = _visible(window), text.within(own)
    low = max(0, inner.end - len(letters))
    starts = _occurrences(text.letters, letters, low, inner.start + len(letters))
    place = _only(starts, letters)
    return text.span(place, window).union(own) if place else None


class Visible:
    """The visible characters of a text, its letters, and where each of them is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.letters = _visible(text)
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        self._offsets = np.flatnonzero(~np.isin(codes, _blanks()))

    def only(self, piece: str) -> Span | None:
        """Return the only location of a piece; None if there is none, or several."""
        letters = _visible(piece)
        starts = _occurrences(self.letters, letters, 0, len(self.letters)) if letters else []
        place = _only(starts, letters)
        return self.span(place, piece) if place else None

    def within(self, span: Span) -> Span:
        """The visible characters of a span of the text, by their numbers."""
        first, last = np.searchsorted(self._offsets, (span.start, span.end))
        return Span(int(first), int(last))

    def span(self, letters: Span, piece: str) -> Span:
        """Visible characters by number as a span of the text.

        With the blank space around them that the piece has, where the text has it too.
        """
        start = int(self._offsets[letters.start])
        end = int(self._offsets[letters.end - 1]) + 1
        before = start - (len(piece) - len(piece.lstrip()))
        if before >= 0 and self._text.startswith(piece, before):
            return Span(before, before + len(piece))
        return Span(start, end)

    def claimed(self, piece: ForeignChunk) -> Span | None:
        """Return the location that a piece claims, in visible characters; None if it is wrong."""
        claim = piece.claim
        if claim is None or claim.start < 0 or claim.of(self._text) != piece.text:
            return None
        return self.within(claim)


class _Walk:
    """One pass over pieces that were split from the same region of visible characters, in order."""

    def __init__(self, text: Visible, region: Span, overlap: int | None, pieces: int) -> None:
        self._text = text
        self._region = region
        self._overlap = overlap
        self._budget = _LOOKS * region.length + _REACH * pieces
        self._last = Span(region.start, region.start)
        self._skipped = 0

    def over(self, pieces: Sequence[ForeignChunk]) -> list[Span | None]:
        """The place of each piece, in visible characters."""
        letters = [_visible(piece.text) for piece in pieces]
        places = [self._next(piece, own) for piece, own in zip(pieces, letters, strict=True)]
        return self._filled(places, letters)

    def _next(self, piece: ForeignChunk, letters: str) -> Span | None:
        span = self._claimed(piece) or self._searched(letters)
        if span is None:
            self._skipped += len(letters)
            return None
        self._last, self._skipped = span, 0
        return span

    def _claimed(self, piece: ForeignChunk) -> Span | None:
        claim = self._text.claimed(piece)
        if claim is None or claim.start < self._low(claim.length) or claim.end > self._region.end:
            return None
        return claim

    def _searched(self, letters: str) -> Span | None:
        """Next to the piece before it; where it is not there, or that has no place, further on."""
        if not self._skipped:
            low, high = self._low(len(letters)), self._last.end + len(letters)
            if self._overlap is not None:
                low = max(low, self._last.end - self._overlap)
            if starts := self._occurrences(letters, low, high):
                return _only(starts, letters)
        return self._alone(letters, self._last.end + _REACH + 2 * self._skipped)

    def _alone(self, letters: str, high: int) -> Span | None:
        """A place in what follows, if the piece is long and there is just one."""
        low = self._low(len(letters))
        high = min(high + len(letters), self._region.end)
        self._budget -= max(0, high - low)
        if len(letters) < _LEAST or self._budget < 0:
            return None
        return _only(self._occurrences(letters, low, high), letters)

    def _filled(self, places: list[Span | None], letters: Sequence[str]) -> list[Span | None]:
        """Fill in pieces that have a single location left between their located neighbours."""
        following: list[Span | None] = [None] * len(places)
        for number in range(len(places) - 2, -1, -1):
            following[number] = places[number + 1] or following[number + 1]
        self._last = Span(self._region.start, self._region.start)
        for number, (own, after) in enumerate(zip(places, following, strict=True)):
            if own is None and after is not None:
                places[number] = self._before(letters[number], after)
            self._last = places[number] or self._last
        return places

    def _before(self, letters: str, after: Span) -> Span | None:
        own = self._alone(letters, after.end - 1 - len(letters))
        return own if own and own.start < after.start else None

    def _low(self, length: int) -> int:
        """The first place at which a piece neither starts nor ends before the last one.

        Nor is it the last one again: of an equal start it is longer, of an equal end shorter.
        """
        repeated = length <= self._last.length
        return max(self._last.start + repeated, self._last.end - length)

    def _occurrences(self, letters: str, low: int, high: int) -> list[int]:
        return _occurrences(self._text.letters, letters, low, min(high, self._region.end))


def _only(starts: Sequence[int], letters: str) -> Span | None:
    return Span(starts[0], starts[0] + len(letters)) if len(starts) == 1 else None


def _occurrences(text: str, sought: str, low: int, high: int) -> list[int]:
    """Up to two places of a text within `low:high`: whether there is just one is the question."""
    first = text.find(sought, low, high)
    if first < 0:
        return []
    second = text.find(sought, first + 1, high)
    return [first] if second < 0 else [first, second]


def _visible(text: str) -> str:
    return "".join(text.split())


@cache
def _blanks() -> NDArray[np.uint32]:
    """The code points of blank space, as `str.split` knows it."""
    return np.array([c for c in range(_LAST_BLANK + 1) if chr(c).isspace()], dtype=np.uint32)
