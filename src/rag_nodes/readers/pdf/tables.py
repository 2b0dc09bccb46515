"""Grids of borders in, tables out; and tables that run over page breaks."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.grids import TOUCH, distinct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rag_nodes.readers.pdf.grids import Grid, Ruling
    from rag_nodes.readers.pdf.layout import Line, PdfPage

Word = tuple[float, float, float, float, str, int, int]
"""Left, top, right, bottom, text, block, line."""
RULED = 0.7
"""Share of the borders between cells that must be drawn; the others join cells to one."""
FILLED = 0.3
"""Share of the cells that must hold text; forms to be filled in and charts have fewer."""
FULL = 0.8
"""Share of the lines of a cell that must have one beside them in all cells of its row, from which
they are rows of their own."""
LONGEST_CELL = 800
"""Characters above which a cell is a frame around running text."""


def with_tables(
    lines: Sequence[Line], grids: Sequence[Grid], words: Sequence[Word], clean: Callable[[str], str]
) -> tuple[Line, ...]:
    """Put one line with `cells` in the place of the lines in each grid that is a table.

    The text of lines is what `clean` leaves of it.
    """
    for number, grid in enumerate(grids):
        for tried in _readings(grid, words):
            cells = _cells(tried, words, clean)
            if cells:
                lines = _with_table(lines, tried, cells, -1 - number)
                break
    return tuple(lines)


def _readings(grid: Grid, words: Sequence[Word]) -> Iterator[Grid]:
    """Yield what may be the table: with its open sides, else what is drawn."""
    opened = grid.with_open_sides()
    if grid.is_whole:
        yield opened
        yield grid
    elif not _has_rows_without_rulings(opened, words):
        yield opened


def _has_rows_without_rulings(grid: Grid, words: Sequence[Word]) -> bool:
    """Whether most lines of text stand side by side in rows with nothing drawn between them."""
    middles = [((word[0] + word[2]) / 2, (word[1] + word[3]) / 2) for word in words]
    levels = distinct(y for _, y in middles)
    lines: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for x, y in middles:
        place = grid.place(x, y)
        if place is not None:
            lines[place[0]].add((place[1], bisect_right(levels, y)))
    total = beside = 0
    for found in lines.values():
        columns, heights = {column for column, _ in found}, {height for _, height in found}
        total += len(heights)
        if len(heights) > 1 and len(found) >= FULL * len(columns) * len(heights):
            beside += len(heights)
    return 2 * beside > total


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


SAME = 3.0
"""Points within which two edges are the same."""
LOW = 0.6
"""Share of the page's height that a table must reach down to, to go on on the next page."""


def with_continued_tables(pages: Sequence[PdfPage]) -> tuple[PdfPage, ...]:
    """Mark the tables that go on from the end of the page before, and drop their repeated header.

    A table goes on where nothing but furniture stands between the two parts, both have the same
    edges and number of columns, and the first reaches far down its page. Parts are numbered from 1,
    and all have the same columns, those in which any part has text.
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
