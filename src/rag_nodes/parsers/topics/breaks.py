"""Vectors of the units of a text in, the groups of units that become nodes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.parsers.topics.units import TopicUnits
from rag_nodes.text.cohesion import Distances

if TYPE_CHECKING:
    from numpy.typing import NDArray

Piece = tuple[int, int]
"""First and last unit of a future node."""

_AUTHORS_BREAK = 3.0
"""Stands for the gap before a heading; a cosine distance is never over 2."""
_NO_BREAK = -1.0
"""Stands for the gap after a heading; a cosine distance is never negative."""
_NOT_COMPARED = -0.5
"""Stands for a gap beyond what is embedded: wherever a measured one can be split, that is."""
PERCENTILE = 75.0
"""Percentile of distances over which a gap is a break, unless another is asked for."""


class Breaks:
    """Splits a text at the gaps over a percentile of all distances between its units.

    Pieces hold at most `most` tokens. Vectors of the units arrive in windows; units for which none
    arrived are grouped by size alone. A piece of fewer than `least` tokens joins a neighbour where
    both fit. `buffer` units on either side are summed before distances are taken.
    """

    def __init__(
        self,
        units: TopicUnits,
        most: int,
        least: int,
        percentile: float = PERCENTILE,
        buffer: int = 0,
    ) -> None:
        self.units = units
        self.most = most
        self.least = least
        self._percentile = percentile
        self._distances = Distances(buffer)

    def add(self, rows: NDArray[np.float64]) -> None:
        """Take the next window of unit vectors."""
        self._distances.add(rows)

    def pieces(self) -> Iterator[Piece]:
        """The pieces of the whole text, in order, within the bounds; call it once."""
        if len(self.units) == 1:
            yield 0, 0
            return
        distances = self._distances.finish()
        rest = np.full(len(self.units) - 1 - len(distances), _NOT_COMPARED)
        gaps = _respect_headings(self.units, np.concatenate((distances, rest)))
        yield from self._merge_short(list(self._group(gaps)), gaps)

    def _merge_short(self, pieces: list[Piece], gaps: NDArray[np.float64]) -> Iterator[Piece]:
        """Join pieces under the least size with the closer neighbour, where both fit."""
        units = self.units
        open_piece: Piece | None = None
        for position, (first, last) in enumerate(pieces):
            if not units.fits(first, last, self.least - 1):
                if open_piece:
                    yield open_piece
                open_piece = (first, last)
                continue
            following = pieces[position + 1][1] if position + 1 < len(pieces) else -1
            left = open_piece is not None and units.fits(open_piece[0], last, self.most)
            right = following >= 0 and units.fits(first, following, self.most)
            if open_piece and left and not (right and gaps[last] < gaps[first - 1]):
                open_piece = (open_piece[0], last)
            elif right:
                pieces[position + 1] = (first, following)
            else:
                if open_piece:
                    yield open_piece
                open_piece = (first, last)
        if open_piece:
            yield open_piece

    def _group(self, gaps: NDArray[np.float64]) -> Iterator[Piece]:
        between = gaps[(gaps >= 0) & (gaps < _AUTHORS_BREAK)]
        threshold = _percentile(between, self._percentile) if len(between) else 0.0
        first = 0
        for last in [*np.flatnonzero(gaps > threshold).tolist(), len(gaps)]:
            if self.units.fits(first, last, self.most):
                yield first, last
            else:
                yield from self._split(first, last, gaps)
            first = last + 1

    def _split(self, first: int, last: int, gaps: NDArray[np.float64]) -> Iterator[Piece]:
        """A long piece, split at the widest gap within reach, again and again."""
        units = self.units
        while first < last and not units.fits(first, last, self.most):
            furthest = min(units.last_within(first, self.most), last - 1)
            nearest = min(units.first_over(first, self.least), furthest)
            within = gaps[nearest : furthest + 1]
            # The last of equal gaps, so that pieces are as long as they may be.
            cut = furthest - int(within[::-1].argmax())
            yield first, cut
            first = cut + 1
        yield first, last


def _percentile(values: NDArray[np.float64], percent: float) -> float:
    """Return what `np.percentile` returns, ten times as fast for the few values of a short text."""
    ordered = np.sort(values)
    place = percent / 100 * (len(ordered) - 1)
    below = int(place)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    part = place - below
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)  # noqa: PLR2004 -- as numpy rounds


def _respect_headings(units: TopicUnits, distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distances, the least after a heading and the widest before it: its author moved on there."""
    gaps = np.where(units.headings[1:], _AUTHORS_BREAK, distances)
    respected: NDArray[np.float64] = np.where(units.headings[:-1], _NO_BREAK, gaps)
    return respected
