"""What the kept recalls say: means over sets, regret, and how sure the differences are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import sqrt

import numpy as np
from labelled_sets import LANGUAGES, SETS, half_of

from rag_nodes.evaluation.sign_flips import Interval, SignFlips
from results.kept import Kept

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

PARTS = {
    "headed": ("headed",),
    "evidence_inference": ("evidence_inference",),
    "qmsum": ("qmsum",),
    "xquad": LANGUAGES,
    "chroma": ("chroma",),
}
"""The five sets, and what they are kept as: XQuAD counts once, not once per language."""
TITLES = {
    "headed": "headed documentation",
    "evidence_inference": "trial reports",
    "qmsum": "meetings",
    "xquad": "encyclopaedia, three languages",
    "chroma": "Chroma's five corpora",
    "de": "German",
    "zh": "Chinese",
    "hi": "Hindi",
}
"""What people call the sets."""
LEVELS = (500, 1000, 2000)
"""Budgets by which tables are named; see `SHORT_LEVELS` for XQuAD."""
SHORT_LEVELS = (200, 200, 400)
TUNED, CONFIRMED = 0, 1
_REACH = 1.96
"""Standard errors of a mean over sets that luck reaches in 5 %."""
Named = tuple[str, str]
"""A step and a system in it."""


def budget_of(part: str, level: int) -> int:
    """The tokens read in a part of a set where the table says `level`."""
    return SHORT_LEVELS[LEVELS.index(level)] if part in LANGUAGES else level


@dataclass(frozen=True)
class Summary:
    """All sets with all that was measured.

    Attributes:
        kept: by part, see `PARTS`.
        half: only questions about documents of this half; None for all. Chroma has but one.
    """

    kept: Mapping[str, Kept]
    half: int | None = None

    @classmethod
    def load(cls, half: int | None = None) -> Summary:
        """What is kept in the project."""
        return cls({name: Kept.load(name) for name in SETS}, half)

    @classmethod
    def load_parts(cls) -> Summary:
        """Return what is kept, of sets that were asked in part the questions of that part."""
        return cls({name: Kept.load_part(name) for name in SETS})

    @property
    def sets(self) -> list[str]:
        """The sets with a question in this half."""
        return [name for name in PARTS if name != "chroma" or self.half != CONFIRMED]

    @cached_property
    def parts(self) -> list[str]:
        """The parts of these sets."""
        return [part for name in self.sets for part in PARTS[name]]

    def chosen(self, part: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """The questions of a part that are in this half."""
        return _chosen(tuple(self.kept[part].documents), None if part == "chroma" else self.half)

    def recalls(self, system: Named, part: str, level: int) -> Floats:
        """Of each question of a part the share of its answer that was read."""
        step, name = system
        values = self.kept[part].systems[step][name]["recall"][str(budget_of(part, level))]
        return np.array(values, float)[self.chosen(part)]

    def has(self, system: Named, part: str) -> bool:
        """Whether a system was measured there."""
        step, name = system
        return name in self.kept[part].systems.get(step, {})

    def complete(self, step: str) -> list[Named]:
        """The systems of a step that were measured on every part, in order."""
        names = self.kept[self.parts[0]].systems.get(step, {})
        systems = [(step, name) for name in names]
        return [system for system in systems if all(self.has(system, part) for part in self.parts)]

    def of_set(self, system: Named, name: str, level: int) -> float:
        """Mean recall of a set, in points."""
        means = [100 * self.recalls(system, part, level).mean() for part in PARTS[name]]
        return float(np.mean(means))

    def mean(self, system: Named, level: int) -> float:
        """Mean over the sets, in points."""
        return float(np.mean([self.of_set(system, name, level) for name in self.sets]))

    def best(self, systems: Iterable[Named], part: str, level: int) -> float:
        """Recall of the best of some systems in a part, in points, known only in hindsight."""
        measured = [system for system in systems if self.has(system, part)]
        return max(100 * float(self.recalls(system, part, level).mean()) for system in measured)

    def regrets(self, system: Named, systems: Sequence[Named], level: int) -> dict[str, float]:
        """By part the points behind the best system there."""
        return {
            part: self.best(systems, part, level)
            - 100 * float(self.recalls(system, part, level).mean())
            for part in self.parts
        }

    def gap(
        self, left: Named, right: Named, name: str, level: int, *, whole: bool = True
    ) -> Interval:
        """Left less right in a set, in points.

        Args:
            left: a system.
            right: another.
            name: of the set.
            level: see `budget_of`.
            whole: in documents like its own; False for those that were asked about.
        """
        return in_points(self._swaps(left, right, PARTS[name], level, whole=whole).intervals[0])

    def gap_in_part(self, left: Named, right: Named, part: str, level: int) -> Interval:
        """Left less right in one language, or a set that has no parts, in points."""
        return in_points(self._swaps(left, right, (part,), level).intervals[0])

    def mean_gap(self, left: Named, right: Named, level: int) -> Interval:
        """Left less right on average over the sets, in points; their errors are independent."""
        swaps = [self._swaps(left, right, PARTS[name], level) for name in self.sets]
        mean = float(np.mean([flips.intervals[0].mean for flips in swaps]))
        margin = _REACH * sqrt(sum(flips.errors[0] ** 2 for flips in swaps)) / len(swaps)
        return in_points(Interval(mean, mean - margin, mean + margin))

    def _swaps(
        self, left: Named, right: Named, parts: Sequence[str], level: int, *, whole: bool = True
    ) -> SignFlips:
        """SignFlips of documents or of questions; the languages of an article are one document."""
        columns = [
            np.concatenate([self.recalls(system, part, level) for part in parts])
            for system in (left, right)
        ]
        documents = [self.kept[part].documents[at] for part in parts for at in self.chosen(part)]
        return SignFlips(np.stack(columns, axis=1), [(0, 1)], documents if whole else None)


@cache
def _chosen(
    documents: tuple[str, ...], half: int | None
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.flatnonzero([half is None or half_of(name) == half for name in documents])


def in_points(gap: Interval) -> Interval:
    """An interval in points of a hundred."""
    return Interval(100 * gap.mean, 100 * gap.low, 100 * gap.high)


def words(gap: Interval) -> str:
    """An interval as it stands in tables; one that excludes 0 is not said to begin there."""
    low, high = f"{gap.low:+.1f}", f"{gap.high:+.1f}"
    low = "over 0" if gap.low > 0 and low == "+0.0" else low
    high = "under 0" if gap.high < 0 and high == "-0.0" else high
    return f"{gap.mean:+.1f} ({low} to {high})"
