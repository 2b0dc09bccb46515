"""Sign-flip tests of differences: the columns of each question are swapped at random.

If two columns were equally good, each question could as well have favoured the other one. So the
sign of all differences of a question changes together, thousands of times, and of each time only
the largest lead of the whole report is kept, in units of its own scatter. What 95 % of these
largest leads stay under is what luck makes; a lead beyond it is shown, any other is not. An
interval holds every true lead that would not have been surprising in the same sense, after adding
two imagined questions, one won by each side, so that columns which agreed everywhere are not called
equal for certain.

Swapping questions speaks of the documents that were asked about; swapping whole documents, with all
their questions, of documents like these.

Westfall and Young, "Resampling-Based Multiple Testing" (1993), section 2.3; Agresti and Coull,
"Approximate Is Better than 'Exact' for Interval Estimation of Binomial Proportions" (1998).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DRAWS = 10_000
"""How often signs are swapped at random."""
_BLOCK = 1_000
"""Swaps at a time: 1,000 over 2,000 questions take 16 MB."""
_EXACT = 13
"""Units of which every pattern of signs is looked at: 8,192."""
_TOLD = 1e-12
"""A difference that is none."""
_TIE = 1 + 1e-9
"""Leads of questions that are won or lost lie on a lattice: as far as luck goes is not beyond."""
_NORMAL = 1.959964
"""The 97.5 % point of the normal distribution."""
_FLOOR = 1.96
"""Scatters that luck reaches at least: few differences have few leads, none of them near 95 %."""
_POWER = 0.84
"""Standard errors beyond the reach of luck with which a lead is shown in 80 of 100 tries."""
_LEAST = 0.0001
"""Where an interval begins that imagined questions tip over 0, though its lead is shown."""
_FEWEST = 6
"""Questions that are needed for anything."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and the ends between which the true one may lie."""

    mean: float
    low: float
    high: float

    @property
    def shows_a_gap(self) -> bool:
        """Return True if a difference is significant."""
        return self.low > 0 or self.high < 0


class Swaps:
    """Leads between rows, all judged at once.

    Args:
        values: questions x rows.
        pairs: places of the two rows of each lead, left and right.
        units: what is swapped, by question, such as its document; None for the question itself.
        level: share of reports in which all intervals hold together.
        draws: how many swaps; where there are no more than 13 units, all there are.
        seed: equal seeds swap equally.
        widest: largest lead there can be.

    Attributes:
        reach: how many times its own scatter the largest lead is that luck makes.
        intervals: left minus right of each pair.
        errors: standard error of each.
        effective: how many units of one size these are worth.
        can_show: whether any lead could be shown: not by fewer than six units, nor where one has
            most of the questions; `intervals` then end at `widest`.
    """

    def __init__(
        self,
        values: Floats,
        pairs: Sequence[tuple[int, int]],
        units: Sequence[Hashable] | None = None,
        *,
        level: float = 0.95,
        draws: int = DRAWS,
        seed: int = 0,
        widest: float = 1.0,
    ) -> None:
        self._left, self._right = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        sizes, sums = _summed(values, units)
        each = values[:, self._left] - values[:, self._right]
        told = np.abs(each) > _TOLD
        imagined = float((each[told] ** 2).sum() / told.sum()) if told.any() else 1.0
        gaps = sums[:, self._left] - sums[:, self._right]
        square = (gaps**2).sum(0)
        self.reach = max(_FLOOR, self._reach(sums, square, level, draws, seed))
        self.errors = [float(error) for error in np.sqrt(square + 2 * imagined) / (len(values) + 2)]
        self.effective = len(values) ** 2 / float(sizes @ sizes)
        self.intervals, informed = self._intervals(sizes, gaps, square, imagined, widest)
        self.can_show = informed and 2.0 ** (1 - len(sizes)) <= 1 - level

    def needed(self, error: float, lead: float) -> int:
        """Units of one size with which a lead would be shown in 80 of 100 tries.

        Args:
            error: standard error of this lead, as found with the units there are.
            lead: how large it is, above 0.
        """
        times = ((self.reach + _POWER) * error / lead) ** 2
        return max(_FEWEST, ceil(self.effective * times))

    def _reach(self, sums: Floats, square: Floats, level: float, draws: int, seed: int) -> float:
        if not len(self._left):
            return 0.0
        scale = np.where(square > 0, np.sqrt(square), np.inf)
        largest = []
        for signs in _signs(len(sums), draws, seed):
            drawn = signs @ sums
            leads = np.abs(drawn[:, self._left] - drawn[:, self._right]) / scale
            largest.append(leads.max(1))
        return float(np.quantile(np.concatenate(largest), level, method="higher")) * _TIE

    def _intervals(
        self, sizes: Floats, gaps: Floats, square: Floats, imagined: float, widest: float
    ) -> tuple[list[Interval], bool]:
        """The leads that are not surprising, and whether any is: roots of a quadratic equation."""
        count, reach = float(sizes.sum()), self.reach**2
        total = gaps.sum(0)
        a = (count + 2) ** 2 - reach * (float(sizes @ sizes) + 2)
        if a <= 0:
            return [Interval(float(value) / count, -widest, widest) for value in total], False
        b = (count + 2) * total - reach * (sizes @ gaps)
        root = np.sqrt(np.maximum(b**2 - a * (total**2 - reach * (square + 2 * imagined)), 0))
        shown = total**2 > reach * square
        ends = zip(total, (b - root) / a, (b + root) / a, strict=True)
        found = [
            Interval(float(value) / count, float(low), float(high)) for value, low, high in ends
        ]
        return [
            _upheld(*interval, widest) for interval in zip(found, shown.tolist(), strict=True)
        ], True


