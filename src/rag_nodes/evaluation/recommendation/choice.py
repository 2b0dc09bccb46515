"""Which candidate to take: the cheapest that is as good as the best, or the standard.

All differences are judged at once, since the best of many is partly the luckiest: the joint draws
say how far apart any two of so many candidates come to lie by chance (Tukey's range, by bootstrap;
Westfall and Young, "Resampling-Based Multiple Testing", 1993, section 2.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.evaluation.bootstrap import FEWEST, Bootstrap, Interval, questions_for
from rag_nodes.evaluation.verdicts import VISIBLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TOLERANCE = 0.01
"""By how much the mean of a cheaper candidate may be below that of the leader: one point, or one
standard error of their difference (Breiman et al., "Classification and Regression Trees", 1984,
section 3.4.3), but no more than `VISIBLE`."""
_CONFIDENCE = 0.95
_ALIKE = 1.05
"""Costs within a twentieth are the same."""
_LEAST = 1e-12
"""A standard error that is none: two candidates that answer alike."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where candidates stand against the best of them.

    Attributes:
        leader: name of the one with the highest mean.
        gaps: leader minus each, with intervals that hold for all pairs at once in 95 % of tries.
        errors: standard error of each of these gaps.
    """

    leader: str
    gaps: dict[str, Interval]
    errors: dict[str, float]

    @property
    def behind(self) -> list[str]:
        """Names of those that are shown to be worse than the leader."""
        return [name for name, gap in self.gaps.items() if gap.low > 0]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What to take.

    Attributes:
        chosen: name of the candidate.
        told: whether the data say so, or the standard stands.
        needed: questions with which a gap of `VISIBLE` between the leader and the standard, or
            the next, would be seen in 80 of 100 tries; 0 where nothing can be said.
    """

    chosen: str
    told: bool
    needed: int


def standing(values: Mapping[str, Floats], bootstrap: Bootstrap) -> Standing:
    """Where candidates stand, judged together.

    Args:
        values: of the main measure: one array over the questions per candidate.
        bootstrap: made from the same questions.
    """
    names = list(values)
    table = np.stack([values[name] for name in names], axis=1)
    means = table.mean(0)
    best = int(means.argmax())
    drawn = bootstrap.means(table)
    reach = _reach(drawn - drawn.mean(0))
    gaps, errors = {}, {}
    for at, name in enumerate(names):
        differences = table[:, best] - table[:, at]
        error = float((drawn[:, best] - drawn[:, at]).std()) * bootstrap.stretch
        errors[name] = 0.0 if at == best else error
        gaps[name] = _gap(differences, 0.0 if at == best else reach * error)
    return Standing(names[best], gaps, errors)


def decide(
    standing: Standing,
    means: Mapping[str, float],
    costs: Mapping[str, float],
    *,
    standard: str,
    stopped: Sequence[str],
    asked: int,
) -> Chosen:
    """The candidate to take.

    The standard stands where nothing is shown to be worse than the best.

    Args:
        standing: of those that were asked everything.
        means: of the main measure.
        costs: of having each in a store.
        standard: name of the candidate that stands where the data cannot tell.
        stopped: names of those that were stopped as hopeless.
        asked: how many questions.
    """
    known = standard in standing.gaps
    behind = standing.behind
    needed = _needed(standing, standard if known else "", asked)
    told = bool(behind or stopped)
    if not told:
        return Chosen(standard if known else standing.leader, told=False, needed=needed)
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
    return Chosen(chosen, told=True, needed=needed)


def _reach(centred: Floats) -> float:
    """Standard errors within which all pairs stay in 95 % of the draws."""
    farthest = np.zeros(len(centred))
    for at in range(centred.shape[1] - 1):
        pairs = centred[:, at : at + 1] - centred[:, at + 1 :]
        errors = pairs.std(0)
        told = errors > _LEAST
        if told.any():
            farthest = np.maximum(farthest, np.abs(pairs[:, told] / errors[told]).max(1))
    return float(np.quantile(farthest, _CONFIDENCE))


def _gap(differences: Floats, margin: float) -> Interval:
    mean = float(differences.mean())
    if margin == inf or np.isnan(margin):
        return Interval(mean, -1.0, 1.0)
    low, high = max(-1.0, mean - margin), min(1.0, mean + margin)
    if np.count_nonzero(differences) < FEWEST:
        low, high = min(low, 0.0), max(high, 0.0)
    return Interval(mean, low, high)


def _needed(standing: Standing, standard: str, asked: int) -> int:
    others = [name for name in standing.gaps if name != standing.leader]
    if standard and standard != standing.leader:
        others = [standard]
    errors = [standing.errors[name] for name in others if 0 < standing.errors[name] < inf]
    return questions_for(VISIBLE, min(errors), asked) if errors else 0
