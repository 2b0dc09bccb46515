"""Intervals that hold what they promise: simulated, with known truth."""

from __future__ import annotations

import numpy as np
import pytest

from rag_nodes.evaluation.bootstrap import Bootstrap, chances, questions_for

DOCUMENTS = 40
PER_DOCUMENT = 10


def documents(count: int = DOCUMENTS, each: int = PER_DOCUMENT) -> list[str]:
    return [f"d{number}" for number in range(count) for _ in range(each)]


def recalls(generator: np.random.Generator, *, gap: float = 0.0) -> np.ndarray:
    """Two columns over questions that are hard or easy together with their document.

    Every question is found by a column or not, as with short answers; the second column loses a
    share of what it found.
    """
    ease = np.repeat(generator.beta(4, 2, DOCUMENTS), PER_DOCUMENT)
    both = generator.random(ease.size) < ease
    luck = generator.random((ease.size, 2)) < 0.02
    found = both[:, None] ^ luck
    lost = generator.random(ease.size) < gap / max(1e-9, found[:, 1].mean())
    found[:, 1] &= ~lost
    return found.astype(float)


def winners(gap: float, sets: int) -> int:
    generator = np.random.default_rng(7)
    named = 0
    for number in range(sets):
        values = recalls(generator, gap=gap)
        bootstrap = Bootstrap(documents(), draws=1000, seed=number)
        named += bootstrap.interval(values[:, 0] - values[:, 1]).shows_a_gap
    return named


def test_of_two_equal_columns_a_winner_is_named_in_at_most_one_of_twenty_sets() -> None:
    assert winners(0.0, 100) <= 5


def test_a_gap_of_five_points_is_seen_in_four_of_five_sets_of_400_questions() -> None:
    assert winners(0.05, 60) >= 48


def test_the_same_seed_draws_the_same_and_another_moves_an_interval_only_a_little() -> None:
    values = recalls(np.random.default_rng(1))[:, 0]
    first, again, other = (
        Bootstrap(documents(), draws=4000, seed=seed).interval(values) for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other
    assert first.low == pytest.approx(other.low, abs=0.01)
    assert first.high == pytest.approx(other.high, abs=0.01)


def test_intervals_are_wider_when_the_questions_of_a_document_succeed_together() -> None:
    values = np.repeat(np.arange(DOCUMENTS) % 2, PER_DOCUMENT).astype(float)
    together = Bootstrap(documents(), draws=2000).interval(values)
    apart = Bootstrap([str(n) for n in range(len(values))], draws=2000).interval(values)
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_questions_are_drawn_where_there_is_one_document_and_it_says_so() -> None:
    single = Bootstrap(["only"] * 50, draws=500)
    values = (np.arange(50) % 2).astype(float)
    interval = single.interval(values)
    assert single.unit == "questions"
    assert interval.low < 0.5 < interval.high
    assert Bootstrap(documents(), draws=10).unit == "documents"


def test_every_draw_weighs_columns_by_the_same_questions() -> None:
    values = np.random.default_rng(3).random((400, 1))
    drawn = Bootstrap(documents(), draws=300).means(np.hstack([values, values + 0.25]))
    assert drawn[:, 1] - drawn[:, 0] == pytest.approx(np.full(300, 0.25))


def test_the_chance_of_being_best_is_shared_by_equal_columns_and_adds_up_to_one() -> None:
    drawn = np.array([[0.5, 0.5, 0.1], [0.6, 0.6, 0.7], [0.9, 0.9, 0.2], [0.8, 0.8, 0.1]])
    assert chances(drawn) == pytest.approx([0.375, 0.375, 0.25])


def test_shuffled_names_raise_an_alarm_in_about_one_of_twenty_tries() -> None:
    values = recalls(np.random.default_rng(5), gap=0.05)
    bootstrap = Bootstrap(documents(), draws=1000)
    assert bootstrap.false_alarms(values[:, 0] - values[:, 1], tries=100) <= 10
    assert bootstrap.false_alarms(np.zeros(400), tries=10) == 0


def test_more_questions_are_needed_for_a_smaller_gap_and_for_noisier_columns() -> None:
    calm, noisy = np.tile([0.0, 0.1], 100), np.tile([-1.0, 1.0], 100)
    assert questions_for(0.03, noisy) > questions_for(0.03, calm)
    assert questions_for(0.03, noisy) == pytest.approx(4 * questions_for(0.06, noisy), abs=4)
    assert questions_for(0.03, noisy[:1]) == 0
