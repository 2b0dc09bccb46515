"""Early stopping: questions in turns over all documents, and who need not be asked more of them.

A candidate is asked a growing share of the questions. After each share it is compared with the
leader, which has been asked all of them, on the questions that both have answered; where it is
behind by far more than chance makes of so few, it is asked no more.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rag_nodes.evaluation.bootstrap import Bootstrap, Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rag_nodes.evaluation.dataset import Question
    from rag_nodes.evaluation.report import Outcome

SHARES = (0.125, 0.25, 0.5)
"""Of the questions, after which a candidate may be stopped."""
LEAST = 16
"""Questions before which none is stopped."""
CAUTION = 1.7
"""How many times as wide as usual the interval is that a candidate must lie below: 3.3 standard
errors. There are several looks at many candidates, and who is stopped has no second chance."""
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
        documents: of each question, in the order they are asked, the document it is about.
        measure: the one that decides.
        seed: of the draws.
        lead: who leads already; None for nobody.

    Attributes:
        leader: name of the candidate that has been asked everything and found most; "" at first.
        stops: why each candidate was stopped that was.
    """

    def __init__(
        self,
        documents: Sequence[str],
        measure: str,
        *,
        seed: int = 0,
        lead: Lead | None = None,
    ) -> None:
        self.leader = lead.name if lead else ""
        self.stops: dict[str, Stop] = {}
        self._documents, self._measure, self._seed = list(documents), measure, seed
        self._best: NDArray[np.float64] = np.array(lead.values if lead else [])
        count = len(documents)
        self._looks = {max(LEAST, ceil(share * count)) for share in SHARES} - {count}

    def __len__(self) -> int:
        """Questions there are."""
        return len(self._documents)

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
        bootstrap = Bootstrap(self._documents[:asked], draws=_DRAWS, seed=self._seed)
        gap = widened(bootstrap.gap(self._best[:asked] - values), CAUTION)
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


def widened(gap: Interval, times: float) -> Interval:
    """An interval so many times as wide on both sides of its mean."""
    low = gap.mean + times * (gap.low - gap.mean)
    return Interval(gap.mean, low, gap.mean + times * (gap.high - gap.mean))
