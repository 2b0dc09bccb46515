"""Pictures of an evaluation as SVG in the page: they follow its colours and its width.

Colours are classes, `c0` to `c7`, so that a page in the dark has lighter ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import ceil, floor, log2
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

if TYPE_CHECKING:
    from rag_nodes.evaluation.report import EvaluationReport, Row

COLOURS = 8
"""Colours there are; more columns share them and differ by their marks."""
_WIDTH, _HEIGHT = 720, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 150, 22, 44
_ROW = 30
_NAMES = 220
_STEP = 10
"""Points of a hundred between two lines of the grid."""
_APART = 15
"""Least distance of two names beside the curves."""


class _Frame(NamedTuple):
    """Where values lie in the picture of the curves.

    Attributes:
        low: smallest mean size.
        high: largest mean size.
        bottom: least recall shown, in points.
        top: most recall shown, in points.
    """

    low: float
    high: float
    bottom: float
    top: float

    def x(self, size: float) -> float:
        """Place of a mean size, on a scale where doubling is one step."""
        span = log2(self.high / self.low) or 1
        return _LEFT + log2(size / self.low) / span * (_WIDTH - _LEFT - _RIGHT)

    def y(self, points: float) -> float:
        """Place of a value in points."""
        share = (points - self.bottom) / (self.top - self.bottom)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def size_curve(report: EvaluationReport) -> Markup:
    """The main measure over the mean size of the chunks: one line per column.

    The point with a ring is the column at its own options; the dashed line is the equal size.
    Empty where no column was tried at several sizes.
    """
    curves = _curves(report)
    if not any(len(rows) > 1 for rows in curves.values()):
        return Markup("")
    frame = _frame(curves.values())
    target = report.settings.get("target")
    parts = [*_grid(frame, report.measure)]
    if target and frame.low <= target <= frame.high:
        parts.append(_equal(frame, target))
    ends = []
    for number, (column, rows) in enumerate(curves.items()):
        parts.append(_curve(frame, number, column, rows))
        last = rows[-1]
        ends.append((frame.y(_mean(last)), number, column))
    parts += _labels(ends)
    spoken = f"{report.measure} over mean chunk size for {', '.join(curves)}"
    return _svg(_HEIGHT, spoken, parts)


def interval_plot(report: EvaluationReport, role: str) -> Markup:
    """The main measure of each row of a role with its interval, best first; empty without rows."""
    rows = [row for row in report.of_role(role) if row.interval]
    if not rows:
        return Markup("")
    rows.sort(key=lambda row: -_mean(row))
    numbers = {column: number for number, column in enumerate(_columns(report))}
    low = floor(min(100 * _interval(row)[0] for row in rows) / _STEP) * _STEP
    high = ceil(max(100 * _interval(row)[1] for row in rows) / _STEP) * _STEP
    high = high if high > low else low + _STEP

    def x(points: float) -> float:
        return _NAMES + (points - low) / (high - low) * (_WIDTH - _NAMES - 60)

    height = _ROW * len(rows) + _BOTTOM
    parts = []
    for points in range(low, high + 1, _STEP):
        parts.append(_line(x(points), 0, x(points), height - _BOTTOM + 6, "grid"))
        parts.append(_text(x(points), height - _BOTTOM + 22, f"{points}", "tick", anchor="middle"))
    for at, row in enumerate(rows):
        parts.append(_dot_and_line(row, numbers[row.column], _ROW * (at + 0.5), x))
    spoken = "; ".join(f"{row.column} {_mean(row):.1f}" for row in rows)
    return _svg(height, f"{report.measure} with 95 % intervals: {spoken}", parts)


def colour_of(report: EvaluationReport, column: str) -> str:
    """The class that carries a column's colour."""
    names = _columns(report)
    return f"c{names.index(column) % COLOURS}" if column in names else "cx"


def _columns(report: EvaluationReport) -> list[str]:
    return [row.column for row in report.rows if row.role == "own"]


def _curves(report: EvaluationReport) -> dict[str, list[Row]]:
    """The rows of each column by mean size; those at equal size are not points of the curve."""
    curves: dict[str, list[Row]] = {}
    for column in _columns(report):
        rows = [row for row in report.rows if row.column == column and row.role in ("own", "size")]
        known = [row for row in rows if row.interval and _size(row) > 0]
        if known:
            curves[column] = sorted(known, key=_size)
    return curves


