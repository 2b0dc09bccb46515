"""Which candidate to take: the cheapest that is as good as the best, or the standard.

All candidates are judged at once, since the best of many is partly the luckiest.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.evaluation.leads import DRAWS, Interval, Swaps
from rag_nodes.evaluation.verdicts import more_of
from rag_nodes.evaluation.wording import VISIBLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TOLERANCE = 0.01
"""By how much the mean of a cheaper candidate may be below that of the leader: one point, or one
standard error of their difference (Breiman et al., "Classification and Regression Trees", 1984,
section 3.4.3), but no more than `VISIBLE`."""
_ALIKE = 1.05
"""Costs within a twentieth are the same."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where candidates stand against the best of them.

    Attributes:
        leader: name of the one with the highest mean.
        gaps: leader minus each, in these documents, with intervals that hold for all pairs of
            candidates at once; best first, the leader itself on top.
        errors: standard error of each of these gaps.
        more: about how many more questions would show each of them.
        behind: names of those that are shown to be worse than another, best first.
    """

    leader: str
    gaps: dict[str, Interval]
    errors: dict[str, float]
    more: dict[str, int]
    behind: list[str]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What to take.

    Attributes:
        chosen: name of the candidate.
        told: whether the data say so, or the standard stands.
        lead: of the leader over the standard or, where that leads, over the next.
        more_questions: about how many more would show this lead, or one of `VISIBLE` where it is
            smaller, in 80 of 100 tries; 0 where it is shown, or there is one candidate.
    """

    chosen: str
    told: bool
    lead: float
    more_questions: int


def standing(values: Mapping[str, Floats], *, draws: int = DRAWS, seed: int = 0) -> Standing:
    """Where candidates stand, judged together.

    Args:
        values: of the main measure: one array over the questions per candidate.
        draws: how often signs are swapped.
        seed: of the swaps.
    """
    leader, *others = sorted(values, key=lambda name: -values[name].mean())
    table = np.stack([values[name] for name in (leader, *others)], axis=1)
    pairs = [*combinations(range(len(values)), 2)]
    # The first pairs are those of the leader.
    swaps = Swaps(table, pairs, draws=draws, seed=seed)
    # The one with the higher mean is on the left.
    worse = {at for (_, at), gap in zip(pairs, swaps.intervals, strict=True) if gap.low > 0}
    return Standing(
        leader,
        {leader: Interval(0.0, 0.0, 0.0), **dict(zip(others, swaps.intervals, strict=False))},
        {leader: 0.0, **dict(zip(others, swaps.errors, strict=False))},
        {leader: 0, **{name: more_of(swaps, at) for at, name in enumerate(others)}},
        [name for at, name in enumerate((leader, *others)) if at in worse],
    )


def decide(
    standing: Standing,
    means: Mapping[str, float],
    costs: Mapping[str, float],
    *,
    standard: str,
    stopped: Sequence[str],
) -> Chosen:
    """The candidate to take.

    The standard stands where nothing is shown to be worse than another.

    Args:
        standing: of those that were asked everything.
        means: of the main measure.
        costs: of having each in a store.
        standard: name of the candidate that stands where the data cannot tell.
        stopped: names of those that were stopped as hopeless.
    """
    leader, *others = standing.gaps
    known = standard in standing.gaps
    behind = standing.behind
    rival = standard if standard in others else others[0] if others else leader
    lead = standing.gaps[rival].mean
    if not behind and not stopped:
        stands = standard if known else leader
        return Chosen(stands, told=False, lead=lead, more_questions=standing.more[rival])
    good = [
        name
        for name in standing.gaps
        if name not in behind
        and means[standing.leader] - means[name]
        <= max(TOLERANCE, min(standing.errors[name], VISIBLE))
    ]
    least = min(costs[name] for name in good)
    cheap = [name for name in good if costs[name] <= _ALIKE * least]
    chosen = standard if standard in cheap else max(cheap, key=lambda name: means[name])
    return Chosen(chosen, told=True, lead=lead, more_questions=standing.more[rival])
