"""What a judge said of the columns' answers, as plain data with intervals."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rag_nodes.evaluation.leads import Interval, Swaps, own_mean
from rag_nodes.models.prices import dollars

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Preference = Literal["left", "right", "tie", "inconsistent"]
"""Which of two answers is better; inconsistent: whichever was shown first, or last."""
WORST, BEST = 1.0, 5.0
"""Ends of LlamaIndex's scale of correctness."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One measure over the questions it could be judged for.

    Attributes:
        interval: mean with where the true one may lie; None where nothing was judged.
        judged: questions behind it.
        not_judged: questions whose judgement could not be read, or that have no answer.
    """

    interval: Interval | None
    judged: int
    not_judged: int


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One answer from what one column read.

    Attributes:
        column: whose.
        question: id.
        text: the answer; "" where the model gave none.
        faithful: 1 where all of it is in what was read, 0 where not; None where not judged.
        correct: from 1 to 5; None where not judged.
        words: what the judge said of both, or why it said nothing.
    """

    column: str
    question: str
    text: str
    faithful: float | None
    correct: float | None
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgedColumn:
    """What the answers of one column are worth.

    Attributes:
        name: of the column.
        faithfulness: share of the answers that are in what was read, from 0 to 1.
        correctness: mean grade, from 1 to 5.
    """

    name: str
    faithfulness: Rating
    correctness: Rating


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Whose answers are better, each pair judged in both orders.

    Attributes:
        left: name of a column.
        right: name of another.
        wins: questions for which that of `left` is preferred in both orders, or in one beside a
            tie.
        losses: the same for `right`.
        ties: questions for which neither is, or both answers are the same.
        inconsistent: questions for which the judge contradicted itself when the order changed.
        not_judged: questions without two answers, or whose judgement could not be read.
        gap: wins less losses, as a share of the questions of which any pair was judged, with an
            interval that holds for all pairs at once; None where no answer of this one was.
        words: what this says, for people.
    """

    left: str
    right: str
    wins: int
    losses: int
    ties: int
    inconsistent: int
    not_judged: int
    gap: Interval | None
    words: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that was judged in a run.

    Attributes:
        answers_by: name of the model that answered.
        judge: name of the model that judged.
        questions: ids of those that were drawn, the same for every column.
        budget: tokens that were read for each answer.
        columns: what their answers are worth.
        pairs: every two of them.
        answers: one per column and question.
        spending: requests, tokens and US dollars, of "answers" and of "judging".
        error: why nothing was judged; None where it was.
    """

    answers_by: str
    judge: str
    questions: tuple[str, ...]
    budget: int
    columns: tuple[JudgedColumn, ...] = ()
    pairs: tuple[JudgedPair, ...] = ()
    answers: tuple[JudgedAnswer, ...] = ()
    spending: dict[str, dict[str, Any]] = field(default_factory=dict)
    error: str | None = None

    @property
    def words(self) -> str:
        """Who judged what and what that took, or why nothing was judged."""
        if self.error:
            return f"The answers were not judged: {self.error}."
        parts = [
            f"{what} {one['requests']:,} requests, {one['tokens_read']:,} tokens read and "
            f"{one['tokens_written']:,} written, {dollars(one['dollars'])}"
            for what, one in self.spending.items()
        ]
        return (
            f"{self.answers_by} answered {len(self.questions)} of the questions from what each "
            f"column read, {self.budget:,} tokens, and {self.judge} judged: {'; '.join(parts)}."
        )


def judged_column(name: str, answers: Sequence[JudgedAnswer]) -> JudgedColumn:
    """What the answers of a column are worth."""
    span = BEST - WORST
    correct = _rated(
        [None if one.correct is None else (one.correct - WORST) / span for one in answers]
    )
    if correct.interval:
        ends = correct.interval
        graded = (WORST + span * one for one in (ends.mean, ends.low, ends.high))
        correct = Rating(Interval(*graded), correct.judged, correct.not_judged)
    return JudgedColumn(name, _rated([one.faithful for one in answers]), correct)


def judged_pairs(
    said: Mapping[tuple[str, str], Sequence[Preference | None]], *, draws: int, seed: int
) -> list[JudgedPair]:
    """Whose answers are better, all pairs of columns judged at once.

    Args:
        said: by pair, what was said of each question.
        draws: how often signs are swapped.
        seed: of the swaps.
    """
    worth = {"left": 1.0, "right": -1.0}
    asked = [one for one in zip(*said.values(), strict=True) if any(one)]
    # Beside a column of zeros, each pair is the lead of its own column.
    table = np.array([[*(worth.get(one or "", 0.0) for one in row), 0.0] for row in asked])
    leads = [(at, len(said)) for at in range(len(said))]
    gaps = Swaps(table, leads, draws=draws, seed=seed).intervals if asked else []
    found = []
    for at, ((left, right), each) in enumerate(said.items()):
        counts = Counter(each)
        gap = gaps[at] if any(each) else None
        pair = JudgedPair(
            left,
            right,
            wins=counts["left"],
            losses=counts["right"],
            ties=counts["tie"],
            inconsistent=counts["inconsistent"],
            not_judged=counts[None],
            gap=gap,
            words=_words(left, right, gap, counts),
        )
        found.append(pair)
    return found


def _rated(values: Sequence[float | None]) -> Rating:
    known = [one for one in values if one is not None]
    interval = own_mean(np.array(known)) if known else None
    return Rating(interval, len(known), len(values) - len(known))


def _words(left: str, right: str, gap: Interval | None, counts: Counter[Preference | None]) -> str:
    judged = sum(counts.values()) - counts[None]
    if gap is None:
        return f"{left} and {right}: no pair of answers could be judged."
    count = (
        f"{counts['left']} to {counts['right']}, {counts['tie']} ties and "
        f"{counts['inconsistent']} contradictions among {judged}"
    )
    if counts[None]:
        count += f", {counts[None]} not judged"
    if not gap.shows_a_gap:
        return f"No preference shown between the answers from {left} and {right}: {count}."
    first, second, sign = (left, right, 1) if gap.mean > 0 else (right, left, -1)
    low, high = sorted((sign * gap.low, sign * gap.high))
    return (
        f"The answers from {first} are preferred to those from {second} by "
        f"{100 * abs(gap.mean):.0f} ({100 * low:.0f} to {100 * high:.0f}) points: {count}."
    )
