"""Matrices and quarter turns of boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.engines.protocol import Box, Matrix

if TYPE_CHECKING:
    from collections.abc import Iterable

FLIP: Matrix = (1.0, 0.0, 0.0, -1.0, 0.0, 0.0)
"""Matrix between y upwards, as in a PDF, and y downwards."""
TURNS: tuple[Matrix, ...] = (
    (1.0, 0.0, 0.0, 1.0, 0.0, 0.0),
    (0.0, 1.0, -1.0, 0.0, 0.0, 0.0),
    (-1.0, 0.0, 0.0, -1.0, 0.0, 0.0),
    (0.0, -1.0, 1.0, 0.0, 0.0, 0.0),
)
"""Matrices that turn so many quarters clockwise, y downwards: text that was turned counterclockwise
by them then runs from left to right."""


def product(first: Matrix, second: Matrix) -> Matrix:
    """Return the matrix that does what `first` does, and then what `second` does."""
    a, b, c, d, e, f = first
    m, n, o, p, *_ = second
    x, y = moved(second, e, f)
    return a * m + b * o, a * n + b * p, c * m + d * o, c * n + d * p, x, y


def turned(quarters: int, box: Box, first: Matrix = TURNS[0]) -> Matrix:
    """Return the matrix that turns clockwise, after another one, and puts a box at the origin."""
    a, b, c, d, e, f = product(first, TURNS[quarters % 4])
    left, top, _, _ = moved_box((a, b, c, d, e, f), box)
    return a, b, c, d, e - left, f - top


def moved(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    """Return where a matrix puts a point."""
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def moved_box(matrix: Matrix, box: Box) -> Box:
    """Return the box around where quarter turns put a box."""
    return around((moved(matrix, *box[:2]), moved(matrix, *box[2:])))


def around(points: Iterable[tuple[float, float]]) -> Box:
    """Return the box around points."""
    across, down = zip(*points, strict=True)
    return min(across), min(down), max(across), max(down)


def union(boxes: Iterable[Box]) -> Box:
    """Return the box around boxes."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def holds(box: Box, x: float, y: float) -> bool:
    """Return True if a point is in a box."""
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def shared(first: Box, second: Box) -> Box:
    """Return what two boxes share; its sides are crossed if they share nothing."""
    left, top, right, bottom = first
    x, y, to, low = second
    return max(left, x), max(top, y), min(right, to), min(bottom, low)
