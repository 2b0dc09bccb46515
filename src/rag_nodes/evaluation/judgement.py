"""What a judge said of the columns' answers, as plain data with intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_nodes.evaluation.leads import Interval, own_mean
from rag_nodes.models.prices import dollars

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    @classmethod
    def of(cls, name: str, answers: Sequence[JudgedAnswer]) -> JudgedColumn:
        """The means over some answers."""
        correct = _rated([one.correct and share_of(one.correct) for one in answers])
        if found := correct.interval:
            ends = (WORST + (BEST - WORST) * one for one in (found.mean, found.low, found.high))
            correct = Rating(Interval(*ends), correct.judged, correct.not_judged)
        return cls(name, _rated([one.faithful for one in answers]), correct)


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that was judged in a run.

    Attributes:
        answers_by: name of the model that answered.
        judge: name of the model that judged.
        questions: ids of those that were drawn, the same for every column.
        budget: tokens that were read for each answer.
        columns: what their answers are worth.
        answers: one per column and question.
        verdict: whose answers are more correct, a sentence for every two columns; in points of a
            hundred, where the worst grade is 0 and the best 100.
        spending: requests, tokens and US dollars, of "answers" and of "judging".
        error: why nothing was judged; None where it was.
    """

    answers_by: str
    judge: str
    questions: tuple[str, ...]
    budget: int
    columns: tuple[JudgedColumn, ...] = ()
    answers: tuple[JudgedAnswer, ...] = ()
    verdict: tuple[str, ...] = ()
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


def share_of(grade: float) -> float:
    """A grade as a share of the scale, from 0 to 1."""
    return (grade - WORST) / (BEST - WORST)


def _rated(values: Sequence[float | None]) -> Rating:
    known = [one for one in values if one is not None]
    interval = own_mean(np.array(known)) if known else None
    return Rating(interval, len(known), len(values) - len(known))
