"""Early stopping: the hopeless are asked little, the best is always asked everything."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from rag_nodes.evaluation.dataset import Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.race import LEAST, Race, in_turns
from rag_nodes.evaluation.report import Outcome
from rag_nodes.text.spans import Span

MEASURE = "recall@1000"
DOCUMENTS, EACH = 30, 8


def questions() -> list[Question]:
    """Many about the first document, fewer about the others."""
    counts = [60, *[EACH] * (DOCUMENTS - 1)]
    return [
        Question(f"{document}-{at}", "Which?", ((Passage(f"d{document}", Span(0, 9)),),))
        for document, count in enumerate(counts)
        for at in range(count)
    ]


def outcomes(values: np.ndarray) -> list[Outcome]:
    return [Outcome(str(at), {MEASURE: float(value)}) for at, value in enumerate(values)]


def run(race: Race, name: str, values: np.ndarray) -> int:
    """How many questions a candidate is asked."""
    asked = outcomes(values)
    for count in range(1, len(asked) + 1):
        if race.is_hopeless(name, asked[:count]):
            return count
    race.finish(name, asked)
    return len(asked)


def simulated(seed: int, levels: list[float]) -> list[np.ndarray]:
    """Answers found or not, with documents that are easy or hard for all candidates."""
    generator = np.random.default_rng(seed)
    documents = np.repeat(generator.normal(0, 0.15, DOCUMENTS), EACH)
    chances = [np.clip(level + documents, 0, 1) for level in levels]
    return [(generator.random(len(documents)) < one).astype(float) for one in chances]


def race_of_simulated() -> Race:
    return Race(DOCUMENTS * EACH, MEASURE)


def test_any_first_part_has_its_share_of_every_document() -> None:
    ordered = in_turns(questions(), seed=3)
    assert sorted(one.id for one in ordered) == sorted(one.id for one in questions())
    for part in (0.25, 0.5):
        first = Counter(one.document for one in ordered[: round(part * len(ordered))])
        assert first["d0"] == pytest.approx(part * 60, abs=3)
        assert all(abs(first[f"d{one}"] - part * EACH) <= 1 for one in range(1, DOCUMENTS))


def test_the_order_follows_from_the_seed_and_not_from_the_order_given() -> None:
    one, same, other = (in_turns(questions(), seed=seed) for seed in (0, 0, 1))
    assert one == same
    assert one != other


@pytest.mark.parametrize("seed", range(40))
def test_the_planted_winner_is_never_stopped_wherever_it_comes(seed: int) -> None:
    levels = [0.6, 0.45, 0.3, 0.55, 0.6, 0.2]
    winner = seed % len(levels)
    levels[winner] = 0.7
    race = race_of_simulated()
    asked = [run(race, str(at), values) for at, values in enumerate(simulated(seed, levels))]
    assert asked[winner] == DOCUMENTS * EACH
    assert str(winner) not in race.stops


def test_the_hopeless_are_asked_a_part_of_the_questions() -> None:
    race = race_of_simulated()
    best, bad = simulated(5, [0.8, 0.2])
    assert run(race, "best", best) == DOCUMENTS * EACH
    assert run(race, "bad", bad) <= DOCUMENTS * EACH / 4
    stop = race.stops["bad"]
    assert stop.leader == "best"
    assert stop.gap.low > 0


def test_equals_are_never_stopped() -> None:
    for seed in range(20):
        race = race_of_simulated()
        for at, values in enumerate(simulated(seed, [0.6] * 8)):
            assert run(race, str(at), values) == DOCUMENTS * EACH


def test_nobody_is_stopped_by_a_handful_of_questions() -> None:
    race = Race(LEAST, MEASURE)
    run(race, "best", np.ones(LEAST))
    assert run(race, "worst", np.zeros(LEAST)) == LEAST


def test_the_first_of_equals_leads() -> None:
    race = race_of_simulated()
    for name in ("first", "second"):
        run(race, name, np.ones(DOCUMENTS * EACH))
    assert race.leader == "first"


def test_looks_are_few() -> None:
    looked = [
        count
        for before, count in pairwise(range(DOCUMENTS * EACH + 1))
        if race_stops_at(count) and before >= 0
    ]
    assert looked == [30, 60, 120]


def race_stops_at(count: int) -> bool:
    race = race_of_simulated()
    race.finish("best", outcomes(np.ones(DOCUMENTS * EACH)))
    return race.is_hopeless("worst", outcomes(np.zeros(count)))
