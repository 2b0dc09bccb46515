"""Sign-flip tests of differences between columns, for all pairs of a report together.

If two columns were equally good, each question could as well have favoured the other. The test
therefore flips the signs of all differences of a question together, thousands of times, and keeps
each time the largest standardized difference of the report. The 95th percentile of these maxima is
the critical value: a difference beyond it is significant, with a family-wise error rate of 5 %. The
simultaneous confidence intervals hold every true difference that the same test would not reject.
They are widened by two pseudo-observations, one in favour of each side, so that columns which agree
on every question are not called equal with certainty.

Flipping questions generalises to more questions about these documents; flipping whole documents,
with all their questions, generalises to documents like these.

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
"""Random sign flips of a test."""
_LEVEL = 0.95
"""Joint confidence level of all intervals."""
_BLOCK_FLIPS = 1_000
"""Flips held in memory at a time: 1,000 over 2,000 questions take 16 MB."""
_EXACT_UNITS = 13
"""Largest number of units of which every pattern of signs is tried: 8,192."""
_ROUNDING_ERROR = 1e-12
"""Largest absolute difference that counts as none."""
_TIE_FACTOR = 1 + 1e-9
"""Factor on the critical value, so that scores of 0 and 1, which tie with it, reject nothing."""
_NORMAL_QUANTILE = 1.959964
"""The 97.5 % point of the normal distribution."""
_MIN_CRITICAL_VALUE = 1.96
"""Smallest critical value, in standard errors: few differences have few patterns of signs."""
_POWER_QUANTILE = 0.84
"""Standard errors beyond the critical value that a test with a power of 80 % needs."""
_MIN_DISTANCE_FROM_ZERO = 0.0001
"""End of the interval of a significant difference that pseudo-observations would move across 0."""
_MIN_UNITS = 6
"""Fewest units with which a difference can be significant."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Mean with its confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def is_significant(self) -> bool:
        """Return True if a difference is significant."""
        return self.low > 0 or self.high < 0

    @property
    def turned(self) -> Interval:
        """The difference with its sides exchanged."""
        return Interval(-self.mean, -self.high, -self.low)


class SignFlips:
    """Simultaneous sign-flip tests of the differences between rows.

    Args:
        values: scores, shape (questions, rows).
        pairs: indices of the two rows of each difference, left and right.
        units: unit of each question whose signs are flipped together, such as its document; None
            flips each question for itself.
        draws: random flips; with at most 13 units, every pattern of signs is tried instead.
        seed: random seed.
        widest: largest absolute difference that is possible.

    Attributes:
        critical_value: standardized difference that 5 % of all flips exceed.
        intervals: left minus right of each pair, with its simultaneous confidence interval.
        errors: standard error of each difference.
        effective: number of units of equal size that carry as much information as these.
        can_show: True if any difference could be significant, which takes six units, none of them
            with most of the questions; otherwise the intervals end at `widest`.
    """

    def __init__(
        self,
        values: Floats,
        pairs: Sequence[tuple[int, int]],
        units: Sequence[Hashable] | None = None,
        *,
        draws: int = DRAWS,
        seed: int = 0,
        widest: float = 1.0,
    ) -> None:
        self._left, self._right = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        sizes, sums = _summed(values, units)
        each = values[:, self._left] - values[:, self._right]
        differing = np.abs(each) > _ROUNDING_ERROR
        squares = each[differing] ** 2
        pseudo = float(squares.mean()) if squares.size else 1.0
        gaps = sums[:, self._left] - sums[:, self._right]
        square = (gaps**2).sum(0)
        critical = self._critical_value(sums, square, draws, seed)
        self.critical_value = max(_MIN_CRITICAL_VALUE, critical)
        self.errors = [float(error) for error in np.sqrt(square + 2 * pseudo) / (len(values) + 2)]
        self.effective = len(values) ** 2 / float(sizes @ sizes)
        self.intervals, informed = self._intervals(sizes, gaps, square, pseudo, widest)
        self.can_show = informed and 2.0 ** (1 - len(sizes)) <= 1 - _LEVEL

    def needed(self, error: float, difference: float) -> int:
        """Return the units of equal size that show a difference with a power of 80 %.

        Args:
            error: standard error of the difference, with the units there are.
            difference: its size, above 0.
        """
        times = ((self.critical_value + _POWER_QUANTILE) * error / difference) ** 2
        return max(_MIN_UNITS, ceil(self.effective * times))

    def _critical_value(self, sums: Floats, square: Floats, draws: int, seed: int) -> float:
        if not len(self._left):
            return 0.0
        scale = np.where(square > 0, np.sqrt(square), np.inf)
        largest = []
        for signs in _signs(len(sums), draws, seed):
            flipped = signs @ sums
            standardized = np.abs(flipped[:, self._left] - flipped[:, self._right]) / scale
            largest.append(standardized.max(1))
        return float(np.quantile(np.concatenate(largest), _LEVEL, method="higher")) * _TIE_FACTOR

    def _intervals(
        self, sizes: Floats, gaps: Floats, square: Floats, pseudo: float, widest: float
    ) -> tuple[list[Interval], bool]:
        """Return the differences that the test does not reject, and True if it could reject any.

        The ends of the intervals are the roots of a quadratic equation.
        """
        count, limit = float(sizes.sum()), self.critical_value**2
        total = gaps.sum(0)
        a = (count + 2) ** 2 - limit * (float(sizes @ sizes) + 2)
        if a <= 0:
            return [Interval(float(value) / count, -widest, widest) for value in total], False
        b = (count + 2) * total - limit * (sizes @ gaps)
        root = np.sqrt(np.maximum(b**2 - a * (total**2 - limit * (square + 2 * pseudo)), 0))
        significant = total**2 > limit * square
        ends = zip(total, (b - root) / a, (b + root) / a, strict=True)
        intervals = [
            Interval(float(value) / count, float(low), float(high)) for value, low, high in ends
        ]
        return [
            _consistent(interval, is_significant, widest)
            for interval, is_significant in zip(intervals, significant.tolist(), strict=True)
        ], True


