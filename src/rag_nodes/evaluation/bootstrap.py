"""How far a difference between columns can be trusted: documents drawn again and again.

Questions about one document succeed and fail together, so drawing questions alone makes intervals
too narrow. Documents are drawn with replacement, and then the questions of each; all columns of a
draw see the same questions, which is what makes a comparison paired.

Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 8 and 13.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DRAWS = 10_000
"""Sets of documents that are drawn."""
_BLOCK = 1_000
"""Draws at a time: a block of 1,000 over 2,000 questions takes 16 MB."""
_TAILS = (0.025, 0.975)
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
    """

    def __init__(self, documents: Sequence[str], *, draws: int = DRAWS, seed: int = 0) -> None:
        self._groups = _groups(documents)
        self._questions = len(documents)
        self._draws = draws
        self._seed = seed
        self.unit = "documents" if len(self._groups) > 1 else "questions"

    def means(self, values: Floats) -> Floats:
        """The mean of each column in each draw.

        Args:
            values: questions x columns.

        Returns:
            draws x columns.
        """
        blocks = [weights @ values / weights.sum(1, keepdims=True) for weights in self._weights()]
        return np.concatenate(blocks)

    def interval(self, values: Floats) -> Interval:
        """Where the mean of one column, or of the differences of two, may lie.

        Args:
            values: one per question.
        """
        return interval_of(float(values.mean()), self.means(values[:, None])[:, 0])

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
        low, high = np.quantile(self.means(flipped), _TAILS, axis=0)
        return int(((low > 0) | (high < 0)).sum())

    def _weights(self) -> Iterator[Floats]:
        """How often each draw holds each question: draws x questions, a block at a time."""
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


def interval_of(mean: float, drawn: Floats) -> Interval:
    """The interval that draws give a mean."""
    low, high = np.quantile(drawn, _TAILS)
    return Interval(mean, float(low), float(high))


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


def questions_for(gap: float, differences: Floats) -> int:
    """Questions with which a gap would be seen in 80 of 100 tries, from the paired deviation.

    Args:
        gap: that is to be seen, above 0.
        differences: one per question that was asked.
    """
    if len(differences) < 2:  # noqa: PLR2004 -- one value has no deviation
        return 0
    return ceil((_POWER / gap) ** 2 * float(differences.var(ddof=1)))


def _groups(documents: Sequence[str]) -> list[NDArray[np.intp]]:
    """The places of the questions of each document."""
    names = np.array(documents)
    return [np.flatnonzero(names == name) for name in dict.fromkeys(documents)]
