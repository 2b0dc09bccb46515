"""Lines that are drawn on a page in, grids of borders out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from operator import itemgetter
from statistics import median
from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.engines.protocol import THIN
from rag_nodes.readers.pdf.nearby import ByBand, ByHeight

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rag_nodes.readers.pdf.engines.protocol import Box

Ruling = tuple[float, float, float]
"""Left, right and y of a horizontal ruling; top, bottom and x of a vertical ruling."""

TOUCH = 3.0
"""Points within which two rulings meet."""
SHORTEST = 4.0
"""Points below which a line is part of a drawing."""
BORDERS = 3
"""Borders of each direction a table has at least, open sides included: those of two cells."""
NARROWEST = 6.0
"""Points a ruling goes on beyond the outermost border at least, for a column or row to be there."""
MOST = 200
"""Rulings of one direction above which a page is a drawing."""

_place = itemgetter(2)


@dataclass(frozen=True, slots=True)
class Grid:
    """Places of the possible borders of a table, left to right, top to bottom, and its rulings."""

    columns: tuple[float, ...]
    rows: tuple[float, ...]
    horizontal: tuple[Ruling, ...]
    vertical: tuple[Ruling, ...]

    def place(self, x: float, y: float) -> tuple[int, int] | None:
        """Row and column of a point; None outside."""
        column, row = bisect_right(self.columns, x) - 1, bisect_right(self.rows, y) - 1
        inside = 0 <= column < len(self.columns) - 1 and 0 <= row < len(self.rows) - 1
        return (row, column) if inside else None

    @property
    def is_whole(self) -> bool:
        """True if it has two rows and two columns at least."""
        return len(self.columns) >= BORDERS and len(self.rows) >= BORDERS

    def with_open_sides(self) -> Grid:
        """Add the ends of rulings that go on beyond the outermost borders."""
        columns = _with_ends(self.columns, self.horizontal)
        return replace(self, columns=columns, rows=_with_ends(self.rows, self.vertical))


class RulingsByPlace:
    """Rulings of one direction, by the place at which they cross the other direction."""

    def __init__(self, rulings: Iterable[Ruling]) -> None:
        self._rulings = sorted(rulings, key=_place)

    def at(self, place: float) -> Border:
        """Return the rulings within `TOUCH` of a place."""
        low = bisect_left(self._rulings, place - 2 * TOUCH, key=_place)
        high = bisect_right(self._rulings, place + 2 * TOUCH, key=_place)
        near = [ruling for ruling in self._rulings[low:high] if abs(ruling[2] - place) <= TOUCH]
        return Border(near)


class Border:
    """The parts of a border between two rows or columns that are ruled."""

    def __init__(self, rulings: Iterable[Ruling]) -> None:
        parts = sorted((low, high) for low, high, _ in rulings)
        self._starts = [low for low, _ in parts]
        self._ends = list(accumulate((high for _, high in parts), max))

    def covers(self, at: float) -> bool:
        """Return whether a ruling runs over this point of the border."""
        before = bisect_right(self._starts, at)
        return before > 0 and self._ends[before - 1] >= at


def find_grids(edges: Iterable[Box]) -> list[Grid]:
    """Return grids of rulings that cross each other among the edges that are drawn on a page.

    Grids of at least two rows and two columns, open sides included, top to bottom.
    """
    horizontal, vertical = _rulings(edges)
    if not (0 < len(horizontal) <= MOST and 0 < len(vertical) <= MOST):
        return []
    grids = []
    for across, down in _components(horizontal, vertical):
        columns, rows = distinct(x for *_, x in down), distinct(y for *_, y in across)
        grid = Grid(columns, rows, tuple(across), tuple(down))
        # One line across another is more often a chart than a table of four cells.
        if len(columns) + len(rows) >= BORDERS and grid.with_open_sides().is_whole:
            grids.append(grid)
    return sorted(grids, key=lambda grid: grid.rows[0])


def _with_ends(borders: tuple[float, ...], rulings: Sequence[Ruling]) -> tuple[float, ...]:
    """Add the middle one of the ends: some rulings stop short of the others, or go on further."""
    if not borders:
        return ()
    lows = [low for low, _, _ in rulings if low < borders[0] - NARROWEST]
    highs = [high for _, high, _ in rulings if high > borders[-1] + NARROWEST]
    needed = min(len(rulings), 2)  # a cell has one ruling above and one below
    first = (median(lows),) if len(lows) >= needed else ()
    last = (median(highs),) if len(highs) >= needed else ()
    return (*first, *borders, *last)


def _rulings(edges: Iterable[Box]) -> tuple[list[Ruling], list[Ruling]]:
    horizontal: list[Ruling] = []
    vertical: list[Ruling] = []
    for left, top, right, bottom in chain.from_iterable(map(sides_of, edges)):
        if bottom - top <= THIN and right - left >= SHORTEST:
            horizontal.append((left, right, (top + bottom) / 2))
        elif right - left <= THIN and bottom - top >= SHORTEST:
            vertical.append((top, bottom, (left + right) / 2))
    return _merged(horizontal), _merged(vertical)


def sides_of(box: Box) -> Sequence[Box]:
    """Return a line as it is, and the four sides of a rectangle."""
    left, top, right, bottom = box
    if min(right - left, bottom - top) <= THIN:
        return (box,)
    across = (left, top, right, top), (left, bottom, right, bottom)
    return *across, (left, top, left, bottom), (right, top, right, bottom)


def _merged(rulings: list[Ruling]) -> list[Ruling]:
    """Join rulings that go on from each other, as borders are often drawn cell by cell."""
    places = distinct(place for *_, place in rulings)
    by_place: dict[float, list[tuple[float, float]]] = defaultdict(list)
    for low, high, place in rulings:
        by_place[places[bisect_right(places, place) - 1]].append((low, high))
    merged = []
    for place, pieces in by_place.items():
        low, high = min(pieces)
        for start, stop in sorted(pieces):
            if start > high + TOUCH:
                merged.append((low, high, place))
                low = start
                high = stop
            high = max(high, stop)
        merged.append((low, high, place))
    return merged


def distinct(values: Iterable[float]) -> tuple[float, ...]:
    """Return the values without those that are all but the same."""
    kept: list[float] = []
    for value in sorted(values):
        if not kept or value - kept[-1] > TOUCH:
            kept.append(value)
    return tuple(kept)


def _components(
    horizontal: Sequence[Ruling], vertical: Sequence[Ruling]
) -> Iterator[tuple[list[Ruling], list[Ruling]]]:
    """Part the rulings into those that hang together."""
    verticals = ByBand((top - TOUCH, bottom + TOUCH) for top, bottom, _ in vertical)
    horizontals = ByHeight(y for *_, y in horizontal)
    across_left, down_left = set(range(len(horizontal))), set(range(len(vertical)))
    while across_left:
        across = [across_left.pop()]
        down: list[int] = []
        for number in across:  # grows while it is walked
            ruling = horizontal[number]
            near = down_left.intersection(verticals.near(ruling[2]))
            met = [other for other in near if _cross(ruling, vertical[other])]
            down_left.difference_update(met)
            down += met
            for other in met:
                top, bottom, _ = vertical[other]
                beside = across_left.intersection(horizontals.between(top - TOUCH, bottom + TOUCH))
                further = [at for at in beside if _cross(horizontal[at], vertical[other])]
                across_left.difference_update(further)
                across += further
        yield sorted(horizontal[n] for n in across), sorted(vertical[n] for n in down)


def _cross(horizontal: Ruling, vertical: Ruling) -> bool:
    left, right, y = horizontal
    top, bottom, x = vertical
    return left - TOUCH <= x <= right + TOUCH and top - TOUCH <= y <= bottom + TOUCH
