"""Intervals to sentences; nothing is called better that the draws do not agree about."""

from __future__ import annotations

from itertools import combinations
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.evaluation.bootstrap import Bootstrap, Interval, chances, questions_for
from rag_nodes.evaluation.checks import ACCEPT, DRAFTED
from rag_nodes.evaluation.report import Contrast, Control, Row, SizeShare
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

VISIBLE = 0.03
"""A gap that is worth seeing: three points of a hundred."""
FEW = 10
"""Documents below which drawing them says little: some draws hold hardly any of them."""
_SAME = 1e-9
"""A difference of means that is none."""
STANDING = f"the preset {DEFAULT_PARSER} (recursive, 200 tokens) stands"
"""What an evaluation by drafts ends with."""
TRIES = 200
"""How often columns change places to count false alarms."""


class Judge:
    """All that the draws say about the rows of one measure.

    Args:
        values: of the main measure: one array over the questions per row.
        bootstrap: made from the same questions.
    """

    def __init__(self, values: Mapping[str, Floats], bootstrap: Bootstrap) -> None:
        self._values, self._bootstrap = dict(values), bootstrap
        self._names = list(values)
        self._drawn = bootstrap.means(np.stack([values[name] for name in self._names], axis=1))

    def interval(self, name: str) -> Interval:
        """Where the mean of a row may lie."""
        return self._bootstrap.interval(self._values[name], self._column(name))

    def gap(self, left: str, right: str) -> Interval:
        """Where the difference of two rows may lie, left minus right."""
        drawn = self._column(left) - self._column(right)
        return self._bootstrap.gap(self._differences(left, right), drawn)

    def chances(self, names: Sequence[str]) -> dict[str, float]:
        """How often each of some rows is the best of them."""
        drawn = np.stack([self._column(name) for name in names], axis=1)
        return dict(zip(names, chances(drawn), strict=True))

    def contrast(self, one: Row, other: Row) -> Contrast:
        """Two rows, the better one first."""
        left, right = sorted((one, other), key=lambda row: -self._values[row.name].mean())
        gap = self.gap(left.name, right.name)
        asked = len(self._values[left.name])
        needed = self._needed(left.name, right.name)
        return Contrast(
            left=left.name,
            right=right.name,
            role=left.role,
            gap=gap,
            needed=needed or 0,
            words=_contrast(left, right, gap, needed - asked if needed is not None else None),
        )

    def share(self, one: str, other: str, matched: Mapping[str, str]) -> SizeShare:
        """How much of the gap between two columns is size.

        Args:
            one: name of a column, which is that of its row at its own options.
            other: another.
            matched: name of the row at equal size by column.
        """
        left, right = sorted((one, other), key=lambda name: -self._values[name].mean())
        own = self.gap(left, right)
        equal = self.gap(matched[left], matched[right])
        return SizeShare(left, right, own, equal, _share(left, right, own, equal))

    def control(self, twin: str, column: str, best: tuple[str, str] | None) -> Control:
        """What these draws say of one column run twice, and of two whose names are shuffled."""
        pair = best or (column, twin)
        alarms = self._bootstrap.false_alarms(self._differences(*pair), tries=TRIES)
        return Control(column, self.gap(column, twin), alarms, TRIES)

    def _needed(self, left: str, right: str) -> int | None:
        """Questions with which a visible gap would be seen; None where nothing can be said."""
        if self._bootstrap.stretch == inf:
            return None
        error = float((self._column(left) - self._column(right)).std()) * self._bootstrap.stretch
        return questions_for(VISIBLE, error, len(self._values[left]))

    def _column(self, name: str) -> Floats:
        return self._drawn[:, self._names.index(name)]

    def _differences(self, left: str, right: str) -> Floats:
        return self._values[left] - self._values[right]


def contrasts_of(judge: Judge, rows: Sequence[Row]) -> list[Contrast]:
    """Every pair of rows of one role."""
    return [judge.contrast(one, other) for one, other in combinations(rows, 2)]


def shares_of(judge: Judge, own: Sequence[Row], matched: Mapping[str, str]) -> list[SizeShare]:
    """Of each pair of columns that could be matched how much of their gap is size."""
    names = [row.column for row in own if row.column in matched]
    return [judge.share(one, other, matched) for one, other in combinations(names, 2)]


def summary(
    own: Sequence[Row],
    equal: Sequence[Row],
    contrasts: Sequence[Contrast],
    questions: int,
    documents: int,
) -> list[str]:
    """The answer in sentences: at equal size first, since that is about cutting and not about size.

    Args:
        own: rows at their own options.
        equal: rows at an equal mean size; none where there was no such comparison.
        contrasts: of both.
        questions: how many were asked.
        documents: how many they are about.
    """
    sentences = []
    for rows, where in ((equal, "At equal size"), (own, "At their own options")):
        among = [one for one in contrasts if rows and one.role == rows[0].role]
        if among:
            sentences.append(f"{where}: {_best(rows, among)}")
    left_out = [row.column for row in own if row.column not in {one.column for one in equal}]
    if equal and left_out:
        sentences.append(f"Not compared at equal size, which they do not reach: {_all(left_out)}.")
    if len(own) == 1:
        sentences.append(f"{own[0].name} finds {points(own[0].interval)} % of the answers.")
    return [*sentences, basis(questions, documents)]


