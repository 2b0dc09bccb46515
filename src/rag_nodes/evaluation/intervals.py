"""How far a share from a few trials can be trusted."""

from __future__ import annotations

from math import sqrt

_Z = 1.959963984540054
"""Standard deviations on both sides of a normal distribution's mean that hold 95 % of it."""


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % confidence interval of a share after Wilson, which holds for few trials too.

    Args:
        successes: trials that went well, at most `trials`.
        trials: how many there were.

    Returns:
        Lower and upper end between 0 and 1; (0, 1) without trials, which say nothing.
    """
    if trials == 0:
        return 0.0, 1.0
    share, square = successes / trials, _Z**2
    centre = share + square / (2 * trials)
    reach = _Z * sqrt(share * (1 - share) / trials + square / (4 * trials**2))
    scale = 1 + square / trials
    # What rounding leaves beyond the ends is cut off.
    return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)