def _upheld(found: Interval, shown: bool, widest: float) -> Interval:  # noqa: FBT001
    """An interval that says the same as the swaps."""
    low, high = found.low, found.high
    if not shown:
        low, high = min(low, 0.0), max(high, 0.0)
    elif found.mean > 0:
        low = max(low, _LEAST)
    else:
        high = min(high, -_LEAST)
    return Interval(found.mean, max(low, -widest), min(high, widest))


def _summed(values: Floats, units: Sequence[Hashable] | None) -> tuple[Floats, Floats]:
    """Questions of each unit, in order of first appearance, and the sums of their values."""
    if units is None:
        return np.ones(len(values)), values
    places = {name: at for at, name in enumerate(dict.fromkeys(units))}
    at = np.array([places[name] for name in units])
    sums = np.zeros((len(places), values.shape[1]))
    np.add.at(sums, at, values)
    return np.bincount(at).astype(float), sums


def _signs(units: int, draws: int, seed: int) -> Iterator[Floats]:
    """Signs of all units, swaps x units, a block at a time."""
    exact = units <= _EXACT
    count = 2**units if exact else draws
    generator = np.random.default_rng(seed)
    for first in range(0, count, _BLOCK):
        last = min(first + _BLOCK, count)
        if exact:
            bits = ((np.arange(first, last)[:, None] >> np.arange(units)) & 1).astype(np.int8)
        else:
            bits = generator.integers(0, 2, (last - first, units), dtype=np.int8)
        yield (2 * bits - 1).astype(np.float64)


def own_mean(values: Floats) -> Interval:
    """Return a confidence interval of the mean of a row, for the documents that were asked about.

    With four imagined questions, two found and two not. It holds for one row and says nothing of
    differences.

    Args:
        values: one per question, from 0 to 1.
    """
    known = np.concatenate([values, (0.0, 0.0, 1.0, 1.0)])
    middle, free = float(known.mean()), len(known) - 1
    margin = _student(free) * sqrt(float(((known - middle) ** 2).sum()) / (free * len(known)))
    return Interval(float(values.mean()), max(0.0, middle - margin), min(1.0, middle + margin))


def _student(free: int) -> float:
    """The 97.5 % point of Student's t from 4 degrees of freedom on, to 0.3 %, by its series."""
    z, v = _NORMAL, float(free)
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
    )
