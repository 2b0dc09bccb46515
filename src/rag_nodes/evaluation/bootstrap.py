"""How far a difference between columns can be trusted: documents drawn again and again.

Questions about one document succeed and fail together, so drawing questions alone makes intervals
too narrow. Documents are drawn with replacement, and then the questions of each; all columns of a
draw see the same questions, which is what makes a comparison paired.

Few documents vary less among the draws than they would if others were found, so intervals are as
much wider as Student's t is than the normal distribution.

Draws of equal values are equal, which would be certainty: there the interval is that of Clopper and
Pearson, "The Use of Confidence or Fiducial Limits" (1934).

Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 8 and 13; Hesterberg,
"What Teachers Should Know About the Bootstrap" (2015), section 3.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DRAWS = 10_000
"""Sets of documents that are drawn."""
_BLOCK = 1_000
"""Draws at a time: a block of 1,000 over 2,000 questions takes 16 MB."""
FEWEST = 6
"""Questions that must tell two columns apart: five that all favour one do so by chance in 6 %."""
_MOST_KEPT = 10_000_000
"""Draws x questions that are kept for the next measure, in four bytes each."""
_TAILS = (0.025, 0.975)
_NORMAL = 1.96
"""The 97.5 % point of the normal distribution."""
_STUDENT = (inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""The same of Student's t with 0 to 10 degrees of freedom; beyond, a series is close enough."""
_POWER = 1.96 + 0.84
"""Standard errors that a gap must span to be seen in 80 of 100 tries at 95 % confidence."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and where 95 % of the draws put it.

    Attributes:
        mean: over all questions.
        low: 2.5 % of the draws lie below.
        high: 2.5 % of the draws lie above.
    """

    mean: float
    low: float
    high: float

    @property
    def shows_a_gap(self) -> bool:
        """Whether the draws agree about the sign of a difference."""
        return self.low > 0 or self.high < 0


