"""Intervals of shares against values worked out by hand and in the literature."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.apps.votes.sums import wilson


@pytest.mark.parametrize(
    ("successes", "trials", "expected"),
    [
        # Newcombe 1998, table I, method 3 (score without continuity correction).
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0000, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
        (5, 10, (0.2366, 0.7634)),
    ],
)
def test_an_interval_agrees_with_published_values(
    successes: int, trials: int, expected: tuple[float, float]
) -> None:
    assert wilson(successes, trials) == pytest.approx(expected, abs=5e-5)


def test_without_trials_nothing_is_known() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_share_is_inside_and_the_other_outcome_mirrors_it(counts: tuple[int, int]) -> None:
    successes, trials = counts
    low, high = wilson(successes, trials)
    assert 0.0 <= low <= successes / trials + 1e-12
    assert successes / trials - 1e-12 <= high <= 1.0
    mirrored = wilson(trials - successes, trials)
    assert mirrored == pytest.approx((1 - high, 1 - low))
