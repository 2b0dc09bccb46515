"""The rows of a sheet, CSV, TSV or XLSX, by the names of its columns."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import DatasetError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_MARK = re.compile("sep=.?", re.IGNORECASE)
"""A first line by which some programs name the delimiter."""
_LONGEST = 10_000_000
"""Characters of one cell: a quoted section may be long."""
_LARGEST = 100_000_000
"""Bytes that the parts of an XLSX file may unpack to."""
_MOST_ROWS = 200_000
_END = "end of the sheet"
"""A line put behind the last, which a quotation mark that nobody closed would swallow."""


def rows_of_text(text: str, path: Path) -> list[dict[str, str]]:
    """The rows of CSV or TSV by column, names of columns in lower case.

    Raises:
        DatasetError: a row is damaged.
    """
    csv.field_size_limit(_LONGEST)
    first, _, rest = text.partition("\n")
    if _MARK.fullmatch(first.strip()):
        text = rest
    header = next((line for line in text.splitlines() if line.strip("\t;, ")), "")
    delimiter = max("\t;,", key=header.count)
    try:
        whole = io.StringIO(f"{text}\n{_END}", newline="")
        *lines, last = csv.reader(whole, delimiter=delimiter)
    except csv.Error as error:
        raise DatasetError(f"{path} cannot be read as a sheet: {error}") from error
    if last != [_END]:
        begin = " ".join(last[-1].split())[:40]
        raise DatasetError(
            f"{path} has a quotation mark that is not closed, before {begin!r}; close it, and "
            'write "" for one within a cell'
        )
    return _by_column(lines)


def rows_of_workbook(path: Path) -> list[dict[str, str]]:
    """The rows of the first sheet of an XLSX file that has any.

    Raises:
        DatasetError: it cannot be read, or unpacks to more than memory should hold.
        MissingExtraError: openpyxl is not installed.
    """
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise MissingExtraError("openpyxl", "evaluate") from error
    try:
        with zipfile.ZipFile(path) as parts:
            unpacked = sum(one.file_size for one in parts.infolist())
        if unpacked <= _LARGEST:
            book = load_workbook(path, read_only=True, data_only=True)
            with closing(book):
                for sheet in book.worksheets:
                    lines = islice(sheet.iter_rows(values_only=True), _MOST_ROWS)
                    if rows := _by_column([_cell(one) for one in line] for line in lines):
                        return rows
            return []
    except Exception as error:  # a damaged workbook raises whatever it meets
        raise DatasetError(f"{path} cannot be read ({error}); save the sheet as CSV") from error
    raise DatasetError(f"{path} unpacks to over 100 MB; save the sheet as CSV")


def _by_column(lines: Iterable[list[str]]) -> list[dict[str, str]]:
    """Rows by the names in the first line that has any; of columns of one name the first cell."""
    stripped = ([cell.strip() for cell in line] for line in lines)
    filled = (line for line in stripped if any(line))
    header = [name.lower() for name in next(filled, [])]
    rows = []
    for line in filled:
        row: dict[str, str] = {}
        for name, cell in zip(header, line, strict=False):
            if name:
                row[name] = row.get(name) or cell
        rows.append(row)
    return rows


def _cell(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value)
