"""Rows of a worksheet with what openpyxl's read-only mode drops: merged cells, empty formulas.

`openpyxl.worksheet._reader` parses a worksheet row by row for the read-only mode too, which then
pads each row to the width and height that the file states, however large these are.
"""
# ruff: noqa: SLF001 -- the inside of openpyxl is what this module is about

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openpyxl.utils.escape import unescape
from openpyxl.worksheet._reader import FORMULA_TAG, VALUE_TAG, WorkSheetParser

if TYPE_CHECKING:
    from collections.abc import Callable


class Merge(NamedTuple):
    """A merged range: its first column, and its first and last row, counted from 1."""

    column: int
    first_row: int
    last_row: int


class SheetCells(NamedTuple):
    """Cells of a worksheet that hold something.

    Attributes:
        rows: values by column, by number of the row; both are counted from 1.
        merges: merged ranges, in which only the first cell has the value.
        uncalculated: number of formulas whose value the file does not hold.
    """

    rows: dict[int, dict[int, Any]]
    merges: list[Merge]
    uncalculated: int


class _Parser(WorkSheetParser):  # type: ignore[misc]
    uncalculated = 0

    def parse_cell(self, element: Any) -> dict[str, Any]:
        cell: dict[str, Any] = super().parse_cell(element)
        if cell["value"] is None and element.find(FORMULA_TAG) is not None:
            is_empty_text = element.get("t") == "str" and element.find(VALUE_TAG) is not None
            self.uncalculated += not is_empty_text
        elif isinstance(cell["value"], str) and "_x" in cell["value"]:
            cell["value"] = unescape(cell["value"])  # `_x000D_` for a carriage return
        return cell


def cells_of(sheet: Any, check: Callable[[int], None]) -> SheetCells:
    """Read the cells of a worksheet of a workbook that was opened read-only.

    Args:
        sheet: an openpyxl `ReadOnlyWorksheet`.
        check: is called with the number of cells so far, and raises if these are too many.
    """
    book = sheet.parent
    rows: dict[int, dict[int, Any]] = {}
    count = 0
    with sheet._get_source() as source:
        parser = _Parser(
            source,
            sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )
        for number, cells in parser.parse():
            if row := {
                cell["column"]: cell["value"] for cell in cells if cell["value"] is not None
            }:
                rows[number] = row
                count += len(row)
                check(count)
    merged = parser.merged_cells.mergeCell if parser.merged_cells else ()
    merges = [Merge(area.min_col, area.min_row, area.max_row) for area in merged]
    return SheetCells(rows, merges, parser.uncalculated)
