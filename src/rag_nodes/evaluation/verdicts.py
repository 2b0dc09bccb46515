"""Differences between the rows of a report, and how much of them comes from chunk size.

All are tested together, because the best of many rows is partly the luckiest.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import floor, log10
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.evaluation.report import Contrast, Row, SizeShare
from rag_nodes.evaluation.sign_flips import DRAWS, Interval, SignFlips
from rag_nodes.evaluation.wording import SAME, VISIBLE, of_difference, of_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Judge:
    """Tests of the differences between the rows of a measure, all together.

    Args:
        values: scores of the questions, by row.
        pairs: names of the two rows of each difference.
        documents: document that each question is about.
        draws: random sign flips.
        seed: random seed of the sign flips.
    """

    def __init__(
        self,
        values: Mapping[str, Floats],
        pairs: Sequence[tuple[str, str]],
        documents: Sequence[str],
        *,
        draws: int = DRAWS,
        seed: int = 0,
    ) -> None:
        self._values, self._documents = values, Counter(documents)
        mean = {name: each.mean() for name, each in values.items()}
        self._pairs = [(a, b) if mean[a] >= mean[b] else (b, a) for a, b in pairs]
        places = {name: at for at, name in enumerate(values)}
        table = np.array([*values.values()]).reshape(len(values), len(documents)).T
        led = [(places[left], places[right]) for left, right in self._pairs]
        self.questions = SignFlips(table, led, draws=draws, seed=seed)
        self.documents = SignFlips(table, led, documents, draws=draws, seed=seed)

    def contrasts(self, rows: Mapping[str, Row]) -> list[Contrast]:
        """Return the difference of every pair of rows with its words, in the order of the pairs."""
        contrasts = []
        for at, (left, right) in enumerate(self._pairs):
            these, like_these = self.questions.intervals[at], self._like_these(at)
            more = more_of(self.questions, at)
            further = more_of(self.documents, at) if like_these else None
            words = self._words(at, rows[left].called, rows[right].called)
            contrasts.append(
                Contrast(left, right, rows[left].role, these, like_these, more, further, words)
            )
        return contrasts

    def _words(self, at: int, left: str, right: str) -> str:
        first, other = (self._values[name] for name in self._pairs[at])
        differing = int((np.abs(first - other) > SAME).sum())
        these, like_these = self.questions.intervals[at], self._like_these(at)
        more = more_of(self.questions, at)
        return of_difference(left, right, self._documents, differing, these, like_these, more)

    def difference(self, left: str, right: str) -> Interval:
        """Return the difference of two rows, left minus right, in these documents."""
        if (left, right) in self._pairs:
            return self.questions.intervals[self._pairs.index((left, right))]
        return self.questions.intervals[self._pairs.index((right, left))].turned

    def _like_these(self, at: int) -> Interval | None:
        """Return a difference in documents like these if the test finds one in these; else None."""
        if not self.documents.can_show:
            return None
        interval = self.documents.intervals[at]
        if self.questions.intervals[at].is_significant:
            return interval
        return Interval(interval.mean, min(interval.low, 0.0), max(interval.high, 0.0))


def is_small(gap: Interval | None) -> bool:
    """Return whether a difference is at most `VISIBLE`, whichever row is better."""
    return gap is not None and gap.low >= -VISIBLE and gap.high <= VISIBLE


def more_of(flips: SignFlips, at: int, limit: float = VISIBLE) -> int:
    """Return about how many more units settle a difference with a power of 80 %.

    They show that one row is better, or that both differ by at most `limit`; 0 if that is known.
    The number has two significant digits, as single samples scatter.
    """
    gap = flips.intervals[at]
    if gap.is_significant or max(-gap.low, gap.high) <= limit:
        return 0
    difference = max(abs(gap.mean), limit - abs(gap.mean), SAME)
    more = max(1.0, flips.needed(flips.errors[at], difference) - flips.effective)
    return int(round(more, 1 - floor(log10(more))))


def pairs_of(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return the names of every pair of rows."""
    return [(row.name, other.name) for row, other in combinations(rows, 2)]


def shares_of(
    values: Mapping[str, Floats],
    judge: Judge,
    own: Sequence[Row],
    matched: Mapping[str, str],
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[SizeShare]:
    """Return the share of size in the difference of each pair of own rows, one family of tests.

    `values` are of the main measure by row, `matched` are the rows at equal size by column.
    """
    rows = sorted((row for row in own if row.column in matched), key=lambda row: -row.mean)
    pairs = [*combinations(range(len(rows)), 2)]
    if not pairs:
        return []
    parts = [values[row.name] - values[matched[row.column]] for row in rows]
    flips = SignFlips(np.stack(parts, axis=1), pairs, draws=draws, seed=seed, widest=2.0)
    shares = []
    for (first, other), size in zip(pairs, flips.intervals, strict=True):
        left, right = rows[first], rows[other]
        gap = judge.difference(left.name, right.name)
        equal = judge.difference(matched[left.column], matched[right.column])
        words = of_share(left.column, right.column, gap, size)
        shares.append(SizeShare(left.column, right.column, gap, equal, size, words))
    return shares
