"""Pictures of an evaluation: the curves of size, and intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor, log2
from typing import TYPE_CHECKING

from markupsafe import Markup

from rag_nodes.evaluation.page.svg import (
    BOTTOM,
    HEIGHT,
    STEP,
    TOP,
    WIDTH,
    Frame,
    colour,
    curve,
    dot,
    grid,
    labels,
    line,
    picture,
    short,
    text,
)

if TYPE_CHECKING:
    from rag_nodes.evaluation.report import EvaluationReport, Row

_ROW = 30
_NAMES = 220


def size_curve(report: EvaluationReport) -> Markup:
    """The main measure over the mean size of the chunks: one line per column.

    The point with a ring is the column at its own options; the dashed line is the equal size.
    Empty where no column was tried at several sizes, or all questions are drafts.
    """
    if report.by_drafts:
        return Markup("")
    curves = _curves(report)
    if not any(len(rows) > 1 for rows in curves.values()):
        return Markup("")
    rows = [row for each in curves.values() for row in each]
    frame = Frame.around([_size(row) for row in rows], [_mean(row) for row in rows])
    target = report.settings.get("target")
    parts = [*grid(frame, report.measure, "mean tokens of a chunk", _ticks(frame))]
    if target and frame.low <= target <= frame.high:
        parts.append(_equal(frame, target))
    ends = []
    for number, (column, rows) in enumerate(curves.items()):
        parts.append(_curve(frame, number, column, rows))
        last = rows[-1]
        ends.append((frame.y(_mean(last)), number, column))
    parts += labels(ends)
    spoken = f"{report.measure} over mean chunk size for {', '.join(curves)}"
    return picture(HEIGHT, spoken, parts)


def interval_plot(report: EvaluationReport, role: str) -> Markup:
    """The main measure of each row of a role with its interval, best first.

    Empty without rows, or where all questions are drafts.
    """
    rows = [row for row in report.of_role(role) if row.interval]
    if not rows or report.by_drafts:
        return Markup("")
    rows.sort(key=lambda row: -_mean(row))
    numbers = {column: number for number, column in enumerate(_columns(report))}
    low = floor(min(100 * _interval(row)[0] for row in rows) / STEP) * STEP
    high = ceil(max(100 * _interval(row)[1] for row in rows) / STEP) * STEP
    high = high if high > low else low + STEP

    def x(points: float) -> float:
        return _NAMES + (points - low) / (high - low) * (WIDTH - _NAMES - 60)

    height = _ROW * len(rows) + BOTTOM
    parts = []
    for points in range(low, high + 1, STEP):
        parts.append(line(x(points), 0, x(points), height - BOTTOM + 6, "grid"))
        parts.append(text(x(points), height - BOTTOM + 22, f"{points}", "tick", anchor="middle"))
    for at, row in enumerate(rows):
        parts.append(_dot_and_line(row, numbers[row.column], _ROW * (at + 0.5), x))
    spoken = "; ".join(f"{row.column} {_mean(row):.1f}" for row in rows)
    return picture(height, f"{report.measure} with 95 % intervals: {spoken}", parts)


def colour_of(report: EvaluationReport, column: str) -> str:
    """The class that carries a column's colour."""
    names = _columns(report)
    return colour(names.index(column)) if column in names else "cx"


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


def _ticks(frame: Frame) -> Iterator[tuple[float, str]]:
    """Sizes that are twice as large each."""
    size = 2.0 ** ceil(log2(frame.low / 25)) * 25
    while size <= frame.high:
        yield size, f"{size:.0f}"
        size *= 2


def _equal(frame: Frame, target: float) -> Markup:
    x = frame.x(target)
    return line(x, TOP, x, HEIGHT - BOTTOM, "equal") + text(
        x + 4, HEIGHT - BOTTOM - 6, f"equal size {target:.0f}", "tick"
    )


def _curve(frame: Frame, number: int, column: str, rows: Sequence[Row]) -> Markup:
    parts = [curve(((frame.x(_size(row)), frame.y(_mean(row))) for row in rows), colour(number))]
    for row in rows:
        low, high = _interval(row)
        own = row.role == "own"
        said = (
            f"{row.name}: {_mean(row):.1f} ({100 * low:.1f} to {100 * high:.1f}), "
            f"mean {_size(row):.0f} tokens"
        )
        kind = f"{colour(number)} own" if own else colour(number)
        parts.append(dot(frame.x(_size(row)), frame.y(_mean(row)), 6 if own else 3.5, kind, said))
    return Markup('<g data-column="{}">').format(column) + Markup("").join(parts) + Markup("</g>")


def _dot_and_line(row: Row, number: int, y: float, x: Callable[[float], float]) -> Markup:
    low, high = _interval(row)
    return Markup("").join(
        (
            text(_NAMES - 12, y + 4, short(row.column, 30), "name", anchor="end"),
            line(x(100 * low), y, x(100 * high), y, f"range {colour(number)}"),
            Markup('<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="5"/>').format(
                colour(number), x(_mean(row)), y
            ),
            text(x(100 * high) + 10, y + 4, f"{_mean(row):.1f}", "tick"),
        )
    )


def _size(row: Row) -> float:
    return float(row.chunks.get("mean", 0.0))


def _mean(row: Row) -> float:
    """The main measure in points."""
    return 100 * row.interval.mean if row.interval else 0.0


def _interval(row: Row) -> tuple[float, float]:
    return (row.interval.low, row.interval.high) if row.interval else (0.0, 0.0)
