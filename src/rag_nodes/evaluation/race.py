"""Early stopping: questions in turns over all documents, and who need not be asked more of them.

A candidate is asked a growing share of the questions. After each share it is compared with the
leader, which has been asked all of them, on the questions that both have answered; where it is
behind by far more than luck makes of so few, it is asked no more.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rag_nodes.evaluation.leads import Interval, Swaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rag_nodes.evaluation.dataset import Question
    from rag_nodes.evaluation.report import Outcome

SHARES = (0.125, 0.25, 0.5)
"""Of the questions, after which a candidate may be stopped."""
LEAST = 16
"""Questions before which none is stopped."""
LEVEL = 0.999
"""Of the interval that a candidate must lie below: there are several looks at many candidates, and
who is stopped has no second chance."""
_DRAWS = 2_000


class Lead(NamedTuple):
    """The candidate that others have to keep up with.

    Attributes:
        name: of the candidate.
        values: of the main measure, by question in the order they are asked.
    """

    name: str
    values: list[float]


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a candidate was asked no more.

    Attributes:
        asked: questions it had been asked.
        leader: name of the candidate it was compared with.
        gap: leader minus candidate over these questions, with the wide interval.
    """

    asked: int
    leader: str
    gap: Interval


def in_turns(questions: Sequence[Question], seed: int) -> list[Question]:
    """The questions so ordered that any first part has its share of every document.

    Args:
        questions: of a dataset.
        seed: other orders for another number.
    """
    drawn = random.Random(seed)  # noqa: S311 -- an order, not a secret
    groups: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        groups[question.document].append(question)
    placed: list[tuple[float, int, Question]] = []
    for group in groups.values():
        drawn.shuffle(group)
        start = drawn.random()
        for at, question in enumerate(group):
            placed.append(((at + start) / len(group), len(placed), question))
    return [question for _, _, question in sorted(placed)]


class Race:
    """Who leads, and who has been stopped.

    Args:
        questions: how many there are.
        measure: the one that decides.
        seed: of the swaps.
        lead: who leads already; None for nobody.

    Attributes:
        leader: name of the candidate that has been asked everything and found most; "" at first.
        stops: why each candidate was stopped that was.
    """

    def __init__(
        self,
        questions: int,
        measure: str,
        *,
        seed: int = 0,
        lead: Lead | None = None,
    ) -> None:
        self.leader = lead.name if lead else ""
        self.stops: dict[str, Stop] = {}
        self._questions, self._measure, self._seed = questions, measure, seed
        self._best: NDArray[np.float64] = np.array(lead.values if lead else [])
        looks = {max(LEAST, ceil(share * questions)) for share in SHARES}
        self._looks = looks - {questions}

    def __len__(self) -> int:
        """Questions there are."""
        return self._questions

    @property
    def lead(self) -> Lead | None:
        """Who leads now, as plain data."""
        return Lead(self.leader, self._best.tolist()) if self.leader else None

    def is_hopeless(self, name: str, outcomes: Sequence[Outcome]) -> bool:
        """Whether a candidate need not be asked more.

        Args:
            name: of the candidate.
            outcomes: one for each question it has been asked.
        """
        asked = len(outcomes)
        if asked not in self._looks or asked >= len(self) or not self.leader:
            return False
        values = self._values(outcomes)
        table = np.stack([self._best[:asked], values], axis=1)
        swaps = Swaps(table, [(0, 1)], level=LEVEL, draws=_DRAWS, seed=self._seed)
        (gap,) = swaps.intervals
        if gap.low > 0:
            self.stops[name] = Stop(asked, self.leader, gap)
        return gap.low > 0

    def finish(self, name: str, outcomes: Sequence[Outcome]) -> None:
        """A candidate has been asked everything: it leads where it found more than all others."""
        found = self._values(outcomes)
        if not self.leader or found.mean() > self._best.mean():
            self.leader, self._best = name, found

    def _values(self, outcomes: Sequence[Outcome]) -> NDArray[np.float64]:
        return np.array([one.scores[self._measure] for one in outcomes])
