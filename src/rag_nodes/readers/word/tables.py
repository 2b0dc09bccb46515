"""One table of a Word file in, its rows out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_nodes.readers.tables import table_cell
from rag_nodes.readers.word.names import W, inside, number_of, value_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.etree import _Element as Element

ROW: Final = W + "tr"
CELL: Final = W + "tc"
WIDEST = 63
"""Columns of a Word table, which is also what a cell can span."""
REPEATED_LENGTH = 200
"""Characters of a cell that are repeated in the rows it spans; longer ones stand in the first."""


def table_rows(table: Element, text_of: Callable[[Element], str]) -> list[list[str]]:
    """Give the rows of a table without those that a tracked change deletes.

    A cell that spans rows is repeated in each, so that a row says all it says when the table is
    cut between rows; a cell that spans columns is followed by empty ones.

    Args:
        table: a `w:tbl`.
        text_of: gives the text of a cell.
    """
    above: dict[int, str] = {}
    return [
        _row(row, text_of, above)
        for row in inside(table, ROW)
        if row.find(f"{W}trPr/{W}del") is None
    ]


def only_cell(table: Element) -> Element | None:
    """The cell of a table that has just one: a frame around text rather than a table."""
    rows = list(inside(table, ROW))
    cells = list(inside(rows[0], CELL)) if len(rows) == 1 else []
    return cells[0] if len(cells) == 1 else None


def _row(row: Element, text_of: Callable[[Element], str], above: dict[int, str]) -> list[str]:
    """Cells of a row; `above` holds by column what spans down from rows before."""
    cells = [""] * _between(number_of(row, "trPr", "gridBefore"), 0)
    for cell in inside(row, CELL):
        column = len(cells)
        text = _cell_text(cell, text_of, above, column)
        span = _between(number_of(cell, "tcPr", "gridSpan"), 1)
        cells += [text, *[""] * (span - 1)]
    return cells


def _cell_text(
    cell: Element, text_of: Callable[[Element], str], above: dict[int, str], column: int
) -> str:
    merge = cell.find(f"{W}tcPr/{W}vMerge")
    if merge is not None and value_of(cell, "tcPr", "vMerge") != "restart":
        return above.get(column, "")
    text = table_cell(text_of(cell))
    above[column] = text if merge is not None and len(text) <= REPEATED_LENGTH else ""
    return text


def _between(number: int | None, least: int) -> int:
    return least if number is None else min(max(number, least), WIDEST)
