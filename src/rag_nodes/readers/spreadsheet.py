"""Excel workbooks in, a section per sheet out, its rows in blocks as those of CSV files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import date, datetime, time
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import (
    CorruptFileError,
    EmptyFileError,
    MisnamedFileError,
    MissingExtraError,
    RagNodesError,
)
from rag_nodes.readers.base import Limits, Reading
from rag_nodes.readers.markup import plain_line
from rag_nodes.readers.tabular import Form, block_of, form_of_rows
from rag_nodes.readers.word.package import checked_archive
from rag_nodes.text.formats import Format

if TYPE_CHECKING:
    from rag_nodes.readers.inside_openpyxl import Merge, SheetCells

SAMPLE_ROWS = 500
"""Rows from the start of a sheet from which its header is found."""
DIGITS = 15
"""Significant digits of a number, as many as Excel shows."""
_RESAVE = "open it in Excel or LibreOffice and save it again as XLSX"


def read_spreadsheet(path: Path, limits: Limits) -> Reading:
    """Read a workbook (XLSX, XLSM) as Markdown: a heading per sheet, then a block per row.

    Values are those that the file holds: of a formula the result that was saved with it. A value
    that is merged over several rows stands in each of them. Numbers have no format, dates are ISO
    8601. Lines above the header of a sheet are left out as in CSV files, and so are hidden sheets,
    charts, comments, images and macros; `warnings` names such lines and hidden sheets, and counts
    formulas without a saved result.

    Raises:
        EncryptedFileError: the workbook asks for a password.
        MisnamedFileError: the content is no workbook, or one in the binary format XLSB.
        CorruptFileError: the workbook is damaged.
        FileTooLargeError: it unpacks as ZIP bombs do, or holds more characters than the limit.
        EmptyFileError: no visible sheet holds a value.
        MissingExtraError: openpyxl is not installed.
    """
    with checked_archive(path, "an Excel workbook (XLSX)") as archive:
        names = archive.namelist()
    try:
        from openpyxl import load_workbook

        from rag_nodes.readers.inside_openpyxl import cells_of
    except ImportError as error:
        raise MissingExtraError("openpyxl", "xlsx") from error
    if "xl/workbook.bin" in names:
        raise MisnamedFileError(path, "the workbook is in the binary format XLSB", _RESAVE)
    if not any(name.startswith("xl/") for name in names):
        raise MisnamedFileError(path, "the content is not an Excel workbook")

    def read_cells(sheet: Any) -> SheetCells:
        return cells_of(sheet, lambda count: limits.check(path, count, "characters"))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and extensions that hold no text
            with closing(
                load_workbook(path, read_only=True, data_only=True, keep_links=False)
            ) as book:
                return _reading(path, book, read_cells, limits)
    except (RagNodesError, MemoryError):
        raise
    except Exception as error:  # a damaged workbook raises whatever openpyxl meets
        reason = str(error) or type(error).__name__
        raise CorruptFileError(path, f"the workbook is damaged: {reason}", _RESAVE) from error


def _reading(
    path: Path, book: Any, read_cells: Callable[[Any], SheetCells], limits: Limits
) -> Reading:
    sections: list[str] = []
    above: list[str] = []
    left_out: list[str] = []
    size = uncalculated = 0
    hidden = [sheet.title for sheet in book.worksheets if sheet.sheet_state != "visible"]
    for sheet in book.worksheets:
        if sheet.title in hidden:
            continue
        cells = read_cells(sheet)
        uncalculated += cells.uncalculated
        rows = _rows(cells)
        sample = [*islice(rows, SAMPLE_ROWS)]
        form = form_of_rows(sample)
        above += form.above
        left_out += (f"sheet {sheet.title}: {warning}" for warning in form.left_out())
        data = chain(sample[form.rows_before_data :], rows)
        for block in _section(sheet.title, form, data) if sample else ():
            sections.append(block)
            size += len(block) + 2
            limits.check(path, size, "characters")
    remarks = (*left_out, *_warnings(hidden, uncalculated))
    if not sections:
        raise EmptyFileError(path, "no visible sheet holds a value", "; ".join(remarks))
    return Reading(
        text="\n\n".join(sections),
        title=book.properties.title or next(iter(above), None),
        description=book.properties.subject,
        text_format=Format.MARKDOWN,
        warnings=remarks,
    )


def _section(title: str, form: Form, rows: Iterable[list[str]]) -> Iterator[str]:
    """Yield the heading of a sheet, and a block per row."""
    yield f"# {plain_line(' '.join(title.split()))}"
    for row in rows:
        yield block_of(form, row)


def _rows(cells: SheetCells) -> Iterator[list[str]]:
    """Yield the texts of each row that holds any, by the columns that hold any in the sheet."""
    columns = sorted({column for row in cells.rows.values() for column in row})
    starts: dict[int, list[Merge]] = {}
    for merge in cells.merges:
        starts.setdefault(merge.first_row, []).append(merge)
    lasting: dict[int, tuple[Any, int]] = {}
    for number, row in sorted(cells.rows.items()):
        for merge in starts.get(number, ()):
            if merge.column in row:
                lasting[merge.column] = row[merge.column], merge.last_row
        values = {column: value for column, (value, end) in lasting.items() if number <= end}
        values |= row
        texts = [_text(values[column]) if column in values else "" for column in columns]
        if any(texts):
            yield texts


def _text(value: Any) -> str:
    """Return a value as a CSV file has it."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if isinstance(value, datetime):
        return str(value.date() if value.time() == time() else value)
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value).strip()


def _warnings(hidden: list[str], uncalculated: int) -> Iterator[str]:
    if len(hidden) == 1:
        yield f"the hidden sheet {hidden[0]} was left out: unhide it if it is to be read"
    elif hidden:
        yield (
            f"{len(hidden)} hidden sheets were left out, {hidden[0]} and others: unhide what "
            "is to be read"
        )
    if uncalculated:
        formulas = "1 formula has" if uncalculated == 1 else f"{uncalculated:,} formulas have"
        yield f"{formulas} no saved result: {_RESAVE}"
