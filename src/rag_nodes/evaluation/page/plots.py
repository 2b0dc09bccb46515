"""The picture of an evaluation: recall over the mean size of the chunks, as SVG.

It follows the page's width and colours, which are the classes `c0` to `c7`, so that a page in the
dark has lighter ones.
"""

from __future__ import annotations

from math import ceil, floor, log2
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rag_nodes.evaluation.leads import Interval
    from rag_nodes.evaluation.report import EvaluationReport, Row

COLOURS = 8
"""Colours there are; more strategies share them."""
_ALL = 100
_STEP = 10
"""Percent between two lines of the grid."""
_APART = 15
"""Least distance of two names beside the picture."""
_LEFT, _TOP, _BOTTOM = 46, 22, 46
"""Margins around what is drawn."""
_NAME = 30
"""Characters of a name beside the picture."""
_CHARACTER = 7.3
"""Width of one of them."""


class _Frame(NamedTuple):
    """Where values lie: sizes from `low` to `high` tokens, recall from `bottom` percent to 100."""

    low: float
    high: float
    bottom: float
    width: int
    height: int
    margin: int

    @property
    def right(self) -> float:
        return self.width - self.margin

    def x(self, size: float) -> float:
        """On a scale where doubling is one step."""
        share = log2(size / self.low) / (log2(self.high / self.low) or 1)
        return _LEFT + share * (self.right - _LEFT)

    def y(self, share: float) -> float:
        part = (_ALL * share - self.bottom) / (_ALL - self.bottom)
        return self.height - _BOTTOM - part * (self.height - _TOP - _BOTTOM)


class _Line(NamedTuple):
    """One strategy: its points by size; `flat` where sentences are read, which need no size."""

    name: str
    colour: str
    points: list[tuple[float, Interval, Row]]
    flat: bool


def size_curve(report: EvaluationReport, *, narrow: bool = False) -> Markup:
    """Recall over the mean size of the chunks: a line per strategy, its band the 95 % interval.

    Sentences are a level line, as they need no size. The point that is taken has a ring. Empty
    where there is nothing to compare.

    Args:
        report: of the run.
        narrow: for a screen of 360 pixels, where names stand below the picture.
    """
    lines = _lines(report)
    if report.by_drafts or sum(len(one.points) for one in lines) < 2:  # noqa: PLR2004 -- to compare
        return Markup("")
    frame = _frame(lines, narrow=narrow)
    parts = [*_grid(frame, f"{report.measure}, %")]
    parts += [_drawn(frame, one, report.decision.take) for one in lines]
    if not narrow:
        parts += _names(frame, lines)
    spoken = f"{report.measure} over mean chunk size for {', '.join(one.name for one in lines)}"
    head = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">')
    return (
        head.format(frame.width, frame.height, spoken) + Markup("").join(parts) + Markup("</svg>")
    )


def line_colour(report: EvaluationReport, column: str) -> str:
    """The class of a strategy's colour: one for chunks and sentences of the same parser."""
    first = {row.column: row for row in reversed(report.rows)}
    cuts = {
        name: str(first[name].parser.get("fingerprint") or name)
        for name in dict.fromkeys(row.column for row in report.rows)
    }
    order = list(dict.fromkeys(cuts.values()))
    return f"c{order.index(cuts[column]) % COLOURS}" if column in cuts else "cx"


def _reads_sentences(report: EvaluationReport, row: Row) -> bool:
    """Whether sentences of its chunks are read in place of whole chunks."""
    own = row.parser.get("searched", {}).get("granularity")
    return bool((own or report.settings["granularity"]) == "sentences")


def _lines(report: EvaluationReport) -> list[_Line]:
    found = []
    for column in dict.fromkeys(row.column for row in report.rows):
        rows = [row for row in report.rows if row.column == column]
        flat = any(_reads_sentences(report, row) for row in rows)
        if flat:
            rows = [row for row in rows if row.role == "own"][:1]
        points = [
            (size, row.interval, row)
            for row in rows
            if row.interval and (size := float(row.chunks.get("mean", 0))) > 0
        ]
        if points:
            points.sort(key=lambda one: one[0])
            found.append(_Line(column, line_colour(report, column), points, flat))
    return found


