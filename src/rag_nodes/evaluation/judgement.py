"""What a judge said of the columns' answers, as plain data with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.evaluation.leads import Interval, own_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

WORST, BEST = 1.0, 5.0
"""Ends of LlamaIndex's scale of correctness."""


@dataclass(frozen=True, slots=True)
class Rating:
    """A mean over the questions that could be `judged`; None where none could.

    `not_judged` are questions whose judgement could not be read, or that have no answer.
    """

    interval: Interval | None
    judged: int
    not_judged: int


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One answer from what one column read; "" where the model gave none.

    `faithful` is 1 where all of it is in what was read, else 0; `correct` is from 1 to 5; None
    where they were not judged. `words` are what the judge said of both, or why it said nothing.
    """

    column: str
    question: str
    text: str
    faithful: float | None
    correct: float | None
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgedColumn:
    """Share of a column's answers that are in what was read, and their mean grade from 1 to 5."""

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
        verdict: whose answers are more correct, a sentence for every two columns; in points of a
            hundred, where the worst grade is 0 and the best 100.
        error: why nothing was judged; None where it was.
    """

    answers_by: str
    judge: str
    questions: tuple[str, ...]
    budget: int
    columns: tuple[JudgedColumn, ...] = ()
    answers: tuple[JudgedAnswer, ...] = ()
    verdict: tuple[str, ...] = ()
    error: str | None = None

    @property
    def words(self) -> str:
        """Who judged what, or why nothing was judged."""
        if self.error:
            return f"The answers were not judged: {self.error}."
        return (
            f"{self.answers_by} answered {len(self.questions)} of the questions from what each "
            f"column read, {self.budget:,} tokens, and {self.judge} judged."
        )


def share_of(grade: float) -> float:
    """A grade as a share of the scale, from 0 to 1."""
    return (grade - WORST) / (BEST - WORST)


def _rated(values: Sequence[float | None]) -> Rating:
    known = [one for one in values if one is not None]
    interval = own_mean(np.array(known)) if known else None
    return Rating(interval, len(known), len(values) - len(known))
