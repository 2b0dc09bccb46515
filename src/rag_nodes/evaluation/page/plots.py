"""The plot of an evaluation: recall over the mean size of the chunks, as SVG.

It follows the page's width and colours, which are classes, by default `c0` to `c7`, so that a page
in the dark has lighter ones.
"""

from __future__ import annotations

import html
from collections import Counter
from functools import cache
from math import ceil, floor, log2
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rag_nodes.core.spelling import argument
from rag_nodes.evaluation.effects import reading_of_sizes
from rag_nodes.evaluation.wording import SELECTING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rag_nodes.evaluation.report import EvaluationReport, Row
    from rag_nodes.evaluation.sign_flips import Interval

COLOURS = 8
"""Colours there are; more strategies share them."""
MARKS = "●▲◆■"
"""Marks of strategies that share a colour, one after another."""
_STEP = 10
"""Percent between two lines of the grid."""
_APART = 15
"""Least distance of two names beside the plot."""
_LEFT, _TOP, _BOTTOM = 46, 22, 46
"""Margins around what is drawn."""
_NAME, _CHARACTER = 30, 7.3
"""Characters of a name beside the plot, and width of one of them."""


class _Point(NamedTuple):
    """A row by the size of its chunks; `label` says what was read, `gap` is the recall of that."""

    size: float
    gap: Interval
    row: Row
    label: str


class _Line(NamedTuple):
    """One strategy by size; `flat` for sentences, if sizes are measured in whole chunks alone.

    Strategies of the same `colour` differ by their `mark`.
    """

    name: str
    colour: str
    mark: str
    points: list[_Point]
    flat: bool


class _Frame(NamedTuple):
    """Axes of a plot: sizes from `low` to `high` tokens, recall from `bottom` percent to 100."""

    low: float
    high: float
    bottom: int
    width: int
    height: int
    margin: int

    @property
    def right(self) -> float:
        return self.width - self.margin

    @property
    def floor(self) -> float:
        return self.height - _BOTTOM

    @property
    def sizes(self) -> list[float]:
        """Marks of the axis: 25 tokens, doubled."""
        first = 25 * 2.0 ** ceil(log2(self.low / 25))
        return [first * 2**step for step in range(max(0, 1 + floor(log2(self.high / first))))]

    def x(self, size: float) -> float:
        """On a scale where doubling is one step."""
        share = log2(size / self.low) / (log2(self.high / self.low) or 1)
        return _LEFT + share * (self.right - _LEFT)

    def y(self, share: float) -> float:
        part = (100 * share - self.bottom) / (100 - self.bottom)
        return self.floor - part * (self.floor - _TOP)

    def path(self, line: _Line) -> list[tuple[float, Interval]]:
        """The places of a line with their intervals: from side to side where it is flat."""
        if line.flat:
            return [(_LEFT, line.points[0].gap), (self.right, line.points[0].gap)]
        return [(self.x(point.size), point.gap) for point in line.points]


def size_curve(
    report: EvaluationReport,
    *,
    narrow: bool = False,
    link: Callable[[Row], str] | None = None,
    baseline: str = "",
    colour: Callable[[str], str] | None = None,
) -> Markup:
    """Recall over the mean size of the chunks: a line per strategy, its band the 95 % interval.

    All lines are of one reading: that in which sizes were measured. If it is whole chunks, the
    sentences of the row that is taken, or else of the best, are a level line beside them. The
    point that is taken has a ring, that of the baseline a square and a dotted line at its recall.
    Empty where there is nothing to compare, and for drafts that nobody has accepted.

    Args:
        report: of the run.
        narrow: for a screen of 360 pixels, where names stand below the plot.
        link: where a point leads to; None for points that lead nowhere.
        baseline: row or column that the reader has; "" for none.
        colour: class of the colour of a column; by default that of `line_colour`.
    """
    lines = _lines(report, colour or (lambda column: line_colour(report, column)))
    probed = report.dataset.probed
    drafted = report.by_drafts and not probed
    if drafted or sum(len(line.points) for line in lines) < 2:  # noqa: PLR2004 -- to compare
        return Markup("")
    frame = _frame(lines, narrow=narrow)
    passages = f" by keywords of passages of {probed:,} characters" if probed else ""
    point = _baseline_point(lines, baseline)
    plot = templates().get_template("curve.svg.j2").render(
        frame=frame,
        lines=lines,
        names=[] if narrow else _names(frame, lines),
        left=_LEFT,
        percents=range(frame.bottom, 101, _STEP),
        measure=f"{report.measure}, %{passages}",
        taken=report.decision.take,
        baseline=point,
        baseline_line=next((line for line in lines if point in line.points), None),
        link=link or (lambda _: ""),
        has_links=link is not None,  # an image may hold no links for those who hear it
    )  # fmt: skip
    return Markup(plot)  # noqa: S704 -- the template escapes


