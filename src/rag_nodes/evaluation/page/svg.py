"""What pictures in a page are drawn of: SVG that follows the page's colours and its width.

Colours are classes, `c0` to `c7`, so that a page in the dark has lighter ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil, floor, log2
from typing import NamedTuple

from markupsafe import Markup

COLOURS = 8
"""Colours there are; more columns share them and differ by their marks."""
WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 48, 150, 22, 44
"""Margins around what is drawn."""
STEP = 10
"""Points of a hundred between two lines of the grid."""
_APART = 15
"""Least distance of two names beside a picture."""


class Frame(NamedTuple):
    """Where values lie in a picture of points over an amount.

    Attributes:
        low: smallest amount.
        high: largest amount.
        bottom: least value shown, in points.
        top: most of it shown, in points.
    """

    low: float
    high: float
    bottom: float
    top: float

    @classmethod
    def around(cls, amounts: Sequence[float], values: Sequence[float]) -> Frame:
        """A frame that holds all amounts and values, which are in points."""
        bottom = max(0, floor((min(values) - 2) / STEP) * STEP)
        top = min(100, ceil((max(values) + 2) / STEP) * STEP)
        top = top if top > bottom else bottom + STEP
        return cls(min(amounts) / 1.1, max(amounts) * 1.1, bottom, top)

    def x(self, amount: float) -> float:
        """Place of an amount, on a scale where doubling is one step."""
        span = log2(self.high / self.low) or 1
        return LEFT + log2(amount / self.low) / span * (WIDTH - LEFT - RIGHT)

    def y(self, points: float) -> float:
        """Place of a value in points."""
        share = (points - self.bottom) / (self.top - self.bottom)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def grid(
    frame: Frame, value: str, amount: str, ticks: Iterable[tuple[float, str]]
) -> Iterator[Markup]:
    """Lines and numbers of a frame.

    Args:
        frame: to draw.
        value: what the points are.
        amount: what the amounts are.
        ticks: amounts that are marked, with what is written below.
    """
    for points in range(int(frame.bottom), int(frame.top) + 1, STEP):
        y = frame.y(points)
        yield line(LEFT, y, WIDTH - RIGHT, y, "grid")
        yield text(LEFT - 8, y + 4, f"{points}", "tick", anchor="end")
    for at, words in ticks:
        x = frame.x(at)
        yield line(x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 5, "axis")
        yield text(x, HEIGHT - BOTTOM + 19, words, "tick", anchor="middle")
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, amount, "tick", anchor="middle")
    yield text(LEFT + 4, 12, f"{value}, points", "tick")


def labels(ends: Iterable[tuple[float, int, str]]) -> Iterator[Markup]:
    """Names beside a picture, moved apart where they would overlap.

    Args:
        ends: height, number of the colour, and name of each.
    """
    free = 0.0
    for y, number, name in sorted(ends):
        at = max(y, free)
        free = at + _APART
        yield text(WIDTH - RIGHT + 12, at + 4, short(name), f"name {colour(number)}")


def colour(number: int) -> str:
    """The class of a colour."""
    return f"c{number % COLOURS}"


def picture(height: float, spoken: str, parts: Iterable[Markup]) -> Markup:
    """Parts as one picture, with words for those who do not see it."""
    return (
        Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, height, spoken)
        + Markup("").join(parts)
        + Markup("</svg>")
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A line of a class."""
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        kind, x1, y1, x2, y2
    )


def curve(points: Iterable[tuple[float, float]], kind: str) -> Markup:
    """A line through points."""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return Markup('<polyline class="curve {}" points="{}"/>').format(kind, places)


def dot(x: float, y: float, radius: float, kind: str, said: str) -> Markup:
    """A point of a class, with what is said of it under the mouse."""
    return Markup(
        '<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}</title></circle>'
    ).format(kind, x, y, radius, said)


def text(x: float, y: float, words: str, kind: str, *, anchor: str = "start") -> Markup:
    """Words of a class at a place."""
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        kind, x, y, anchor, words
    )


def short(name: str, longest: int = 18) -> str:
    """A name that fits."""
    return name if len(name) <= longest else name[: longest - 1] + "…"