def by_drafts(stands: str) -> str:
    """The answer where nobody has accepted a question.

    Args:
        stands: what is taken instead of a choice, such as `STANDING`.
    """
    return (
        f"{DRAFTED.capitalize()}: nobody has accepted any of these questions, so {stands}. "
        f"{ACCEPT.capitalize()}."
    )


def drafts_left_out(drafts: int) -> Iterator[str]:
    """What has to be said of drafts beside accepted questions; nothing where there were none.

    Args:
        drafts: how many were left out.
    """
    if drafts:
        were = "drafts that nobody has accepted were" if drafts > 1 else (
            "draft that nobody has accepted was"
        )  # fmt: skip
        yield f"{drafts} {were} left out."


def basis(questions: int, documents: int) -> str:
    """What an answer rests on.

    Args:
        questions: how many were asked.
        documents: how many they are about.
    """
    asked = f"{questions} questions" if questions > 1 else "1 question"
    was = "were" if questions > 1 else "was"
    if documents == 1:
        return (
            f"{asked} about one document {was} asked: this says nothing about others, "
            "as only the questions could be drawn anew."
        )
    few = f" {documents} are few: ask about more of them." if documents < FEW else ""
    return f"{asked} about {documents} documents {was} asked.{few}"


def _best(rows: Sequence[Row], contrasts: Sequence[Contrast]) -> str:
    """Which row is best, or which ones cannot be told from the best."""
    first = max(rows, key=_mean)
    own = [one for one in contrasts if first.name in (one.left, one.right)]
    if len(own) == 1:
        return own[0].words
    other = {one.right if one.left == first.name else one.left: one for one in own}
    shown = [name for name, one in other.items() if one.gap.shows_a_gap]
    if len(shown) == len(own):
        second = min(shown, key=lambda name: other[name].gap.mean)
        return (
            f"{first.column} is better than every other; next is {_column_of(second, rows)}, "
            f"by {points(other[second].gap)}."
        )
    level = [row.column for row in rows if row is first or _is_level(other[row.name].gap)]
    close = [
        row.column
        for row in rows
        if row is not first and row.name not in shown and row.column not in level
    ]
    behind = f" {len(shown)} other{'s are' if len(shown) > 1 else ' is'} behind." if shown else ""
    lead = f"{_all(level)} {'are' if len(level) > 1 else 'is'}"
    found = points(first.interval)
    if not close:
        return f"{lead} level with {found}.{behind}"
    return f"{lead} ahead with {found}, but no difference to {_all(close)} is shown.{behind}"


def _is_level(gap: Interval) -> bool:
    return abs(gap.mean) < _SAME and not gap.shows_a_gap


def _mean(row: Row) -> float:
    return row.interval.mean if row.interval else 0.0


def _column_of(name: str, rows: Sequence[Row]) -> str:
    return next(row.column for row in rows if row.name == name)


def _all(names: Sequence[str]) -> str:
    """Names as they are listed in a sentence."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _contrast(left: Row, right: Row, gap: Interval, more: int | None) -> str:
    if gap.shows_a_gap:
        return f"{left.column} is better than {right.column} by {points(gap)}."
    size = f"a gap of {VISIBLE * 100:.0f} points"
    if more is None:
        enough = "one question says nothing"
    elif more > 0:
        are = "question is" if more == 1 else "questions are"
        enough = f"to see {size} about {more:,} more {are} needed"
    else:
        enough = f"{size} would have been seen"
    return f"No difference shown between {left.column} and {right.column}; {enough}."


def _share(left: str, right: str, own: Interval, equal: Interval) -> str:
    if not own.shows_a_gap and not equal.shows_a_gap:
        return f"{left} and {right}: no difference shown, at their own options or at equal size."
    gap, size = round(own.mean * 100), round((own.mean - equal.mean) * 100)
    if not own.shows_a_gap:
        split = f"{left} and {right}: no difference shown at their own options"
    elif gap and 0 <= size <= gap:
        are = "is" if size == 1 else "are"
        split = f"{size or 'none'} of the {gap} points of {left} over {right} {are} size"
    else:
        split = f"{left} is better than {right} by {points(own)} at its own options"
    if equal.shows_a_gap:
        ahead = left if equal.mean > 0 else right
        return f"{split}; at equal size {ahead} is better by {points(upright(equal))}."
    return f"{split}; at equal size no difference is shown."


def upright(gap: Interval) -> Interval:
    """A gap without its sign."""
    return gap if gap.mean >= 0 else Interval(-gap.mean, -gap.high, -gap.low)


def points(interval: Interval | None) -> str:
    """An interval in points of a hundred."""
    if interval is None:
        return "nothing"
    mean, low, high = (100 * one for one in (interval.mean, interval.low, interval.high))
    return f"{mean:.1f} ({low:.1f} to {high:.1f})"
