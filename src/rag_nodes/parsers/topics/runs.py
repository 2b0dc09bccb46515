"""Vectors of the units of a text in, the runs of units that become nodes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.parsers.topics.units import TopicUnits
from rag_nodes.text.cohesion import Distances, RunScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

Piece = tuple[int, int]
"""First and last unit of a future node."""

_AUTHORS_BREAK = 3.0
"""Stands for the gap before a heading; a cosine distance is never over 2."""
_NO_BREAK = -1.0
"""Stands for the gap after a heading; a cosine distance is never negative."""
_NOT_COMPARED = -0.5
"""Stands for a gap beyond what is embedded: wherever a measured one can be cut, that is."""
_GRAINS = 64
"""Steps in which the sizes of optimal nodes can differ: it bounds the work per sentence."""
_REPEATED = 1000
"""Vectors made at once for units beyond what is embedded."""


class Grouping(ABC):
    """Groups units to pieces of at most `most` tokens by their vectors, which arrive in windows.

    Units for which none arrived are grouped by size alone. A piece of fewer than `least` tokens
    joins a neighbour where both fit. `buffer` units on either side are summed before distances are
    taken.
    """

    def __init__(self, units: TopicUnits, most: int, least: int, buffer: int = 0) -> None:
        self.units = units
        self.most = most
        self.least = least
        self._distances = Distances(buffer)

    def add(self, rows: NDArray[np.float64]) -> None:
        """The next window of unit vectors."""
        self._distances.add(rows)

    def pieces(self) -> Iterator[Piece]:
        """The pieces of the whole text, in order, within the bounds; call it once."""
        if len(self.units) == 1:
            yield 0, 0
            return
        found = self._distances.finish()
        rest = np.full(len(self.units) - 1 - len(found), _NOT_COMPARED)
        gaps = _respect_headings(self.units, np.concatenate((found, rest)))
        yield from self._merge_short(list(self._group(gaps)), gaps)

    @abstractmethod
    def _group(self, gaps: NDArray[np.float64]) -> Iterator[Piece]:
        """Pieces of at most `most` tokens."""

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


class Breaks(Grouping):
    """Cuts at the gaps over a percentile of all distances of the text."""

    def __init__(
        self, units: TopicUnits, most: int, least: int, percentile: float, buffer: int
    ) -> None:
        super().__init__(units, most, least, buffer)
        self._percentile = percentile

    def _group(self, gaps: NDArray[np.float64]) -> Iterator[Piece]:
        between = _measured(gaps)
        threshold = _percentile(between, self._percentile) if len(between) else 0.0
        first = 0
        for last in [*np.flatnonzero(gaps > threshold).tolist(), len(gaps)]:
            if self.units.fits(first, last, self.most):
                yield first, last
            else:
                yield from self._split(first, last, gaps)
            first = last + 1

    def _split(self, first: int, last: int, gaps: NDArray[np.float64]) -> Iterator[Piece]:
        """A long piece, cut at the widest gap within reach, again and again."""
        units = self.units
        while not units.fits(first, last, self.most):
            furthest = min(units.last_within(first, self.most), last - 1)
            nearest = min(units.first_over(first, self.least), furthest)
            within = gaps[nearest : furthest + 1]
            # The last of equal gaps, so that pieces are as long as they may be.
            cut = furthest - int(within[::-1].argmax())
            yield first, cut
            first = cut + 1
        yield first, last


class Runs(Grouping):
    """The partition of highest cohesion, under the bounds, section by section.

    One more piece has to gain `penalty` mean distances between neighbours.
    """

    def __init__(self, units: TopicUnits, most: int, least: int, penalty: float) -> None:
        super().__init__(units, most, least)
        self._penalty = penalty
        opens = _grains(units, most)
        self._opens = np.array(opens, dtype=np.int64)
        self._closes = np.append(self._opens[1:], len(units))[: len(opens)] - 1
        self._scores = RunScores(self._closes - self._opens + 1, *self._bounds())
        self._seen = 0
        self._unfinished: NDArray[np.float64] | None = None
        self._last = np.zeros((1, 1))

    def _bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each grain, where the longest run that ends with it starts, and the first short."""
        units, items = self.units, np.arange(len(self._opens))
        heads = units.headings[self._opens]
        # Of headings that follow each other, the first one opens the section.
        heads[1:] &= ~(units.headings[self._closes[:-1]])
        section = np.maximum.accumulate(np.where(heads, items, 0))
        firsts = units.firsts_within(self._opens, self._closes, self.most)
        short = units.firsts_within(self._opens, self._closes, self.least - 1)
        return np.minimum(np.maximum(firsts, section), items), short

    def add(self, rows: NDArray[np.float64]) -> None:
        """The next window of unit vectors, summed to grains; the last grain may go on."""
        super().add(rows)
        self._last = rows[-1:].copy()
        self._score(rows)

    def _add_alike(self) -> None:
        """Vectors for the units that have none: where all are alike, only size decides."""
        while (missing := len(self.units) - self._seen) > 0:
            self._score(np.repeat(self._last, min(missing, _REPEATED), axis=0))

    def _score(self, rows: NDArray[np.float64]) -> None:
        start, stop = self._seen, self._seen + len(rows)
        opens = self._opens[self._opens.searchsorted(start, side="right") - 1 :]
        opens = np.maximum(opens[opens < stop], start) - start
        alone = len(opens) == len(rows)
        sums = rows.copy() if alone else np.add.reduceat(rows, opens, axis=0)
        if self._unfinished is not None:
            sums[0] += self._unfinished
        self._seen = stop
        self._unfinished = None
        if self._closes[self._closes.searchsorted(stop - 1)] != stop - 1:
            sums, self._unfinished = sums[:-1], sums[-1]
        self._scores.add(sums)

    def _group(self, gaps: NDArray[np.float64]) -> Iterator[Piece]:
        self._add_alike()
        between = _measured(gaps)
        price = self._penalty * float(between.mean()) if len(between) else 0.0
        for first, last in self._scores.best(price):
            yield int(self._opens[first]), int(self._closes[last])


def _measured(gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    return gaps[(gaps >= 0) & (gaps < _AUTHORS_BREAK)]


def _percentile(values: NDArray[np.float64], percent: float) -> float:
    """What `np.percentile` gives, which takes ten times as long for the few of a short text."""
    ordered = np.sort(values)
    place = percent / 100 * (len(ordered) - 1)
    below = int(place)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    part = place - below
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)  # noqa: PLR2004 -- as numpy rounds


def _grains(units: TopicUnits, most: int) -> list[int]:
    """The first unit of each grain: a heading with what follows it, or units of a few tokens."""
    least = most // _GRAINS
    headings = units.headings.tolist()
    opens = [0][: len(units)]
    for unit in range(1, len(units)):
        if headings[unit - 1]:
            joins = units.fits(opens[-1], unit, most)
        else:
            joins = not headings[unit] and units.estimate(opens[-1], unit) <= least
        if not joins:
            opens.append(unit)
    return opens


def _respect_headings(units: TopicUnits, distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distances, the least after a heading and the widest before it: its author moved on there."""
    gaps = np.where(units.headings[1:], _AUTHORS_BREAK, distances)
    respected: NDArray[np.float64] = np.where(units.headings[:-1], _NO_BREAK, gaps)
    return respected
