"""Words of a page, and searches by height that look at the near things only."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rag_nodes.readers.pdf.engines.protocol import Word

BAND = 20.0
"""Points of height of a band, about that of a line of text."""
TALLEST = 1000.0
"""Points of height above which a thing is in every band: it would be in too many."""


def middle_of(word: Word) -> tuple[float, float]:
    """Return the middle of the box of a word."""
    return (word[0] + word[2]) / 2, (word[1] + word[3]) / 2


class ByHeight:
    """Points on a page by their heights."""

    def __init__(self, heights: Iterable[float]) -> None:
        ordered = sorted((height, number) for number, height in enumerate(heights))
        self.heights = [height for height, _ in ordered]
        self._numbers = [number for _, number in ordered]

    def between(self, top: float, bottom: float) -> list[int]:
        """Return the numbers of the points between two heights, both included, in order."""
        first, last = bisect_left(self.heights, top), bisect_right(self.heights, bottom)
        return sorted(self._numbers[first:last])


class ByBand:
    """Things on a page by the bands that they reach into, from top to bottom."""

    def __init__(self, spans: Iterable[tuple[float, float]]) -> None:
        self._bands: dict[int, list[int]] = defaultdict(list)
        self._tall: list[int] = []
        for number, (top, bottom) in enumerate(spans):
            if bottom - top > TALLEST:
                self._tall.append(number)
                continue
            for band in range(int(top // BAND), int(bottom // BAND) + 1):
                self._bands[band].append(number)

    def near(self, height: float) -> list[int]:
        """Return the numbers of the things that may reach to a height."""
        return [*self._bands.get(int(height // BAND), ()), *self._tall]
