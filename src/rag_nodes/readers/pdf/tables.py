"""Lines that are drawn on a page in, tables out; and tables that run over page breaks."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rag_nodes.readers.pdf.layout import Line, PdfPage

Word = tuple[float, float, float, float, str, int, int]
"""Left, top, right, bottom, text, block, line."""
Ruling = tuple[float, float, float]
"""Of a horizontal one left, right and y; of a vertical one top, bottom and x."""

THIN = 2.0
"""Points up to which a rectangle is a line."""
TOUCH = 3.0
"""Points within which two rulings meet."""
SHORTEST = 4.0
"""Points below which a line is part of a drawing."""
BORDERS = 3
"""Rulings of each direction a table has at least: the borders of two cells."""
MOST = 200
"""Rulings of one direction above which a page is a drawing."""
RULED = 0.7
"""Share of the borders between cells that must be drawn; the others join cells to one."""
FILLED = 0.3
"""Share of the cells that must hold text; forms to be filled in and charts have fewer."""
LONGEST_CELL = 800
"""Characters above which a cell is a frame around running text."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the borders of a table may be.

    Attributes:
        columns: x of the vertical borders, left to right.
        rows: y of the horizontal borders, top to bottom.
        horizontal: the rulings it is made of, left to right.
        vertical: the rulings it is made of, top to bottom.
    """

    columns: tuple[float, ...]
    rows: tuple[float, ...]
    horizontal: tuple[Ruling, ...]
    vertical: tuple[Ruling, ...]

    def place(self, x: float, y: float) -> tuple[int, int] | None:
        """Row and column of a point; None outside."""
        column, row = bisect_right(self.columns, x) - 1, bisect_right(self.rows, y) - 1
        inside = 0 <= column < len(self.columns) - 1 and 0 <= row < len(self.rows) - 1
        return (row, column) if inside else None


def find_grids(drawings: Iterable[dict[str, Any]]) -> list[Grid]:
    """Find rulings that cross each other.

    Args:
        drawings: the vector graphics of a page, as PyMuPDF's `get_cdrawings` gives them.

    Returns:
        Grids of at least two rows and two columns, top to bottom.
    """
    horizontal, vertical = _rulings(drawings)
    if not (BORDERS <= len(horizontal) <= MOST and BORDERS <= len(vertical) <= MOST):
        return []
    grids = []
    for across, down in _components(horizontal, vertical):
        columns, rows = _distinct(x for *_, x in down), _distinct(y for *_, y in across)
        if len(columns) >= BORDERS and len(rows) >= BORDERS:
            grids.append(Grid(columns, rows, tuple(across), tuple(down)))
    return sorted(grids, key=lambda grid: grid.rows[0])


def with_tables(
    lines: Sequence[Line], grids: Sequence[Grid], words: Sequence[Word], clean: Callable[[str], str]
) -> tuple[Line, ...]:
    """Put one line with `cells` in the place of the lines in each grid that is a table.

    Args:
        lines: of the page, in reading order.
        grids: of the page.
        words: of the page, in reading order.
        clean: what is done to the text of lines.
    """
    for number, grid in enumerate(grids):
        cells = _cells(grid, words, clean)
        if cells:
            lines = _with_table(lines, grid, cells, -1 - number)
    return tuple(lines)


def _with_table(
    lines: Sequence[Line], grid: Grid, cells: tuple[tuple[str, ...], ...], block: int
) -> Sequence[Line]:
    inside = [grid.place((o.left + o.right) / 2, (o.top + o.bottom) / 2) is not None for o in lines]
    if not any(inside):
        return lines
    first = inside.index(True)
    table = replace(
        lines[first],
        text=" ".join(cell for row in cells for cell in row if cell),
        left=grid.columns[0],
        right=grid.columns[-1],
        top=grid.rows[0],
        bottom=grid.rows[-1],
        baseline=grid.rows[-1],
        bold=False,
        upright=True,
        block=block,
        row=True,
        links=(),
        cells=cells,
    )
    rest = [line for line, is_in in zip(lines[first:], inside[first:], strict=True) if not is_in]
    return [*lines[:first], table, *rest]


def _cells(
    grid: Grid, words: Sequence[Word], clean: Callable[[str], str]
) -> tuple[tuple[str, ...], ...] | None:
    """Give the text of each cell, lines parted by line ends; None where this is no table."""
    anchors = _anchors(grid)
    if anchors is None:
        return None
    found: dict[tuple[int, int], dict[tuple[int, int], list[str]]] = defaultdict(dict)
    for left, top, right, bottom, text, block, line in words:
        place = grid.place((left + right) / 2, (top + bottom) / 2)
        if place is not None:
            found[anchors[place]].setdefault((block, line), []).append(text)
    texts = {
        place: "\n".join(filter(None, (clean(" ".join(parts)) for parts in rows.values())))
        for place, rows in found.items()
    }
    if not _is_table(texts, len(set(anchors.values()))):
        return None
    width, height = len(grid.columns) - 1, len(grid.rows) - 1
    return tuple(
        tuple(texts.get((row, column), "") for column in range(width)) for row in range(height)
    )


def _is_table(texts: dict[tuple[int, int], str], cells: int) -> bool:
    filled = {place for place, text in texts.items() if text}
    several = len({row for row, _ in filled}) > 1 and len({column for _, column in filled}) > 1
    short = all(len(text) <= LONGEST_CELL for text in texts.values())
    return several and short and len(filled) >= FILLED * cells


def _anchors(grid: Grid) -> dict[tuple[int, int], tuple[int, int]] | None:
    """Give the first cell of what each cell is joined with; None where too little is ruled."""
    anchors = {
        (row, column): (row, column)
        for row in range(len(grid.rows) - 1)
        for column in range(len(grid.columns) - 1)
    }
    borders = open_ones = 0
    for place, other, ruled in _borders(grid):
        borders += 1
        if not ruled:
            open_ones += 1
            low, high = sorted((anchors[place], anchors[other]))
            anchors = {key: low if value == high else value for key, value in anchors.items()}
    return anchors if borders - open_ones >= RULED * borders else None


def _borders(grid: Grid) -> Iterator[tuple[tuple[int, int], tuple[int, int], bool]]:
    """Yield two neighbouring cells and whether there is a line between them."""
    for row, (top, bottom) in enumerate(zip(grid.rows, grid.rows[1:], strict=False)):
        for column, (left, right) in enumerate(zip(grid.columns, grid.columns[1:], strict=False)):
            if column:
                ruled = _is_ruled(grid.vertical, left, (top + bottom) / 2)
                yield (row, column - 1), (row, column), ruled
            if row:
                ruled = _is_ruled(grid.horizontal, top, (left + right) / 2)
                yield (row - 1, column), (row, column), ruled


def _is_ruled(rulings: Sequence[Ruling], at: float, middle: float) -> bool:
    return any(abs(place - at) <= TOUCH and low <= middle <= high for low, high, place in rulings)


def _rulings(drawings: Iterable[dict[str, Any]]) -> tuple[list[Ruling], list[Ruling]]:
    horizontal: list[Ruling] = []
    vertical: list[Ruling] = []
    for left, top, right, bottom in _edges(drawings):
        if bottom - top <= THIN and right - left >= SHORTEST:
            horizontal.append((left, right, (top + bottom) / 2))
        elif right - left <= THIN and bottom - top >= SHORTEST:
            vertical.append((top, bottom, (left + right) / 2))
    return _merged(horizontal), _merged(vertical)


def _edges(drawings: Iterable[dict[str, Any]]) -> Iterator[tuple[float, float, float, float]]:
    """Yield lines, and the four sides of rectangles, as left, top, right and bottom."""
    for drawing in drawings:
        for kind, *shape in drawing["items"]:
            if kind == "l":
                (x1, y1), (x2, y2) = shape[:2]
                yield min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)
            elif kind == "re":
                left, top, right, bottom = shape[0]
                if min(right - left, bottom - top) <= THIN:
                    yield left, top, right, bottom
                else:
                    yield left, top, right, top
                    yield left, bottom, right, bottom
                    yield left, top, left, bottom
                    yield right, top, right, bottom


def _merged(rulings: list[Ruling]) -> list[Ruling]:
    """Join rulings that go on from each other, as borders are often drawn cell by cell."""
    places = _distinct(place for *_, place in rulings)
    by_place: dict[float, list[tuple[float, float]]] = defaultdict(list)
    for low, high, place in rulings:
        by_place[places[bisect_right(places, place) - 1]].append((low, high))
    merged = []
    for place, pieces in by_place.items():
        low, high = min(pieces)
        for start, stop in sorted(pieces):
            if start > high + TOUCH:
                merged.append((low, high, place))
                low = start
                high = stop
            high = max(high, stop)
        merged.append((low, high, place))
    return merged


def _distinct(values: Iterable[float]) -> tuple[float, ...]:
    """Give the values without those that are all but the same."""
    kept: list[float] = []
    for value in sorted(values):
        if not kept or value - kept[-1] > TOUCH:
            kept.append(value)
    return tuple(kept)


def _components(
    horizontal: Sequence[Ruling], vertical: Sequence[Ruling]
) -> Iterator[tuple[list[Ruling], list[Ruling]]]:
    """Part the rulings into those that hang together."""
    left = set(vertical)
    across_left = set(horizontal)
    while across_left:
        across = [across_left.pop()]
        down: list[Ruling] = []
        for ruling in across:  # grows while it is walked
            met = {other for other in left if _cross(ruling, other)}
            left -= met
            down += met
            further = {one for one in across_left if any(_cross(one, other) for other in met)}
            across_left -= further
            across += further
        yield sorted(across), sorted(down)


def _cross(horizontal: Ruling, vertical: Ruling) -> bool:
    left, right, y = horizontal
    top, bottom, x = vertical
    return left - TOUCH <= x <= right + TOUCH and top - TOUCH <= y <= bottom + TOUCH


SAME = 3.0
"""Points within which two edges are the same."""
LOW = 0.6
"""Share of the page's height that a table must reach down to, to go on on the next page."""


