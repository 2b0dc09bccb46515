"""Tables whose columns nothing rules: rows of pieces in columns, and evidence that they are tables.

Contents pages, formulas and code stand in columns too. So a table needs at least three columns, and
evidence: a caption, rules over its width as books print them above and below, or a row of words
above columns of nothing but figures.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.engines.geometry import union
from rag_nodes.readers.pdf.engines.protocol import THIN
from rag_nodes.readers.pdf.grids import sides_of
from rag_nodes.readers.pdf.joints import SAME_BASELINE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag_nodes.readers.pdf.engines.protocol import Box
    from rag_nodes.readers.pdf.layout import Line

MIN_ROWS, MIN_COLUMNS = 3, 3
"""Rows with several pieces, and columns, that a table has at least."""
STEP = 2.2
"""Font sizes between two rows of a table at most."""
LEAP = 2.5
"""Font sizes by which a piece may stand lower than the one before it in the file."""
BACK = 1.0
"""Font sizes by which a piece may stand higher than the one before it in the file."""
BETWEEN = 0.7
"""Font sizes below a row within which a label stands in the middle of it and the next row."""
STRIP = 0.55
"""Font sizes of white between two columns at least."""
FILLED = 0.55
"""Share of the cells that must hold text."""
MAX_WORDS = 5
"""Words of a cell on average at most."""
CAPTION_DISTANCE = 45.0
"""Points between a table and its caption at most."""
MAX_RULES = 6
"""Rules over the width of a table; more are the lines of a frame."""
COVERED = 0.9
"""Share of the width of a table that a rule must cover."""

_CAPTION = re.compile(
    r"(?:Tab(?:le|elle|leau|la|ella)\b\.?\s*(?:[A-Z]\.?)?[\dIVX]|表\s*\d)", re.IGNORECASE
)
_FIGURE = re.compile(r"(?=.*\d)[\d\W]+")
_LEADERS = " ..."

Row = list[int]
"""Numbers of the lines that are pieces of a row."""


def with_borderless_tables(lines: Sequence[Line], edges: Sequence[Box]) -> tuple[Line, ...]:
    """Put one line with `cells` in the place of the lines of each such table.

    Args:
        lines: lines of a page in the order of the file.
        edges: lines and rectangles that are drawn on it.
    """
    done = list(lines)
    for number, rows in enumerate(_stacks(lines), 1):
        pieces = [lines[at] for row in rows for at in row]
        cells = _cells([[lines[at] for at in row] for row in rows])
        if cells is None:
            continue
        if _has_headed_figures(cells) or _has_caption(pieces, lines) or _has_rules(pieces, edges):
            first, *others = sorted(at for row in rows for at in row)
            done[first] = pieces[0].as_table(_around(pieces), cells, -number)
            for at in others:
                done[at] = replace(done[at], text="")
    return tuple(line for line in done if line.text)


def _stacks(lines: Sequence[Line]) -> Iterator[list[Row]]:
    """Yield rows of several pieces that stand close below each other."""
    for stretch in _stretches(lines):
        if len(stretch) < 2 * MIN_ROWS:
            continue
        stack: list[Row] = []
        for row in [*_rows(lines, stretch), []]:
            if len(row) > 1 and (not stack or _is_next(lines[stack[-1][0]], lines[row[0]])):
                stack.append(row)
                continue
            if len(stack) >= MIN_ROWS:
                yield stack
            stack = [row] if len(row) > 1 else []


def _stretches(lines: Sequence[Line]) -> Iterator[Row]:
    """Yield lines that follow each other in the file, about as high as the one before or lower."""
    stretch: Row = []
    for at, line in enumerate(lines):
        step = line.baseline - lines[at - 1].baseline if at else 0.0
        may_be_cell = _may_be_cell(line)
        if not (may_be_cell and -BACK * line.size <= step <= LEAP * line.size):
            yield stretch
            stretch = []
        if may_be_cell:
            stretch.append(at)
    yield stretch


def _rows(lines: Sequence[Line], stretch: Sequence[int]) -> list[Row]:
    """Return the rows of some lines; a label in the middle of two rows is part of the upper one."""
    rows: list[Row] = []
    for at in sorted(stretch, key=lambda at: lines[at].baseline):
        line = lines[at]
        if rows and line.baseline - lines[rows[-1][0]].baseline <= SAME_BASELINE * line.size:
            rows[-1].append(at)
        else:
            rows.append([at])
    joined = rows[:1]
    for row in rows[1:]:
        above, line = [lines[at] for at in joined[-1]], lines[row[0]]
        is_label = len(row) == 1 and all(line.right < piece.left for piece in above)
        if is_label and line.baseline - above[0].baseline <= BETWEEN * line.size:
            joined[-1].append(row[0])
        else:
            joined.append(row)
    return joined


def _is_next(above: Line, below: Line) -> bool:
    return below.baseline - above.baseline <= STEP * max(above.size, below.size)


def _may_be_cell(line: Line) -> bool:
    return line.upright and not (line.mono or line.cells or _LEADERS in line.text)


def _cells(rows: Sequence[Sequence[Line]]) -> tuple[tuple[str, ...], ...] | None:
    """Return the text of each cell; None if these rows are no table."""
    columns = _columns(rows)
    if len(columns) < MIN_COLUMNS:
        return None
    table = []
    for row in rows:
        texts: list[list[str]] = [[] for _ in columns]
        for piece in sorted(row, key=lambda piece: piece.left):
            middle = (piece.left + piece.right) / 2
            place = sum(left <= middle for left in columns[1:])
            texts[place].append(piece.text)
        table.append(tuple(" ".join(parts) for parts in texts))
    filled = [cell for row in table for cell in row if cell]
    is_filled = len(filled) >= FILLED * len(table) * len(columns)
    is_short = sum(len(cell.split()) for cell in filled) <= MAX_WORDS * len(filled)
    return tuple(table) if is_filled and is_short else None


def _columns(rows: Sequence[Sequence[Line]]) -> list[float]:
    """Return where columns begin: white strips through the rows of figures part them."""
    several = [row for row in rows if len(row) > 1]
    figures = [row for row in several if 2 * sum(_is_figure(piece) for piece in row) >= len(row)]
    pieces = [piece for row in (figures if len(figures) >= MIN_ROWS else several) for piece in row]
    starts: list[float] = []
    end = 0.0
    for piece in sorted(pieces, key=lambda piece: piece.left):
        if not starts or piece.left - end >= STRIP * piece.size:
            starts.append(piece.left if not starts else (end + piece.left) / 2)
        end = max(end, piece.right) if starts else piece.right
    return starts


def _is_figure(piece: Line) -> bool:
    return _FIGURE.fullmatch(piece.text) is not None


def _has_headed_figures(cells: Sequence[Sequence[str]]) -> bool:
    """Return True if words stand above all columns, and figures below all but the first."""
    head, *body = cells
    has_head = all(head) and not any(map(_FIGURE.fullmatch, head))
    figures = [cell for row in body for cell in row[1:] if cell]
    return has_head and len(body) >= MIN_ROWS and all(map(_FIGURE.fullmatch, figures))


def _has_caption(pieces: Sequence[Line], lines: Sequence[Line]) -> bool:
    left, top, right, bottom = _around(pieces)
    return any(
        _CAPTION.match(line.text) is not None
        and line.left < right
        and left < line.right
        and max(top - line.bottom, line.top - bottom) <= CAPTION_DISTANCE
        for line in lines
    )


def _has_rules(pieces: Sequence[Line], edges: Sequence[Box]) -> bool:
    """Return True if rules run over the width of a table, and nothing beside it makes a frame."""
    left, top, right, bottom = _around(pieces)
    slack = STEP * pieces[0].size
    lines = chain.from_iterable(map(sides_of, edges))
    near = [line for line in lines if line[1] <= bottom + slack and line[3] >= top - slack]
    heights = {
        round(y)
        for start, y, end, low in near
        if low - y <= THIN and min(end, right) - max(start, left) >= COVERED * (right - left)
    }
    sides = (low - y for start, y, end, low in near if end - start <= THIN and end <= left + THIN)
    is_framed = 2 * sum(sides) >= bottom - top
    return 1 < len(heights) <= MAX_RULES and not is_framed


def _around(pieces: Sequence[Line]) -> Box:
    return union(piece.box for piece in pieces)
