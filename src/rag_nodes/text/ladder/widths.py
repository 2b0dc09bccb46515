"""Units to scores: BM25 of the question's words in windows of every width around each.

The weight of a word in a window is that of BM25 (Robertson and Zaragoza, "The Probabilistic
Relevance Framework", 2009). How rare a word is counts anew at each width, among the candidates
only: one that fills every wide window says nothing there, and the narrow ones decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.text.ladder.counting import Units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FIRST_RUNG = 200
"""Letters of the narrowest window above a single unit; each further one is twice as wide."""
_K1, _B = 1.2, 0.75


class Widths:
    """Scores of units at every width, each computed once."""

    def __init__(self, units: Units) -> None:
        self._units = units
        self._before = _sums(np.column_stack([units.letters, units.counts]))
        self._ends = np.cumsum(units.letters)
        self._scores: dict[int, Floats] = {}

    def scores(self, widest: int) -> Floats:
        """The sum over all widths up to the widest."""
        return sum((self._at(width) for width in _rungs(widest)), np.zeros(len(self._units.spans)))

    def _at(self, width: int) -> Floats:
        if width not in self._scores:
            self._scores[width] = self._bm25(width)
        return self._scores[width]

    def _bm25(self, width: int) -> Floats:
        first, last = self._windows(width)
        sums = self._before[last] - self._before[first]
        lengths, counts = sums[:, 0], sums[:, 1:]
        holding = (counts > 0).sum(0)
        rarity = np.log(1 + (len(sums) - holding + 0.5) / (holding + 0.5))
        norm = _K1 * (1 - _B + _B * lengths / lengths.mean())
        found: Floats = (rarity * (_K1 + 1) * counts / (counts + norm[:, None])).sum(1)
        return found

    def _windows(self, width: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Of each unit the first and behind the last unit whose middle is in its window."""
        numbers = np.arange(len(self._ends))
        if width == 0:
            return numbers, numbers + 1
        # Runs are put so far apart that no window reaches into another.
        apart = self._units.runs * (self._ends[-1] + 2.0 * width)
        middles = self._ends - self._units.letters / 2 + apart
        first = np.searchsorted(middles, middles - width / 2, "left")
        last = np.searchsorted(middles, middles + width / 2, "right")
        return first, last


def _sums(values: Floats) -> Floats:
    """What stands before each row, and all."""
    before = np.zeros((len(values) + 1, values.shape[1]))
    np.cumsum(values, axis=0, out=before[1:])
    return before


def _rungs(widest: int) -> Iterator[int]:
    """0 for the unit alone, then doubling, and the whole budget."""
    yield 0
    width = FIRST_RUNG
    while width < widest:
        yield width
        width *= 2
    yield widest