@cache
def templates() -> Environment:
    """The templates of the report; everything put into them is escaped."""
    environment = Environment(
        loader=PackageLoader("rag_nodes.evaluation.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["argument"] = _argument
    return environment


def _argument(text: str) -> Markup:
    return Markup(html.escape(argument(text), quote=False))  # noqa: S704 -- it is escaped


def line_colour(report: EvaluationReport, column: str) -> str:
    """The class of a strategy's colour: one for chunks and sentences of the same parser."""
    first = {row.column: row for row in reversed(report.rows)}
    cuts = {
        name: str(first[name].parser.get("fingerprint") or name)
        for name in dict.fromkeys(row.column for row in report.rows)
    }
    order = list(dict.fromkeys(cuts.values()))
    return f"c{order.index(cuts[column]) % COLOURS}" if column in cuts else "cx"


def marks_of(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the mark of each column, of those with a class of a colour."""
    earlier: Counter[str] = Counter()
    marks = {}
    for column, colour in columns.items():
        marks[column] = MARKS[earlier[colour] % len(MARKS)]
        earlier[colour] += 1
    return marks


def _lines(report: EvaluationReport, colour: Callable[[str], str]) -> list[_Line]:
    lines, marks = [], marks_of({row.column: colour(row.column) for row in report.rows})
    in_chunks = reading_of_sizes(report) == "chunks"
    point_of = _in_chunks if in_chunks else _as_read
    for column in dict.fromkeys(row.column for row in report.rows):
        rows = [row for row in report.rows if row.column == column]
        points = [*filter(None, (point_of(row) for row in rows if row.search == rows[0].search))]
        if points:
            points.sort(key=lambda point: point.size)
            lines.append(_Line(column, colour(column), marks[column], points, flat=False))
    sentences = [row for row in report.rows if row.interval and row.granularity == "sentences"]
    if sentences and in_chunks:
        best = max(sentences, key=lambda row: (row.name == report.decision.take, row.mean))
        assert best.interval  # noqa: S101 -- for the type checker
        point = _Point(best.chunks.mean, best.interval, best, best.name)
        name = best.name if best.name.endswith(SELECTING) else f"{best.name}, sentences"
        mark = marks[best.column]
        lines.append(_Line(name, colour(best.column), mark, [point], flat=True))
    return lines


def _baseline_point(lines: Sequence[_Line], baseline: str) -> _Point | None:
    """Return the point of the baseline, read as it was measured; None if it was not measured."""
    points = [point for line in lines for point in line.points]
    named = [point for point in points if baseline in (point.row.name, point.row.column)]
    named.sort(key=lambda point: (point.row.name != baseline, point.label != point.row.name))
    return named[0] if named else None


def _as_read(row: Row) -> _Point | None:
    """Return the point of a row as it was read; None if it has no chunks or was not measured."""
    gap = row.interval
    return _Point(row.chunks.mean, gap, row, row.name) if gap and row.chunks.mean > 0 else None


def _in_chunks(row: Row) -> _Point | None:
    """Return the point of a row in whole chunks, also if sentences were read as well."""
    point = _as_read(row)
    if point and row.whole:
        return point._replace(gap=row.whole, label=f"{row.name}, whole chunks")
    return point


def _frame(lines: Sequence[_Line], *, narrow: bool) -> _Frame:
    points = [point for line in lines for point in line.points]
    sizes = [point.size for point in points]
    least = min(100 - _STEP, *(100 * point.gap.low for point in points))
    bottom = max(0, floor(least / _STEP) * _STEP)
    longest = max(min(_NAME, 2 + len(line.name)) for line in lines)
    shape = (360, 300, 14) if narrow else (760, 380, 20 + round(_CHARACTER * longest))
    return _Frame(min(sizes) / 1.15, max(sizes) * 1.15, bottom, *shape)


def _shortened(name: str) -> str:
    """Return a name without its middle if it is long: its end is a size or a reading."""
    half = _NAME // 2
    return name if len(name) <= _NAME else f"{name[: half - 1]}…{name[-half:]}"


def _names(frame: _Frame, lines: Sequence[_Line]) -> list[tuple[float, str, str]]:
    """Height, marked name and colour at the ends of the lines, moved apart if they overlap."""
    named = {line.name: line for line in lines}.values()  # sentences and whole chunks share a name
    ends = sorted(
        (frame.y(line.points[-1].gap.mean), f"{line.mark} {line.name}", line.colour)
        for line in named
    )
    heights: list[float] = []
    for y, _, _ in ends:
        heights.append(max(y, heights[-1] + _APART) if heights else y)
    over = max(0.0, heights[-1] - frame.floor)
    return [
        (y - over + 4, _shortened(name), colour)
        for y, (_, name, colour) in zip(heights, ends, strict=True)
    ]