def _consistent(interval: Interval, is_significant: bool, widest: float) -> Interval:  # noqa: FBT001
    """Return an interval that excludes 0 exactly if the test rejects it."""
    low, high = interval.low, interval.high
    if not is_significant:
        low, high = min(low, 0.0), max(high, 0.0)
    elif interval.mean > 0:
        low = max(low, _MIN_DISTANCE_FROM_ZERO)
    else:
        high = min(high, -_MIN_DISTANCE_FROM_ZERO)
    return Interval(interval.mean, max(low, -widest), min(high, widest))


def _summed(values: Floats, units: Sequence[Hashable] | None) -> tuple[Floats, Floats]:
    """Return the questions of each unit, by first appearance, and the sums of their values."""
    if units is None:
        return np.ones(len(values)), values
    places = {name: at for at, name in enumerate(dict.fromkeys(units))}
    at = np.array([places[name] for name in units])
    sums = np.zeros((len(places), values.shape[1]))
    np.add.at(sums, at, values)
    return np.bincount(at).astype(float), sums


def _signs(units: int, draws: int, seed: int) -> Iterator[Floats]:
    """Yield the signs of all units, shape (flips, units), a block at a time."""
    exact = units <= _EXACT_UNITS
    count = 2**units if exact else draws
    generator = np.random.default_rng(seed)
    for first in range(0, count, _BLOCK_FLIPS):
        last = min(first + _BLOCK_FLIPS, count)
        if exact:
            bits = ((np.arange(first, last)[:, None] >> np.arange(units)) & 1).astype(np.int8)
        else:
            bits = generator.integers(0, 2, (last - first, units), dtype=np.int8)
        yield (2 * bits - 1).astype(np.float64)


def own_mean(values: Floats) -> Interval:
    """Return a confidence interval of the mean of a row, for the documents that were asked about.

    It is Student's interval with four pseudo-observations, two found and two missed. It holds for
    a single row and says nothing about differences.

    Args:
        values: score of each question, from 0 to 1.
    """
    augmented = np.concatenate([values, (0.0, 0.0, 1.0, 1.0)])
    middle, free = float(augmented.mean()), len(augmented) - 1
    variance = float(((augmented - middle) ** 2).sum()) / free
    margin = _student_quantile(free) * sqrt(variance / len(augmented))
    return Interval(float(values.mean()), max(0.0, middle - margin), min(1.0, middle + margin))


def _student_quantile(free: int) -> float:
    """Return the 97.5 % point of Student's t, to 0.3 % from 4 degrees of freedom on (series)."""
    z, v = _NORMAL_QUANTILE, float(free)
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
    )