def _frame(lines: Sequence[_Line], *, narrow: bool) -> _Frame:
    points = [point for one in lines for point in one.points]
    sizes = [size for size, _, _ in points]
    least = min(_ALL - _STEP, *(_ALL * gap.low for _, gap, _ in points))
    bottom = max(0, floor(least / _STEP) * _STEP)
    longest = max(len(_shown(one.name)) for one in lines)
    shape = (360, 300, 14) if narrow else (760, 380, 20 + round(_CHARACTER * longest))
    return _Frame(min(sizes) / 1.15, max(sizes) * 1.15, bottom, *shape)


def _shown(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def _grid(frame: _Frame, measure: str) -> Iterator[Markup]:
    floor_y = frame.height - _BOTTOM
    for percent in range(int(frame.bottom), _ALL + 1, _STEP):
        y = frame.y(percent / _ALL)
        yield _stroke(_LEFT, y, frame.right, y, "grid")
        yield _text(_LEFT - 8, y + 4, f"{percent}", "tick", "end")
    size = 2.0 ** ceil(log2(frame.low / 25)) * 25
    while size <= frame.high:
        yield _stroke(frame.x(size), floor_y, frame.x(size), floor_y + 5, "axis")
        yield _text(frame.x(size), floor_y + 19, f"{size:g}", "tick", "middle")
        size *= 2
    yield _text((_LEFT + frame.right) / 2, frame.height - 6, "mean tokens of a chunk", "tick",
                "middle")  # fmt: skip
    yield _text(4, 12, measure, "tick", "start")


def _drawn(frame: _Frame, line: _Line, taken: str | None) -> Markup:
    """One strategy with its band and its points."""
    if line.flat:
        ((_, gap, row),) = line.points
        places = [(float(_LEFT), gap), (frame.right, gap)]
        dots = [(frame.right, gap, row)]
    else:
        dots = [(frame.x(size), gap, row) for size, gap, row in line.points]
        places = [(x, gap) for x, gap, _ in dots]
    parts = []
    if len(places) > 1:
        kind = "curve flat" if line.flat else "curve"
        middle = _at((x, frame.y(gap.mean)) for x, gap in places)
        parts.append(Markup('<polyline class="{}" points="{}"/>').format(kind, middle))
    if len(dots) > 1:
        upper = [(x, frame.y(gap.high)) for x, gap in places]
        lower = [(x, frame.y(gap.low)) for x, gap in reversed(places)]
        parts.append(Markup('<polygon class="band" points="{}"/>').format(_at(upper + lower)))
    for x, gap, row in dots:
        if len(dots) == 1:
            parts.append(_stroke(x, frame.y(gap.low), x, frame.y(gap.high), "range"))
        said = f"{row.name}: {_ALL * gap.mean:.1f} ({_ALL * gap.low:.1f} to {_ALL * gap.high:.1f})"
        said += f", {float(row.chunks['mean']):,.0f} tokens a chunk"
        if row.name == taken:
            parts.append(_circle("ring", x, frame.y(gap.mean), 9, "taken"))
        parts.append(_circle("dot", x, frame.y(gap.mean), 4, said))
    opened = Markup('<g class="{}" data-column="{}">').format(line.colour, line.name)
    return opened + Markup("").join(parts) + Markup("</g>")


def _names(frame: _Frame, lines: Sequence[_Line]) -> Iterator[Markup]:
    """Names beside the ends of the lines, moved apart where they would overlap."""
    ends = sorted((frame.y(one.points[-1][1].mean), one.name, one.colour) for one in lines)
    heights: list[float] = []
    for y, _, _ in ends:
        heights.append(max(y, heights[-1] + _APART) if heights else y)
    over = max(0.0, heights[-1] - (frame.height - _BOTTOM))
    for height, (_, name, colour) in zip(heights, ends, strict=True):
        yield _text(frame.right + 14, height - over + 4, _shown(name), f"name {colour}", "start")


def _at(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _stroke(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        kind, x1, y1, x2, y2
    )


def _circle(kind: str, x: float, y: float, radius: int, said: str) -> Markup:
    return Markup(
        '<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}</title></circle>'
    ).format(kind, x, y, radius, said)


def _text(x: float, y: float, words: str, kind: str, anchor: str) -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        kind, x, y, anchor, words
    )
