"""What is chosen, and when the data cannot tell."""

from __future__ import annotations

import numpy as np
import pytest

from rag_nodes.evaluation.choice import Standing, decide, standing

DOCUMENTS, EACH = 40, 5
IDS = [f"d{at // EACH}" for at in range(DOCUMENTS * EACH)]


def simulated(seed: int, levels: dict[str, float]) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    documents = np.repeat(generator.normal(0, 0.15, DOCUMENTS), EACH)
    return {
        name: (generator.random(len(IDS)) < np.clip(level + documents, 0, 1)).astype(float)
        for name, level in levels.items()
    }


def judged(values: dict[str, np.ndarray]) -> Standing:
    return standing(values, draws=1000)


def decided(values: dict[str, np.ndarray], **costs: float):  # noqa: ANN201
    stands = judged(values)
    means = {name: float(one.mean()) for name, one in values.items()}
    return decide(
        stands, means, {name: costs.get(name, 100.0) for name in values},
        standard="standard", stopped=[],
    )  # fmt: skip


def test_where_all_are_equal_the_data_cannot_tell_and_the_standard_stands() -> None:
    told = 0
    for seed in range(40):
        names = ["standard", *(f"c{at}" for at in range(11))]
        decision = decided(simulated(seed, dict.fromkeys(names, 0.6)), c3=1.0)
        told += decision.told
        if not decision.told:
            assert decision.chosen == "standard"
            assert decision.more_questions > 0
    assert told <= 5  # of twelve, where 2 are to be expected


def test_the_same_answers_under_twelve_names_are_no_difference_at_all() -> None:
    once = simulated(0, {"standard": 0.6})["standard"]
    decision = decided({"standard": once, **{f"c{at}": once for at in range(11)}}, c0=1.0)
    assert (decision.told, decision.chosen, decision.lead) == (False, "standard", 0)


def test_a_clear_winner_is_chosen_over_a_cheaper_loser() -> None:
    values = simulated(1, {"standard": 0.4, "good": 0.8})
    decision = decided(values, standard=1.0, good=50.0)
    assert (decision.told, decision.chosen) == (True, "good")
    assert judged(values).behind == ["standard"]


def test_of_those_as_good_as_the_best_the_cheapest_is_chosen() -> None:
    values = simulated(2, {"good": 0.8, "bad": 0.3})
    values["cheap"] = values["good"].copy()
    values["cheap"][0] = 0.0
    assert decided(values, cheap=10.0).chosen == "cheap"


def test_a_cheaper_one_that_is_points_behind_is_not_chosen_though_nothing_is_shown() -> None:
    values = simulated(2, {"good": 0.8, "bad": 0.3})
    values["cheap"] = values["good"].copy()
    values["cheap"][np.flatnonzero(values["good"])[:5]] = 0.0
    assert "cheap" not in judged(values).behind
    assert decided(values, cheap=10.0).chosen == "good"


def test_at_equal_costs_the_standard_is_chosen_before_another() -> None:
    values = simulated(2, {"good": 0.8, "bad": 0.3})
    values["standard"] = values["good"].copy()
    values["standard"][0] = 0.0
    assert decided(values, standard=100.0, good=99.0).chosen == "standard"


def test_intervals_of_many_candidates_are_wider_than_that_of_a_pair() -> None:
    values = simulated(6, {f"c{at}": 0.5 + at / 100 for at in range(12)})
    many = judged(values)
    pair = next(name for name in values if name != many.leader)
    alone = judged({name: values[name] for name in (many.leader, pair)})
    wide, narrow = many.gaps[pair], alone.gaps[pair]
    assert wide.mean == pytest.approx(narrow.mean)
    assert wide.high - wide.low > 1.3 * (narrow.high - narrow.low)


def test_too_few_questions_that_differ_show_nothing() -> None:
    once = np.ones(len(IDS))
    other = once.copy()
    other[[0, 50, 100, 150, 199]] = 0.0
    assert judged({"one": once, "other": other}).behind == []


def test_one_question_shows_nothing() -> None:
    assert standing({"one": np.ones(1), "other": np.zeros(1)}, draws=100).behind == []
