"""Straight edges of what is drawn on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_nodes.readers.pdf.engines.protocol import Box

THIN = 2.0
"""Points up to which a rectangle is a line."""


def sides_of(left: float, top: float, right: float, bottom: float) -> Iterator[Box]:
    """Yield a thin rectangle as it is, and the four sides of any other."""
    if min(right - left, bottom - top) <= THIN:
        yield left, top, right, bottom
    else:
        yield left, top, right, top
        yield left, bottom, right, bottom
        yield left, top, left, bottom
        yield right, top, right, bottom
