"""Matrices and quarter turns of boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.engines.protocol import Box, Matrix

if TYPE_CHECKING:
    from collections.abc import Iterable

DIRECTIONS: tuple[tuple[int, int], ...] = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Directions of text by its quarter turns, counterclockwise; y grows upwards."""
TURNS: tuple[Matrix, ...] = (
    (1.0, 0.0, 0.0, 1.0, 0.0, 0.0),
    (0.0, 1.0, -1.0, 0.0, 0.0, 0.0),
    (-1.0, 0.0, 0.0, -1.0, 0.0, 0.0),
    (0.0, -1.0, 1.0, 0.0, 0.0, 0.0),
)
"""Matrices by which text of so many quarter turns runs from left to right; y grows downwards."""


def product(first: Matrix, second: Matrix) -> Matrix:
    """Return the matrix that does what `first` does, and then what `second` does."""
    a, b, c, d, e, f = first
    m, n, o, p, q, r = second
    return (
        a * m + b * o, a * n + b * p, c * m + d * o, c * n + d * p, e * m + f * o + q,
        e * n + f * p + r,
    )  # fmt: skip


def moved(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    """Return where a matrix puts a point."""
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def moved_box(matrix: Matrix, box: Box) -> Box:
    """Return the box around where a matrix puts the corners of a box."""
    left, top, right, bottom = box
    corners = ((left, top), (right, top), (left, bottom), (right, bottom))
    return around(moved(matrix, x, y) for x, y in corners)


def around(points: Iterable[tuple[float, float]]) -> Box:
    """Return the box around points."""
    across, down = zip(*points, strict=True)
    return min(across), min(down), max(across), max(down)


def middle(box: Box) -> tuple[float, float]:
    """Return the middle of a box."""
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def holds(box: Box, x: float, y: float) -> bool:
    """Return True if a point is in a box."""
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def shared(first: Box, second: Box) -> Box:
    """Return what two boxes share; its sides are crossed if they share nothing."""
    left, top, right, bottom = first
    x, y, to, low = second
    return max(left, x), max(top, y), min(right, to), min(bottom, low)


def quarter_of(x: float, y: float) -> int:
    """Return the quarter turns, counterclockwise, nearest to a direction; y grows upwards."""
    if abs(x) >= abs(y):
        return 0 if x >= 0 else 2
    return 1 if y > 0 else 3


def reading_frame(quarter: int, page: Box) -> Matrix:
    """Return the matrix by which text of a direction runs from left to right, y downwards.

    Args:
        quarter: direction of the text, see `quarter_of`.
        page: left, bottom, right and top of the page, y upwards.
    """
    left, bottom, right, top = page
    return (
        (1.0, 0.0, 0.0, -1.0, -left, top),
        (0.0, 1.0, 1.0, 0.0, -bottom, -left),
        (-1.0, 0.0, 0.0, 1.0, right, -bottom),
        (0.0, -1.0, -1.0, 0.0, top, right),
    )[quarter]


def inverse(matrix: Matrix) -> Matrix:
    """Return the matrix that undoes one; the identity for one that cannot be undone."""
    a, b, c, d, e, f = matrix
    size = a * d - b * c
    if not size:
        return 1.0, 0.0, 0.0, 1.0, 0.0, 0.0
    return (
        d / size, -b / size, -c / size, a / size, (c * f - d * e) / size, (b * e - a * f) / size,
    )  # fmt: skip
