"""Intervals that hold what they promise: simulated, with known truth."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest

from rag_nodes.evaluation.bootstrap import Bootstrap, Interval, chances, questions_for

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
        named += bootstrap.gap(values[:, 0] - values[:, 1]).shows_a_gap
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
    assert questions_for(0.03, 0.05, 200) > questions_for(0.03, 0.02, 200)
    assert questions_for(0.03, 0.05, 200) == pytest.approx(
        4 * questions_for(0.06, 0.05, 200), abs=4
    )
    assert questions_for(0.03, 0.05, 200) == ceil((2.8 * 0.05 / 0.03) ** 2 * 200)


def test_a_gap_has_to_be_more_than_a_handful_of_answers_to_be_seen() -> None:
    assert questions_for(0.03, 0.0, 10) == 200
    few = np.zeros(100)
    few[:5] = 1.0
    drawn = Bootstrap([str(number) for number in range(100)], draws=500)
    assert drawn.gap(few).low == 0
    few[5] = 1.0
    assert drawn.gap(few).low > 0
    assert drawn.gap(np.ones(5).repeat(20)).shows_a_gap


@pytest.mark.parametrize(
    ("count", "student"),
    [(2, 12.706), (4, 3.182), (5, 2.776), (11, 2.228), (13, 2.179), (31, 2.042)],
)
def test_few_documents_widen_an_interval_as_students_t_does(count: int, student: float) -> None:
    """The draws have the spread of the documents at hand: that of all there are is larger."""
    spread = (count / (count - 1)) ** 0.5
    widened = Bootstrap(documents(count, 3)).stretch
    assert widened == pytest.approx(student / 1.96 * spread, rel=2e-3)
    assert Bootstrap(documents(count, 3)).unit == "documents"
    assert Bootstrap(["only"] * count).stretch == widened


def test_names_are_shuffled_for_all_questions_of_a_document_together() -> None:
    """Of four documents all have the same sign in two of sixteen shuffles; nothing else alarms."""
    bootstrap = Bootstrap(documents(4, 30), draws=400)
    assert bootstrap.false_alarms(np.full(120, 0.5), tries=1600) == pytest.approx(200, abs=45)


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_few_documents_name_no_winner_more_often_than_many(count: int) -> None:
    generator = np.random.default_rng(count)
    named = 0
    for seed in range(200):
        leaning = np.repeat(generator.normal(0, 0.2, count), 20)
        gaps = np.clip(leaning + generator.normal(0, 0.1, leaning.size), -1, 1)
        bootstrap = Bootstrap(documents(count, 20), draws=400, seed=seed)
        named += bootstrap.gap(gaps).shows_a_gap
    assert named <= 16


def test_one_question_says_nothing() -> None:
    single = Bootstrap(["only"], draws=50)
    assert single.gap(np.array([1.0])) == Interval(1.0, -1.0, 1.0)
    assert single.interval(np.array([1.0])) == Interval(1.0, 0.0, 1.0)


def test_an_interval_stays_within_what_a_share_can_be() -> None:
    values = np.array([0.9, 1.0, 1.0, 0.2])
    found = Bootstrap(["a", "a", "b", "c"], draws=300).interval(values)
    assert (found.low, found.high) == (0.0, 1.0)


def test_answers_that_are_all_found_are_no_certainty() -> None:
    few = Bootstrap(["one"] * 3, draws=100).interval(np.ones(3))
    assert few == Interval(1.0, pytest.approx(0.025 ** (1 / 3)), 1.0)
    none = Bootstrap([f"{n}" for n in range(40)], draws=100).interval(np.zeros(40))
    assert none == Interval(0.0, 0.0, pytest.approx(0.088, abs=0.001))


def test_what_is_kept_of_the_draws_changes_no_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [f"d{number % 7}" for number in range(60)]
    values = np.random.default_rng(3).random((60, 2))
    kept = Bootstrap(documents)
    first, second = kept.means(values), kept.means(values)
    monkeypatch.setattr("rag_nodes.evaluation.bootstrap._MOST_KEPT", 0)
    assert np.array_equal(first, second)
    assert np.array_equal(first, Bootstrap(documents).means(values))
