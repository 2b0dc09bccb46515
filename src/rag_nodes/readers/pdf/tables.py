"""Grids of borders in, tables out; and tables that run over page breaks."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.grids import RulingsByPlace, distinct
from rag_nodes.readers.pdf.nearby import ByHeight, middle_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rag_nodes.readers.pdf.engines.protocol import Word
    from rag_nodes.readers.pdf.grids import Grid
    from rag_nodes.readers.pdf.layout import Line, PdfPage

Cell = tuple[int, int]
"""Row and column of a grid."""
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
    if not grids:
        return tuple(lines)
    by_height = ByHeight(middle_of(word)[1] for word in words)
    levels = distinct(by_height.heights)
    page = _Lines(lines)
    for number, grid in enumerate(grids):
        opened = grid.with_open_sides()
        near = [words[at] for at in by_height.between(opened.rows[0], opened.rows[-1])]
        for candidate in _readings(grid, opened, near, levels):
            cells = _cells(candidate, near, clean)
            if cells:
                page.put_table(candidate, cells, -1 - number)
                break
    return page.lines()


def _readings(
    grid: Grid, opened: Grid, words: Sequence[Word], levels: Sequence[float]
) -> Iterator[Grid]:
    """Yield grids that may be the table: with its open sides, else as it is drawn."""
    if grid.is_whole:
        yield opened
        yield grid
    elif not _has_rows_without_rulings(opened, words, levels):
        yield opened


def _has_rows_without_rulings(grid: Grid, words: Sequence[Word], levels: Sequence[float]) -> bool:
    """Return True if most lines of text stand in rows with nothing drawn between them."""
    lines: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for word in words:
        x, y = middle_of(word)
        place = grid.place(x, y)
        if place is not None:
            lines[place[0]].add((place[1], bisect_right(levels, y)))
    total = beside = 0
    for cells in lines.values():
        columns, heights = {column for column, _ in cells}, {height for _, height in cells}
        total += len(heights)
        if len(heights) > 1 and len(cells) >= FULL * len(columns) * len(heights):
            beside += len(heights)
    return 2 * beside > total


class _Lines:
    """The lines of a page, some of which tables replace."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines: list[Line | None] = list(lines)
        self._by_height = ByHeight((line.top + line.bottom) / 2 for line in lines)
        self._tables: set[int] = set()

    def lines(self) -> tuple[Line, ...]:
        return tuple(line for line in self._lines if line is not None)

    def put_table(self, grid: Grid, cells: tuple[tuple[str, ...], ...], block: int) -> None:
        """Put a table in the place of the first of the lines in its grid, and drop the others."""
        near = {*self._by_height.between(grid.rows[0], grid.rows[-1]), *self._tables}
        inside = [number for number in sorted(near) if _is_in(self._lines[number], grid)]
        if not inside:
            return
        first, *replaced = inside
        line = self._lines[first]
        for number in replaced:
            self._lines[number] = None
        self._tables.add(first)
        box = grid.columns[0], grid.rows[0], grid.columns[-1], grid.rows[-1]
        self._lines[first] = line and line.as_table(box, cells, block)


def _is_in(line: Line | None, grid: Grid) -> bool:
    if line is None:
        return False
    return grid.place((line.left + line.right) / 2, (line.top + line.bottom) / 2) is not None


def _cells(
    grid: Grid, words: Sequence[Word], clean: Callable[[str], str]
) -> tuple[tuple[str, ...], ...] | None:
    """Return the text of each cell, lines parted by line ends; None if this is no table."""
    anchors = _anchors(grid)
    if anchors is None:
        return None
    cells: dict[tuple[int, int], dict[tuple[int, int], list[str]]] = defaultdict(dict)
    for word in words:
        place = grid.place(*middle_of(word))
        if place is not None:
            *_, text, block, line = word
            cells[anchors[place]].setdefault((block, line), []).append(text)
    texts = {
        place: "\n".join(filter(None, (clean(" ".join(parts)) for parts in rows.values())))
        for place, rows in cells.items()
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


def _anchors(grid: Grid) -> dict[Cell, Cell] | None:
    """Return the first cell of those that each is joined with; None if rulings are missing."""
    cells = _JoinedCells()
    borders = open_borders = 0
    for cell, other, is_ruled in _borders(grid):
        borders += 1
        if not is_ruled:
            open_borders += 1
            cells.join(cell, other)
    if borders - open_borders < RULED * borders:
        return None
    rows, columns = range(len(grid.rows) - 1), range(len(grid.columns) - 1)
    return {(row, column): cells.first((row, column)) for row in rows for column in columns}


class _JoinedCells:
    """Sets of joined cells, as a forest whose roots are the first cells."""

    def __init__(self) -> None:
        self._above: dict[Cell, Cell] = {}

    def join(self, cell: Cell, other: Cell) -> None:
        low, high = sorted((self.first(cell), self.first(other)))
        if low != high:
            self._above[high] = low

    def first(self, cell: Cell) -> Cell:
        above = self._above
        while cell in above:
            above[cell] = above.get(above[cell], above[cell])  # halves the way for the next time
            cell = above[cell]
        return cell


def _borders(grid: Grid) -> Iterator[tuple[Cell, Cell, bool]]:
    """Yield two neighbouring cells and whether there is a line between them."""
    vertical, horizontal = RulingsByPlace(grid.vertical), RulingsByPlace(grid.horizontal)
    left_of = [vertical.at(x) for x in grid.columns]
    above = [horizontal.at(y) for y in grid.rows]
    for row, (top, bottom) in enumerate(pairwise(grid.rows)):
        for column, (left, right) in enumerate(pairwise(grid.columns)):
            if column:
                is_ruled = left_of[column].covers((top + bottom) / 2)
                yield (row, column - 1), (row, column), is_ruled
            if row:
                is_ruled = above[row].covers((left + right) / 2)
                yield (row - 1, column), (row, column), is_ruled


SAME = 3.0
"""Points within which two edges are the same."""
LOW = 0.6
"""Share of the page's height that a table must reach down to, to go on on the next page."""


def with_continued_tables(pages: Sequence[PdfPage]) -> tuple[PdfPage, ...]:
    """Mark the tables that go on from the end of the page before, and drop their repeated header.

    A table goes on if nothing but headers and footers stands between the two parts, both have the
    same edges and number of columns, and the first reaches far down its page. Parts are numbered
    from 1, and all have the same columns, those in which any part has text.
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