def _frame(curves: Iterable[Sequence[Row]]) -> _Frame:
    rows = [row for each in curves for row in each]
    values = [_mean(row) for row in rows]
    bottom = max(0, floor((min(values) - 2) / _STEP) * _STEP)
    top = min(100, ceil((max(values) + 2) / _STEP) * _STEP)
    return _Frame(
        low=min(_size(row) for row in rows) / 1.1,
        high=max(_size(row) for row in rows) * 1.1,
        bottom=bottom,
        top=top if top > bottom else bottom + _STEP,
    )


def _grid(frame: _Frame, measure: str) -> Iterable[Markup]:
    for points in range(int(frame.bottom), int(frame.top) + 1, _STEP):
        y = frame.y(points)
        yield _line(_LEFT, y, _WIDTH - _RIGHT, y, "grid")
        yield _text(_LEFT - 8, y + 4, f"{points}", "tick", anchor="end")
    size = 2 ** ceil(log2(frame.low / 25)) * 25
    while size <= frame.high:
        x = frame.x(size)
        yield _line(x, _HEIGHT - _BOTTOM, x, _HEIGHT - _BOTTOM + 5, "axis")
        yield _text(x, _HEIGHT - _BOTTOM + 19, f"{size:.0f}", "tick", anchor="middle")
        size *= 2
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    yield _text(middle, _HEIGHT - 6, "mean tokens of a chunk", "tick", anchor="middle")
    yield _text(_LEFT + 4, 12, f"{measure}, points", "tick")


def _equal(frame: _Frame, target: float) -> Markup:
    x = frame.x(target)
    line = _line(x, _TOP, x, _HEIGHT - _BOTTOM, "equal")
    return line + _text(x + 4, _HEIGHT - _BOTTOM - 6, f"equal size {target:.0f}", "tick")


def _curve(frame: _Frame, number: int, column: str, rows: Sequence[Row]) -> Markup:
    points = " ".join(f"{frame.x(_size(row)):.1f},{frame.y(_mean(row)):.1f}" for row in rows)
    colour = f"c{number % COLOURS}"
    parts = [Markup('<polyline class="curve {}" points="{}"/>').format(colour, points)]
    for row in rows:
        low, high = _interval(row)
        said = f"{row.name}: {_mean(row):.1f} ({100 * low:.1f} to {100 * high:.1f}), "
        parts.append(
            Markup(
                '<circle class="dot {} {}" cx="{:.1f}" cy="{:.1f}" r="{}">'
                "<title>{}</title></circle>"
            )
            .format(colour, "own" if row.role == "own" else "", frame.x(_size(row)),
                    frame.y(_mean(row)), 6 if row.role == "own" else 3.5,
                    f"{said}mean {_size(row):.0f} tokens")
        )  # fmt: skip
    return Markup('<g data-column="{}">').format(column) + Markup("").join(parts) + Markup("</g>")


def _labels(ends: Sequence[tuple[float, int, str]]) -> Iterable[Markup]:
    """The columns' names beside the picture, moved apart where they would overlap."""
    free = 0.0
    for y, number, column in sorted(ends):
        at = max(y, free)
        free = at + _APART
        yield _text(_WIDTH - _RIGHT + 12, at + 4, _short(column), f"name c{number % COLOURS}")


def _dot_and_line(row: Row, number: int, y: float, x: Callable[[float], float]) -> Markup:
    colour = f"c{number % COLOURS}"
    low, high = _interval(row)
    return Markup("").join(
        (
            _text(_NAMES - 12, y + 4, _short(row.column, 30), "name", anchor="end"),
            _line(x(100 * low), y, x(100 * high), y, f"range {colour}"),
            Markup('<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="5"/>').format(
                colour, x(_mean(row)), y
            ),
            _text(x(100 * high) + 10, y + 4, f"{_mean(row):.1f}", "tick"),
        )
    )


def _svg(height: float, spoken: str, parts: Iterable[Markup]) -> Markup:
    return (
        Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
            _WIDTH, height, spoken
        )
        + Markup("").join(parts)
        + Markup("</svg>")
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        kind, x1, y1, x2, y2
    )


def _text(x: float, y: float, text: str, kind: str, *, anchor: str = "start") -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        kind, x, y, anchor, text
    )


def _short(name: str, longest: int = 18) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"


def _size(row: Row) -> float:
    return row.chunks.get("mean", 0.0)


def _mean(row: Row) -> float:
    """The main measure in points."""
    return 100 * row.interval.mean if row.interval else 0.0


def _interval(row: Row) -> tuple[float, float]:
    return (row.interval.low, row.interval.high) if row.interval else (0.0, 0.0)
