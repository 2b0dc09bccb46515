"""Thresholds a run must keep, such as `lost-headings,coverage=99.9,duplicates=0`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from rag_nodes.documentation.statistics import Statistics

Measure = Callable[["Statistics"], float]
MINIMUM = "coverage"
"""The one measure that must reach its threshold, 100 by default; no other may exceed its own, 0."""


def _found(*kinds: str) -> Measure:
    return lambda statistics: sum(statistics.findings.get(kind, 0) for kind in kinds)


MEASURES: dict[str, tuple[str, Measure]] = {
    "lost-headings": ("headings no chunk has whole", lambda s: s.headings_lost),
    "split-code": ("blocks of code cut apart", _found("split-code")),
    MINIMUM: ("percent of visible text in chunks", lambda s: s.coverage),
    "tokens": ("token counts that do not add up", _found("wrong-tokens", "misplaced")),
    "duplicates": ("chunks whose text came before", _found("duplicate")),
    "outside-range": ("chunks over or under the limits", _found("too-large", "too-small")),
    "too-large": ("chunks over --max-tokens", _found("too-large")),
    "too-small": ("chunks under --min-tokens", _found("too-small")),
    "failed-pages": ("pages that gave no chunks", lambda s: s.pages_failed),
    "failed-summaries": ("chunks without", lambda s: s.summaries.get("failed", 0)),
}
"""What `--fail-on` can name: what it counts, in words, and how."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A key of `MEASURES`, and the number that it must reach (coverage) or not exceed."""

    name: str
    threshold: float

    def crossed(self, statistics: Statistics) -> str | None:
        """What is wrong, in words; None where the figures keep to it."""
        meaning, measure = MEASURES[self.name]
        figure = measure(statistics)
        if self.name == MINIMUM and figure < self.threshold:
            # Rounding must not show 99.9999 as the 100 that it misses.
            return f"{self.name}: {figure:.6g}, under {self.threshold:g} ({meaning})"
        if self.name != MINIMUM and figure > self.threshold:
            return f"{self.name}: {figure:g}, over {self.threshold:g} ({meaning})"
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
        return Threshold(name, 100 if name == MINIMUM else 0)
    try:
        threshold = float(number)
    except ValueError:
        threshold = -1.0
    if not threshold >= 0:  # also true of nan
        raise ConfigurationError(
            f"--fail-on: {text!r}: a number from 0 up is needed, for example {name}=5"
        )
    return Threshold(name, threshold)
