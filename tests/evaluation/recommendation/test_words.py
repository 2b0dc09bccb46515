"""What is said of a choice, from made-up trials."""

from __future__ import annotations

from typing import Any

from rag_nodes.evaluation.choice import Chosen
from rag_nodes.evaluation.leads import Interval
from rag_nodes.evaluation.race import Stop
from rag_nodes.evaluation.recommendation import PLAN, Trial
from rag_nodes.evaluation.recommendation.words import AtBudget, Reasons, why_stopped

SAME = Interval(0.0, -0.01, 0.01)


def trial(name: str, recall: float, size: int, gap: Interval, state: Any = "level") -> Trial:
    return Trial(
        name, name, 200, 0, "hybrid", "chunks", {}, state, 100, {"recall@1000": recall},
        Interval(recall, recall - 0.05, recall + 0.05), gap, {"mean": 150.0}, {"bytes": size},
    )  # fmt: skip


def reasons(*trials: Trial, chosen: str, told: bool = True, more: int = 0) -> Reasons:
    dataset = {"questions": 100, "documents": 20, "drafts": 0, "unaccepted": 0}
    leader = max(trials, key=lambda one: one.means["recall@1000"]).name
    named = {one.name: one for one in trials}
    return Reasons(named, Chosen(chosen, told, 0.02, more), leader, "standard", PLAN, dataset)


BEST = trial("best", 0.80, 2000, Interval(0.0, 0.0, 0.0))
CHEAP = trial("cheap", 0.79, 1000, Interval(0.01, -0.02, 0.04))
STANDARD = trial("standard", 0.78, 1500, Interval(0.02, -0.03, 0.07))
TINY = trial("tiny", 0.60, 100, Interval(0.2, 0.1, 0.3), "behind")


def test_a_cheaper_one_is_taken_with_what_the_best_would_add_and_cost() -> None:
    said = list(reasons(BEST, CHEAP, STANDARD, TINY, chosen="cheap").verdict())
    assert said == [
        "Take cheap: it finds 79.0 (74.0 to 84.0) % of the answers in 1,000 tokens.",
        (
            "best finds 1.0 (-2.0 to 4.0) points more, which is not shown to be a difference, and "
            "takes 200 % of its space."
        ),
        (
            "standard, which over many corpora is never far from the best, is not shown to be "
            "worse: 2.0 (-3.0 to 7.0) points behind best."
        ),
        "1 of 4 is shown to be worse than best, most of all tiny, by 20.0 (10.0 to 30.0).",
        "100 questions about 20 documents were asked.",
    ]


def test_what_would_have_to_be_true_to_take_another_is_cost_or_space() -> None:
    said = list(reasons(BEST, CHEAP, STANDARD, TINY, chosen="cheap").otherwise([]))
    assert said == [
        "Where a point of recall is worth any index: best, which takes 200 % of its space.",
        (
            "Where the index has to be smaller: tiny takes 10 % of its space and finds 19.0 points "
            "less."
        ),
    ]


def test_where_the_data_cannot_tell_the_best_is_named_as_not_shown_and_nothing_smaller() -> None:
    found = reasons(BEST, STANDARD, CHEAP, chosen="standard", told=False, more=350)
    assert next(iter(found.verdict())) == (
        "The data cannot tell: none of 3 candidates is shown to be worse than the best; take "
        "standard, which over many corpora is never far from the best. To show a lead of 3 "
        "points takes about 350 more questions."
    )
    assert list(found.otherwise([])) == [
        (
            "best found most, 2.0 (-3.0 to 7.0) points more than standard, which is not shown; it "
            "takes 133 % of its space."
        )
    ]


def test_another_budget_says_what_it_changes_and_who_is_better_there() -> None:
    found = reasons(BEST, TINY, chosen="best")
    less = AtBudget(500, "best", Interval(0.0, 0.0, 0.0), Interval(-0.1, -0.15, -0.05))
    same = AtBudget(2000, "tiny", Interval(0.05, 0.01, 0.09), SAME)
    [first, second] = list(found.otherwise([less, same]))[-2:]
    assert first == (
        "In 500 tokens instead of 1,000, best finds 10.0 (5.0 to 15.0) points less; none is shown "
        "to be better there."
    )
    assert second == (
        "In 2,000 tokens instead of 1,000, best is not shown to find more: 0.0 (-1.0 to 1.0) "
        "points, and tiny is better there by 5.0 (1.0 to 9.0)."
    )


def test_who_was_stopped_is_said_with_when_and_why() -> None:
    stop = Stop(25, "best", Interval(0.3, 0.1, 0.5))
    assert why_stopped(stop, 100) == (
        "stopped after 25 of 100 questions, 30.0 (10.0 to 50.0) points behind best"
    )
