"""A choice in sentences: what to take, why, and what would have to be true to take another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.evaluation.recommendation.report import pareto
from rag_nodes.evaluation.wording import (
    basis,
    by_drafts,
    drafts_left_out,
    points,
    upright,
    would_show,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rag_nodes.evaluation.choice import Chosen
    from rag_nodes.evaluation.leads import Interval
    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.evaluation.race import Stop
    from rag_nodes.evaluation.recommendation.report import Trial

_SMALLER = 0.8
"""Share of the costs of another candidate from which saving is worth a sentence."""
_ALIKE = 0.05
"""A difference of costs that is none."""


class AtBudget(NamedTuple):
    """What is known about another budget.

    Attributes:
        budget: tokens of context.
        leader: name of the candidate that finds most in it.
        gap: leader minus the chosen one, in this budget.
        change: of the chosen one, this budget minus the main one.
    """

    budget: int
    leader: str
    gap: Interval
    change: Interval


@dataclass(frozen=True, slots=True)
class Reasons:
    """What sentences are made of.

    Attributes:
        trials: every candidate by name.
        decision: which one to take.
        leader: name of the one that found most.
        standard: name of the one that stands where the data cannot tell.
        plan: what was measured.
        dataset: numbers of questions, documents and drafts, and of drafts that were left out.
    """

    trials: Mapping[str, Trial]
    decision: Chosen
    leader: str
    standard: str
    plan: EvaluationPlan
    dataset: Mapping[str, Any]

    def verdict(self) -> Iterator[str]:
        """What to take and why."""
        chosen = self.trials[self.decision.chosen]
        asked = basis(self.dataset["questions"], self.dataset["documents"])
        if self._by_drafts:
            yield by_drafts(f"{chosen.name} stands, and no other was tried")
            yield asked
            return
        if self.decision.told:
            yield (
                f"Take {chosen.name}: it finds {points(chosen.interval)} % of the answers in "
                f"{self.plan.budget:,} tokens."
            )
            yield from self._why(chosen)
        else:
            yield f"The data cannot tell: {self._untold(chosen)}"
        if worse := self._worse():
            yield worse
        yield from drafts_left_out(self.dataset["unaccepted"])
        yield asked

    def otherwise(self, budgets: Iterable[AtBudget]) -> Iterator[str]:
        """What would have to be true to take another.

        Args:
            budgets: what is known about others than the main one.
        """
        chosen = self.trials[self.decision.chosen]
        best = self.trials[self.leader]
        if self._by_drafts:
            return
        if not self.decision.told and best is not chosen:
            yield (
                f"{best.name} found most, {points(chosen.gap)} points more than {chosen.name}, "
                f"which is not shown; it takes {_space(best, chosen)}."
            )
        elif best.bytes > (1 + _ALIKE) * chosen.bytes:
            yield (
                f"Where a point of recall is worth any index: {best.name}, which takes "
                f"{_space(best, chosen)}."
            )
        yield from self._smaller(chosen)
        for budget in budgets:
            yield self._at(budget)

    @property
    def _by_drafts(self) -> bool:
        """Whether nobody has accepted a question."""
        return bool(self.dataset["drafts"] == self.dataset["questions"])

    def _smaller(self, chosen: Trial) -> Iterator[str]:
        """The best of those that take clearly less space, where it is not better as well."""
        measure = self.plan.main
        smaller = [
            one
            for one in pareto(tuple(self.trials.values()), measure)
            if one.bytes < _SMALLER * chosen.bytes
        ]
        lost = chosen.means[measure] - smaller[-1].means[measure] if smaller else -1.0
        if lost >= 0:
            yield (
                f"Where the index has to be smaller: {smaller[-1].name} takes "
                f"{_space(smaller[-1], chosen)} and finds {100 * lost:.1f} points less."
            )

    def _why(self, chosen: Trial) -> Iterator[str]:
        """Why this one, against the one that found most and against the standard."""
        best = self.trials[self.leader]
        if best is chosen:
            yield "None finds more, and none that costs less is as good."
        else:
            yield (
                f"{best.name} finds {points(chosen.gap)} points more, which is not shown to be a "
                f"difference, and takes {_space(best, chosen)}."
            )
        usual = self.trials.get(self.standard)
        if usual and usual not in (best, chosen) and usual.gap and usual.state == "level":
            yield (
                f"{usual.name}, which over many corpora is never far from the best, is not shown "
                f"to be worse: {points(usual.gap)} points behind {self.leader}."
            )

    def _untold(self, chosen: Trial) -> str:
        stands = (
            f"take {chosen.name}, which over many corpora is never far from the best"
            if chosen.name == self.standard
            else f"take {chosen.name}, which found most"
        )
        some = [one for one in self.trials.values() if one.state == "level"]
        if len(some) == 1:
            return f"there is one candidate; {stands}."
        return (
            f"none of {len(some)} candidates is shown to be worse than the best; {stands}. "
            f"{self._more_questions()}"
        )

    def _more_questions(self) -> str:
        said = would_show(self.decision.lead, self.decision.more_questions)
        return f"{said[0].upper()}{said[1:]}."

    def _worse(self) -> str:
        behind = [one for one in self.trials.values() if one.state == "behind"]
        stopped = [one for one in self.trials.values() if one.state == "stopped"]
        said = []
        if behind:
            worst = max(behind, key=lambda one: one.gap.mean if one.gap else 0.0)
            said.append(
                f"{len(behind)} of {len(self.trials)} {_are(len(behind))} shown to be worse than "
                f"{self.leader}, most of all {worst.name}, by {points(worst.gap)}"
            )
        if stopped:
            said.append(
                f"{len(stopped)} {'were' if len(stopped) > 1 else 'was'} stopped early, far behind"
            )
        return f"{'; '.join(said)}." if said else ""

    def _at(self, one: AtBudget) -> str:
        """What another budget would change, and whether another candidate is better in it."""
        change, chosen = one.change, self.decision.chosen
        start = f"In {one.budget:,} tokens instead of {self.plan.budget:,}, {chosen}"
        if change.shows_a_gap:
            more = "more" if change.mean > 0 else "less"
            said = f"{start} finds {points(upright(change))} points {more}"
        else:
            more = "less" if one.budget < self.plan.budget else "more"
            said = f"{start} is not shown to find {more}: {points(change)} points"
        if one.gap.low > 0:
            return f"{said}, and {one.leader} is better there by {points(one.gap)}."
        return f"{said}; none is shown to be better there."


def why_stopped(stop: Stop, questions: int) -> str:
    """Why a candidate was asked no more.

    Args:
        stop: what was seen.
        questions: how many there are.
    """
    return (
        f"stopped after {stop.asked} of {questions} questions, "
        f"{points(stop.gap)} points behind {stop.leader}"
    )


def _space(one: Trial, other: Trial) -> str:
    """What one takes in the store, beside another."""
    share = one.bytes / other.bytes if other.bytes else 1.0
    if abs(share - 1) <= _ALIKE:
        return "about the same space"
    return f"{100 * share:.0f} % of its space"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
