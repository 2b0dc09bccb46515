"""Text that is printed twice at one place, for a shadow or a bold look, is read once."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.readers.pdf.engines.flow import FlowLine, GlyphRun, flow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SHIFT = 0.12
"""Font sizes by which a shadow is off at most: less than a narrow letter is wide."""
OVERLAP = 0.3
"""Font sizes that two lines have in common from which one may be printed over the other."""
SAME = 0.5
"""Share of the shorter line that the other must cover, and share of the letters of a word that must
be doubles: two words over each other share some, and parts of a formula overlap at their ends."""
MAX_NEAR = 50
"""Lines at one height that a line is compared with."""


class LineStrip(NamedTuple):
    """Place of a printed line: quarter turns, baseline, left and right edge, font size."""

    quarter: int
    baseline: float
    left: float
    right: float
    size: float


def are_printed_over(strips: Iterable[LineStrip]) -> bool:
    """Return True if a line is printed over another one."""
    ordered = sorted(strips)
    for at, strip in enumerate(ordered):
        for other in islice(ordered, at + 1, at + 1 + MAX_NEAR):
            step = other.baseline - strip.baseline
            if step > SHIFT * strip.size or other.quarter != strip.quarter:
                break
            size = min(strip.size, other.size)
            if step > SHIFT * size:
                break
            shared = min(strip.right, other.right) - max(strip.left, other.left)
            shorter = min(strip.right - strip.left, other.right - other.left)
            if shared > max(OVERLAP * size, SAME * shorter):
                return True
    return False


def without_doubles(lines: list[FlowLine]) -> list[FlowLine]:
    """Return the lines without letters that stand where an equal one stands already."""
    strips = (
        LineStrip(line.quarter, line.main.baseline, line.left, line.right, line.main.font.size)
        for line in lines
    )
    if not are_printed_over(strips):
        return lines
    seen = _Seen()
    runs = [run for line in lines for run in line.runs]
    kept = [seen.rest_of(run) for run in runs]
    if all(rest is run for rest, run in zip(kept, runs, strict=True)):
        return lines
    return flow(run for run in kept if run.letters)


class _Seen:
    """Letters of a page by their places."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, int, int, int], list[tuple[float, float]]] = defaultdict(list)

    def rest_of(self, run: GlyphRun) -> GlyphRun:
        """Return a run without the letters seen before; a run without any is returned as it is."""
        drop: set[int] = set()
        for word in _words(run):
            doubles = {at for at in word if self._is_double(run, at)}
            if len(doubles) >= SAME * len(word):
                drop |= doubles
        if not drop:
            return run
        # Flow parts again what is left, as it stands apart.
        return run.with_glyphs(
            [
                glyph
                for at, glyph in enumerate(run.glyphs)
                if at not in drop and not glyph[0].isspace()
            ]
        )

    def _is_double(self, run: GlyphRun, at: int) -> bool:
        """Return True if a letter was seen here, else take it down."""
        letter, x, y, reach = run.letters[at], run.starts[at], run.baseline, SHIFT * run.font.size
        step = max(reach, 0.01)
        column, row = int(x // step), int(y // step)
        near = (
            place
            for across in (-1, 0, 1)
            for down in (-1, 0, 1)
            for place in self._cells.get((letter, run.quarter, column + across, row + down), ())
        )
        if any(abs(x - left) <= reach and abs(y - baseline) <= reach for left, baseline in near):
            return True
        self._cells[letter, run.quarter, column, row].append((x, y))
        return False


def _words(run: GlyphRun) -> Iterator[Sequence[int]]:
    """Yield the places of the letters of each word of a run."""
    word: list[int] = []
    for at, letter in enumerate(run.letters):
        if not letter.isspace():
            word.append(at)
        elif word:
            yield word
            word = []
    if word:
        yield word
