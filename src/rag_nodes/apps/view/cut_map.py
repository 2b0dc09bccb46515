"""All chunks of a document in one strip, however many there are."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.apps.view.rails import DrawnChunk

WIDTH = 1200
"""Units from the beginning of the document to its end."""
HEIGHT = 20
"""Units of a strip; it is as wide as the page has room for."""
NOTCH = 6
"""Units of a notch, along the lower edge: lines from top to bottom would drown the strip."""
FLAG = 4.0
"""Units that the mark of an answer is wide at least."""
NUMBERS = 8
"""Numbers of a ruler, at most."""


class Strip(NamedTuple):
    """The chunks of one strategy, a path of an SVG for each way a chunk can look.

    A chunk is a line as wide as its `lane`, which is half as long to write as a rectangle;
    `notches` are beginnings of chunks inside a word, line or sentence.
    """

    lane: int
    plain: str
    retrieved: str
    notches: str


class Tick(NamedTuple):
    """A number of the ruler: a page, from 1, and where it begins, in units of the strips.

    `is_main` is one of the few that narrow screens show.
    """

    page: int
    x: float
    is_main: bool


def strip_of(pieces: Sequence[DrawnChunk], length: int) -> Strip:
    """Draw the chunks of a strategy.

    Chunks that share text stand in two lanes by turns; in one the strip would be a solid bar.

    Args:
        pieces: the chunks, in order.
        length: characters of the document.
    """
    scale = WIDTH / max(1, length)
    overlaps = any(piece.span.end > other.span.start for piece, other in pairwise(pieces))
    gap = min(1.5, WIDTH / max(1, len(pieces)) / 4)
    lane = HEIGHT // 2 if overlaps else HEIGHT
    plain: list[str] = []
    retrieved: list[str] = []
    notches: list[str] = []
    for piece in pieces:
        x, wide = piece.span.start * scale, max(piece.span.length * scale - gap, gap)
        y = lane * 3 // 2 if overlaps and piece.number % 2 else lane // 2
        path = f"M{x:.1f} {y}h{wide:.1f}"
        (retrieved if piece.is_retrieved else plain).append(path)
        if piece.inside:
            notches.append(f"M{x:.1f} {HEIGHT}v{-NOTCH}")
    return Strip(lane, "".join(plain), "".join(retrieved), "".join(notches))


def flags_of(gold: Sequence[Span], length: int) -> str:
    """The path of the answers, wide enough to be seen."""
    boxes = (box_of(span, length) for span in gold)
    return "".join(f"M{x:.1f} 0h{wide:.1f}v{HEIGHT}h{-wide:.1f}z" for x, wide in boxes)


def box_of(span: Span, length: int) -> tuple[float, float]:
    """Left edge and width of a part of the document in a strip."""
    scale = WIDTH / max(1, length)
    wide = max(span.length * scale, FLAG)
    return min(span.start * scale, WIDTH - wide), wide


def offset_at(x: float, length: int) -> int:
    """The character at a place of a strip, from 0 for its left edge to 1 for its right one."""
    return min(max(int(x * length), 0), max(0, length - 1))


def ruler(starts: Sequence[int], length: int) -> list[Tick]:
    """Numbers of pages below the strips, evenly spread; the last one leaves room for itself."""
    step = max(1, -(-len(starts) // NUMBERS))
    pages = [1, *range(step, len(starts) + 1, step)] if step > 1 else range(1, len(starts) + 1)
    ticks: list[Tick] = []
    for number, page in enumerate(dict.fromkeys(pages)):
        x = starts[page - 1] * WIDTH / max(1, length)
        if not ticks or x - ticks[-1].x >= WIDTH / NUMBERS / 2:
            ticks.append(Tick(page, min(x, WIDTH * 0.97), number % 2 == 0))
    return ticks
