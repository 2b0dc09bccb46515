"""Leads that luck makes as well: cases with their numbers, and laws."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_nodes.evaluation.sign_flips import SignFlips, own_mean

TWO = [(0, 1)]


def won(wins: int, losses: int, questions: int) -> np.ndarray:
    """Two columns, of which each finds the answers of so many questions alone."""
    values = np.zeros((questions, 2))
    values[:wins, 0] = 1
    values[wins : wins + losses, 1] = 1
    return values


def drawn(seed: int, shape: tuple[int, int], shares: list[float]) -> np.ndarray:
    return (np.random.default_rng(seed).random(shape) < shares).astype(float)


def draw_scores() -> tuple[np.ndarray, list[int]]:
    """Four columns over twelve documents of five questions, with scores between 0 and 1."""
    generator = np.random.default_rng(7)
    documents = np.repeat(np.arange(12), 5)
    values = generator.normal(0.6, 0.3, (60, 4)) + generator.normal(0, 0.15, (12, 4))[documents]
    return np.clip(values + np.array([0.12, 0, 0, 0]), 0, 1).round(2), documents.tolist()


def lose_answers(lost: int) -> np.ndarray:
    """Now and then: of 63 questions 50 were found, and so many of them no longer are."""
    values = np.zeros((63, 2))
    values[:50] = 1
    values[:lost, 0] = 0
    return values


TABLE, DOCUMENTS = draw_scores()
SIX = list(combinations(range(4), 2))
GIANT = drawn(1, (240, 2), [0.7, 0.55])
OF_GIANT = [0] * 200 + [1 + at // 2 for at in range(40)]
SMALL = drawn(2, (30, 2), [0.9, 0.4])
OF_SMALL = [at // 10 for at in range(30)]

CASES = {
    "six to none of twenty": (SignFlips(won(6, 0, 20), TWO), 1.96, [(30, 2.54, 52.01, 12.856, 29)]),
    "five to none": (SignFlips(won(5, 0, 20), TWO), 2.2361, [(25, -5.27, 50.73, 12.026, 44)]),
    "thirteen to four": (SignFlips(won(13, 4, 60), TWO), 1.96, [(15, 0.79, 28.25, 7.030, 104)]),
    "twelve to four": (SignFlips(won(12, 4, 60), TWO), 2.0, [(13.33, -0.84, 26.64, 6.843, 128)]),
    "alike": (SignFlips(np.zeros((30, 2)), TWO), 1.96, [(0, -9.23, 9.23, 4.419, None)]),
    "all to none": (SignFlips(won(12, 0, 12), TWO), 1.96, [(100, 54.04, 100, 26.726, 7)]),
    "five of five": (SignFlips(won(5, 0, 5), TWO), 2.2361, [(100, -39.23, 100, 37.796, 7)]),
    "four graded columns": (
        SignFlips(TABLE, SIX),
        2.5382,
        [
            (12.72, 0.01, 24.71, 4.883, 101),
            (14.82, 1.13, 27.54, 5.251, 86),
            (12.33, -0.70, 24.57, 4.950, 111),
        ],
    ),
    "their documents": (
        SignFlips(TABLE, SIX, DOCUMENTS),
        2.3533,
        [
            (12.72, -8.22, 32.33, 7.379, 42),
            (14.82, -3.81, 31.90, 7.038, 28),
            (12.33, -5.71, 29.09, 6.531, 35),
        ],
    ),
    "questions of a giant": (SignFlips(GIANT, TWO), 2.0253, [(18.33, 9.25, 27.11, 4.527, 121)]),
    "a giant document": (SignFlips(GIANT, TWO, OF_GIANT), 1.96, [(18.33, -100, 100, 17.038, 10)]),
    "questions of three": (SignFlips(SMALL, TWO), 2.0647, [(63.33, 37.77, 80.98, 14.321, 13)]),
    "three documents": (SignFlips(SMALL, TWO, OF_SMALL), 1.96, [(63.33, -100, 100, 36.309, 8)]),
    "one lost": (SignFlips(lose_answers(1), TWO), 1.96, [(-1.59, -6.91, 3.83, None, None)]),
    "three lost": (SignFlips(lose_answers(3), TWO), 1.96, [(-4.76, -11.47, 2.24, None, None)]),
    "five lost": (SignFlips(lose_answers(5), TWO), 2.2361, [(-7.94, -16.90, 1.52, None, None)]),
    "six lost": (SignFlips(lose_answers(6), TWO), 1.96, [(-9.52, -17.71, -0.75, None, None)]),
    "twenty lost": (SignFlips(lose_answers(20), TWO), 1.96, [(-31.75, -43.14, -18.39, None, None)]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_case_has_its_numbers(name: str) -> None:
    flips, critical_value, differences = CASES[name]
    assert flips.critical_value == pytest.approx(critical_value, abs=0.0005)
    for at, (*ends, error, needed) in enumerate(differences):
        interval = flips.intervals[at]
        points = [100 * value for value in (interval.mean, interval.low, interval.high)]
        assert points == pytest.approx(ends, abs=0.05)
        if error is not None:
            assert 100 * flips.errors[at] == pytest.approx(error, abs=0.005)
        if needed is not None:
            assert flips.needed(flips.errors[at], interval.mean) == needed


@pytest.mark.parametrize(
    ("name", "shown", "can_show"),
    [
        ("six to none of twenty", True, True),
        ("five to none", False, True),
        ("thirteen to four", True, True),
        ("twelve to four", False, True),
        ("five of five", False, False),
        ("a giant document", False, False),
        ("three documents", False, False),
    ],
)
def test_significance_agrees_with_an_exact_sign_test(
    name: str, *, shown: bool, can_show: bool
) -> None:
    flips, *_ = CASES[name]
    assert (flips.intervals[0].is_significant, flips.can_show) == (shown, can_show)


def test_a_document_without_a_difference_that_has_most_questions_hides_what_others_show() -> None:
    values = np.zeros((240, 2))
    values[200:, 0] = 1
    flips = SignFlips(values, TWO, OF_GIANT)
    assert (flips.can_show, flips.intervals[0].is_significant) == (False, False)


def exact(wins: int, losses: int) -> float:
    """Two-sided p of the sign test."""
    count = wins + losses
    tail = sum(comb(count, at) for at in range(max(wins, losses), count + 1))
    return min(1.0, 2 * tail / 2**count)


@given(st.integers(0, 16), st.integers(0, 16), st.integers(0, 40))
def test_questions_on_which_both_tie_change_nothing_about_what_is_shown(
    wins: int, losses: int, ties: int
) -> None:
    count = wins + losses + ties
    if not count or 0.04 < exact(wins, losses) < 0.06:
        return
    (interval,) = SignFlips(won(wins, losses, count), TWO).intervals
    assert interval.is_significant == (exact(wins, losses) <= 0.05)


def score_tables(values: list[float], columns: int) -> st.SearchStrategy[np.ndarray]:
    """Tables of at most 24 questions with some of these scores."""
    return st.integers(columns, 5).flatmap(
        lambda count: st.lists(
            st.lists(st.sampled_from(values), min_size=count, max_size=count),
            min_size=1, max_size=24,
        )
    ).map(np.array)  # fmt: skip


tables, found_or_not = score_tables([0.0, 0.25, 0.5, 1.0], 2), score_tables([0.0, 1.0], 3)


def pairs_of(values: np.ndarray) -> list[tuple[int, int]]:
    return list(combinations(range(values.shape[1]), 2))


@given(tables, st.permutations(range(5)), st.booleans())
def test_columns_in_another_order_have_the_same_leads_with_the_sign_turned(
    values: np.ndarray,
    order: list[int],
    whole: bool,
) -> None:
    places = [at for at in order if at < values.shape[1]]
    units = [at // 3 for at in range(len(values))] if whole else None
    pairs = pairs_of(values)
    turned = [(places.index(right), places.index(left)) for left, right in pairs]
    first = SignFlips(values, pairs, units, draws=500)
    other = SignFlips(values[:, places], turned, units, draws=500)
    assert other.critical_value == pytest.approx(first.critical_value)
    for interval, twin in zip(first.intervals, other.intervals, strict=True):
        assert (twin.mean, twin.low, twin.high) == pytest.approx(
            (-interval.mean, -interval.high, -interval.low)
        )


@given(tables)
def test_equal_columns_are_never_shown_to_differ(values: np.ndarray) -> None:
    twice = np.concatenate([values, values[:, :1]], axis=1)
    interval = SignFlips(twice, [(0, values.shape[1]), *pairs_of(values)], draws=500).intervals[0]
    assert interval.low < 0 < interval.high
    assert interval.low == pytest.approx(-interval.high)


@given(tables)
def test_the_critical_value_grows_with_the_number_of_columns(values: np.ndarray) -> None:
    pairs = pairs_of(values)
    assert (
        SignFlips(values, pairs[:1], draws=500).critical_value
        <= SignFlips(values, pairs, draws=500).critical_value + 1e-9
    )


@given(found_or_not)
def test_a_larger_lead_without_losses_is_shown_where_a_smaller_one_is(values: np.ndarray) -> None:
    pairs = pairs_of(values)
    pairs += [(right, left) for left, right in pairs]
    intervals = SignFlips(values, pairs, draws=500).intervals
    gaps = [values[:, left] - values[:, right] for left, right in pairs]
    shown = [interval.mean for interval in intervals if interval.low > 0]
    for interval, gap in zip(intervals, gaps, strict=True):
        if gap.min() >= 0 and shown and interval.mean >= min(shown):
            assert interval.low > 0


@given(tables, st.booleans())
def test_an_interval_says_what_the_swaps_say_and_holds_the_lead(
    values: np.ndarray,
    whole: bool,
) -> None:
    units = [at // 2 for at in range(len(values))] if whole else None
    pairs = pairs_of(values)
    flips = SignFlips(values, pairs, units, draws=500)
    for (left, right), interval in zip(pairs, flips.intervals, strict=True):
        gaps = (values[:, left] - values[:, right]).tolist()
        sums: dict[int, float] = {}
        for unit, gap in zip(units or range(len(gaps)), gaps, strict=True):
            sums[unit] = sums.get(unit, 0.0) + gap
        square = sum(gap**2 for gap in sums.values())
        beyond = sum(gaps) ** 2 > flips.critical_value**2 * square
        assert interval.is_significant == (beyond and flips.can_show)
        assert -1 <= interval.low <= interval.mean + 1e-9
        assert interval.mean <= interval.high + 1e-9 <= 1 + 2e-9


def test_eight_equal_columns_rarely_have_a_winner() -> None:
    generator = np.random.default_rng(5)
    pairs = list(combinations(range(8), 2))
    named = 0
    for seed in range(150):
        ease = np.repeat(generator.beta(4, 2, 20), 3)
        values = (generator.random((60, 8)) < ease[:, None]).astype(float)
        intervals = SignFlips(values, pairs, draws=400, seed=seed).intervals
        named += any(value.is_significant for value in intervals)
    assert named <= 15


def test_a_true_gap_is_shown_and_held_by_its_interval() -> None:
    generator = np.random.default_rng(6)
    shown = held = 0
    for seed in range(100):
        first = (generator.random(200) < 0.7).astype(float)
        second = first * (generator.random(200) >= 0.15 / 0.7)
        (interval,) = SignFlips(np.stack([first, second], 1), TWO, draws=400, seed=seed).intervals
        shown += interval.low > 0
        held += interval.low <= 0.15 <= interval.high
    assert shown >= 95
    assert held >= 90


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [(6, 6, 0.5, 1.0), (0, 20, 0.0, 0.2), (30, 60, 0.37, 0.63), (200, 200, 0.976, 1.0)],
)
def test_a_mean_of_one_column_is_never_certain(
    hits: int, count: int, low: float, high: float
) -> None:
    values = np.zeros(count)
    values[:hits] = 1
    interval = own_mean(values)
    assert interval.mean == hits / count
    assert interval.low == pytest.approx(low, abs=0.03)
    assert interval.high == pytest.approx(high, abs=0.03)


@settings(max_examples=30)
@given(st.floats(0.02, 0.98), st.integers(6, 60), st.integers(0, 1000))
def test_intervals_of_one_mean_hold_the_true_one(mean: float, count: int, seed: int) -> None:
    values = (np.random.default_rng(seed).random((200, count)) < mean).astype(float)
    intervals = [own_mean(value) for value in values]
    assert sum(interval.low <= mean <= interval.high for interval in intervals) >= 180