class Bootstrap:
    """The same draws for every measure and every pair of columns.

    Args:
        documents: of each question, the document it is about.
        draws: how many sets are drawn.
        seed: equal seeds draw equally.

    Attributes:
        unit: "documents", or "questions" where all are about one document.
        stretch: how many times as far from the mean as in the draws an interval ends.
    """

    def __init__(self, documents: Sequence[str], *, draws: int = DRAWS, seed: int = 0) -> None:
        self._groups = _groups(documents)
        self._questions = len(documents)
        self._draws = draws
        self._seed = seed
        self.unit = "documents" if len(self._groups) > 1 else "questions"
        self._units = len(self._groups) if len(self._groups) > 1 else len(documents)
        self.stretch = _stretch(self._units)
        self._kept: list[NDArray[np.uint32]] = []

    def means(self, values: Floats) -> Floats:
        """The mean of each column in each draw.

        Args:
            values: questions x columns.

        Returns:
            draws x columns.
        """
        blocks = [weights @ values / weights.sum(1, keepdims=True) for weights in self._weights()]
        return np.concatenate(blocks)

    def interval(self, values: Floats, drawn: Floats | None = None) -> Interval:
        """Where the mean of one column may lie.

        Args:
            values: one per question, from 0 to 1; where all are alike the draws are, too, and the
                interval is the exact one of as many successes.
            drawn: its mean in each draw, where that is known.
        """
        found = self._interval(values, drawn, least=0.0)
        if np.ptp(values) > 0 or self.stretch == inf:
            return found
        share = _TAILS[0] ** (1 / self._units)
        return Interval(found.mean, found.mean * share, 1 - (1 - found.mean) * share)

    def gap(self, differences: Floats, drawn: Floats | None = None) -> Interval:
        """Where the difference of two columns may lie.

        Includes 0 where fewer than `FEWEST` questions tell them apart, whatever the draws say.

        Args:
            differences: one per question, from -1 to 1.
            drawn: their mean in each draw, where that is known.
        """
        found = self._interval(differences, drawn, least=-1.0)
        if np.count_nonzero(differences) >= FEWEST:
            return found
        return Interval(found.mean, min(found.low, 0.0), max(found.high, 0.0))

    def false_alarms(self, differences: Floats, *, tries: int) -> int:
        """How often these draws name a winner where there is none.

        Two columns change places at random, for all questions of a document together: what is
        left of their difference is chance.

        Args:
            differences: one per question, of two columns.
            tries: how often they change places.
        """
        generator = np.random.default_rng([self._seed, 1])
        flipped = np.repeat(differences[:, None], tries, axis=1)
        groups = self._groups if len(self._groups) > 1 else [*np.arange(self._questions)[:, None]]
        for group in groups:
            flipped[group] *= generator.choice((-1.0, 1.0), size=tries)
        if np.count_nonzero(differences) < FEWEST:
            return 0
        low, high = self._ends(flipped.mean(0), self.means(flipped))
        return int(((low > 0) | (high < 0)).sum())

    def _interval(self, values: Floats, drawn: Floats | None, *, least: float) -> Interval:
        mean = float(values.mean())
        if self.stretch == inf:
            return Interval(mean, least, 1.0)
        low, high = self._ends(mean, self.means(values[:, None])[:, 0] if drawn is None else drawn)
        return Interval(mean, max(least, float(low)), min(1.0, float(high)))

    def _ends(self, mean: Floats | float, drawn: Floats) -> Floats:
        """Lower and upper ends of the intervals of means."""
        ends: Floats = mean + self.stretch * (np.quantile(drawn, _TAILS, axis=0) - mean)
        return ends

    def _weights(self) -> Iterator[Floats]:
        """How often each draw holds each question: draws x questions, a block at a time."""
        if self._draws * self._questions > _MOST_KEPT:
            return self._drawn()
        self._kept = self._kept or [block.astype(np.uint32) for block in self._drawn()]
        return (block.astype(np.float64) for block in self._kept)

    def _drawn(self) -> Iterator[Floats]:
        generator = np.random.default_rng(self._seed)
        count = len(self._groups)
        for first in range(0, self._draws, _BLOCK):
            draws = min(_BLOCK, self._draws - first)
            weights = np.zeros((draws, self._questions))
            times = generator.multinomial(count, np.full(count, 1 / count), size=draws)
            for group, drawn in zip(self._groups, times.T, strict=True):
                size = len(group)
                shares = np.full(size, 1 / size)
                weights[:, group] = generator.multinomial(drawn * size, shares)
            yield weights


def _stretch(count: int) -> float:
    """How much too narrow the draws of so many documents are; infinite where one says nothing."""
    free = count - 1
    if free < 1:
        return inf
    z, v = _NORMAL, float(free)
    student = _STUDENT[free] if free < len(_STUDENT) else (
        z + (z**3 + z) / (4 * v) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
    )  # fmt: skip
    return student / z * sqrt(count / free)


def chances(drawn: Floats) -> list[float]:
    """How often each column is the best of all, ties shared.

    Args:
        drawn: means, draws x columns.

    Returns:
        Shares of the draws, together 1.
    """
    best = np.isclose(drawn, drawn.max(1, keepdims=True), rtol=0, atol=1e-12)
    shares = (best / best.sum(1, keepdims=True)).mean(0)
    return [float(share) for share in shares]


def questions_for(gap: float, error: float, asked: int) -> int:
    """Questions with which a gap would be seen in 80 of 100 tries.

    From the standard error over documents, since their questions succeed and fail together; at
    least as many as make `FEWEST` answers of the gap.

    Args:
        gap: that is to be seen, above 0.
        error: standard error of the difference of two columns.
        asked: questions that it comes from.
    """
    return max(ceil(FEWEST / gap), ceil((_POWER * error / gap) ** 2 * asked))


def _groups(documents: Sequence[str]) -> list[NDArray[np.intp]]:
    """The places of the questions of each document."""
    names = np.array(documents)
    return [np.flatnonzero(names == name) for name in dict.fromkeys(documents)]
