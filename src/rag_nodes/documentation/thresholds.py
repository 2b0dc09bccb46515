"""Thresholds a run must keep, such as `lost-headings,coverage=99.9,duplicates=0`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_nodes.documentation.statistics import Statistics


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure with a threshold.

    Attributes:
        meaning: for help texts.
        of: the figure.
        default: the threshold where no number is given.
        is_minimum: the figure must reach the threshold; otherwise it must not exceed it.
    """

    meaning: str
    of: Callable[[Statistics], float]
    default: float = 0
    is_minimum: bool = False


def _found(*kinds: str) -> Callable[[Statistics], float]:
    return lambda statistics: sum(statistics.findings.get(kind, 0) for kind in kinds)


MEASURES: dict[str, _Figure] = {
    "lost-headings": _Figure("headings no chunk has whole", lambda s: s.headings_lost),
    "split-code": _Figure("blocks of code cut apart", _found("split-code")),
    "coverage": _Figure(
        "percent of visible text in chunks", lambda s: s.coverage, 100, is_minimum=True
    ),
    "tokens": _Figure("token counts that do not add up", _found("wrong-tokens", "misplaced")),
    "duplicates": _Figure("chunks whose text came before", _found("duplicate")),
    "outside-range": _Figure("chunks over or under the limits", _found("too-large", "too-small")),
    "too-large": _Figure("chunks over --max-tokens", _found("too-large")),
    "too-small": _Figure("chunks under --min-tokens", _found("too-small")),
    "failed-pages": _Figure("pages that gave no chunks", lambda s: s.pages_failed),
    "failed-summaries": _Figure("chunks without", lambda s: s.summaries.get("failed", 0)),
}
"""What `--fail-on` can name."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """One threshold.

    Attributes:
        name: key of `MEASURES`.
        threshold: what the figure must reach (coverage) or not exceed (all others).
    """

    name: str
    threshold: float

    def crossed(self, statistics: Statistics) -> str | None:
        """What is wrong, in words; None where the figures keep to it."""
        measure = MEASURES[self.name]
        figure = measure.of(statistics)
        if measure.is_minimum and figure < self.threshold:
            # Rounding must not show 99.9999 as the 100 that it misses.
            return f"{self.name}: {figure:.6g}, under {self.threshold:g} ({measure.meaning})"
        if not measure.is_minimum and figure > self.threshold:
            return f"{self.name}: {figure:g}, over {self.threshold:g} ({measure.meaning})"
        return None


def parse_thresholds(text: str) -> tuple[Threshold, ...]:
    """The thresholds of `NAME[=NUMBER],...`; without a number, nothing may be wrong at all.

    Raises:
        ConfigurationError: a name is unknown, or what follows `=` is no number.
    """
    return tuple(_threshold(part.strip()) for part in text.split(",") if part.strip())


def _threshold(text: str) -> Threshold:
    name, equals, number = (part.strip() for part in text.partition("="))
    if name not in MEASURES:
        raise ConfigurationError(
            f"--fail-on: {name!r} is no measure; choose from: {', '.join(MEASURES)}"
        )
    if not equals:
        return Threshold(name, MEASURES[name].default)
    try:
        threshold = float(number)
    except ValueError:
        threshold = -1.0
    if not threshold >= 0:  # also true of nan
        raise ConfigurationError(
            f"--fail-on: {text!r}: a number from 0 up is needed, for example {name}=5"
        )
    return Threshold(name, threshold)