def with_continued_tables(pages: Sequence[PdfPage]) -> tuple[PdfPage, ...]:
    """Mark the tables that go on from the end of the page before, and drop their repeated header.

    A table goes on where nothing but furniture stands between the two parts, both have the same
    edges and number of columns, and the first reaches far down its page.

    Args:
        pages: without running headers and footers.

    Returns:
        The pages; the parts of a table are numbered from 1, and all have the same columns, those
        in which any part has text.
    """
    done = list(pages)
    chain: list[int] = []
    for number, page in enumerate(done):
        if chain and _goes_on(done[chain[-1]], page):
            chain.append(number)
        else:
            _align(done, chain)
            chain = [number]
        if len(page.lines) > 1:  # what ends this page is not what began it
            _align(done, chain)
            chain = [number]
    _align(done, chain)
    return tuple(done)


def _goes_on(before: PdfPage, page: PdfPage) -> bool:
    if not before.lines or not page.lines:
        return False
    above, below = before.lines[-1], page.lines[0]
    if not (above.cells and below.cells and len(above.cells[0]) == len(below.cells[0])):
        return False
    edges = abs(above.left - below.left) <= SAME and abs(above.right - below.right) <= SAME
    return edges and above.bottom >= LOW * before.height


def _align(pages: list[PdfPage], chain: Sequence[int]) -> None:
    """Give all parts of a table the same columns, and its header to the first alone."""
    if len(chain) < 2:  # noqa: PLR2004 - a table on one page
        return
    places = [len(pages[chain[0]].lines) - 1, *(0 for _ in chain[1:])]
    parts = [pages[number].lines[at] for number, at in zip(chain, places, strict=True)]
    used = sorted(
        {at for part in parts for row in part.cells for at, cell in enumerate(row) if cell}
    )
    head = parts[0].cells[0]
    for count, (number, at, part) in enumerate(zip(chain, places, parts, strict=True), start=1):
        body = part.cells[1:] if count > 1 and part.cells[0] == head else part.cells
        cells = tuple(tuple(row[column] for column in used) for row in body)
        pages[number] = _with_line(pages[number], at, replace(part, cells=cells, part=count))


def _with_line(page: PdfPage, at: int, line: Line) -> PdfPage:
    return replace(page, lines=(*page.lines[:at], line, *page.lines[at + 1 :]))
