"""Bars drawn as HTML, so that they follow the theme and the width of the screen; from 0 always."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from rag_nodes.apps.view.html import Html, tag
from rag_nodes.apps.view.parts import count

if TYPE_CHECKING:
    from collections.abc import Sequence

_BINS = 24
"""Bars of a histogram, at most."""
_STEPS = (1, 2, 5)


def histogram(sizes: Sequence[int], unit: str, colour: str) -> Html:
    """How many chunks are how large.

    Args:
        sizes: one per chunk.
        unit: what they count, in the plural.
        colour: class that carries the colour.
    """
    width = _bin_width(max(sizes, default=0))
    bins = [0] * (max(sizes, default=0) // width + 1)
    for size in sizes:
        bins[size // width] += 1
    most = max(bins)
    columns = [
        _column(number, f"{at * width:,} to {(at + 1) * width - 1:,} {unit}", most)
        for at, number in enumerate(bins)
    ]
    spoken = f"{count(len(sizes), 'chunk')}, the fullest of {len(bins)} bars has {most:,}"
    return tag(
        "figure",
        tag("figcaption", tag("strong", "Sizes"), tag("span", f"chunks by {unit}")),
        tag("div", *columns, cls="rn-histogram", role="img", aria_label=f"Histogram: {spoken}"),
        tag(
            "div",
            tag("span", "0"),
            tag("span", f"{len(bins) * width // 2:,}"),
            tag("span", f"{len(bins) * width:,} {unit}"),
            cls="rn-axis",
            aria_hidden="true",
        ),
        cls=f"rn-sizes {colour}",
    )


def _column(number: int, sizes: str, most: int) -> Html:
    # A single chunk among thousands still has to show.
    height = max(number / most, 0.02) if number else 0.0
    return tag("span", style=f"height:{height:.1%}", title=f"{count(number, 'chunk')} of {sizes}")


def _bin_width(largest: int) -> int:
    """1, 2 or 5 times a power of ten, so that the bars are readable numbers wide."""
    wanted = max(1, ceil((largest + 1) / _BINS))
    power = 1
    while True:
        for step in _STEPS:
            if step * power >= wanted:
                return step * power
        power *= 10
