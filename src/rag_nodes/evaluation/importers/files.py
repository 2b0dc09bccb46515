"""Files of questions as plain data: JSON, JSON lines, and the rows of a sheet."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import DatasetError, EmptyFileError, MissingExtraError, ReadError
from rag_nodes.evaluation.importers.formats import COLUMNS
from rag_nodes.readers.plain import decode_file
from rag_nodes.text.tokens import encodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SHEETS = (".csv", ".tsv", ".xlsx")
SUFFIXES = (".json", ".jsonl", *SHEETS)
"""Suffixes of files of questions."""
_HALF = "\\ud"
"""Start of the escape of half a surrogate pair."""
_LONGEST = 10_000_000
"""Characters of one cell: a quoted section may be long."""
_LARGEST = 100_000_000
"""Bytes that the parts of an XLSX file may unpack to."""
_MOST_ROWS = 200_000
_END = "end of the sheet"
"""A line put behind the last, which a quotation mark that nobody closed would swallow."""


def read_file(path: Path) -> Any:
    """The content of a file of one of the `SUFFIXES`.

    A sheet is a list of its rows by column, names of columns in lower case.

    Raises:
        DatasetError: it cannot be read, or is damaged.
        MissingExtraError: it is a workbook, and openpyxl is not installed.
    """
    match path.suffix.lower():
        case ".xlsx":
            return _workbook(path)
        case ".csv" | ".tsv":
            return _sheet(read_text(path), path)
        case ".jsonl":
            return [*json_lines(path)]
    return _json(read_text(path), str(path))


def read_text(path: Path) -> str:
    """The text of a file in whatever encoding; "" for one with nothing but blank space.

    Raises:
        DatasetError: it cannot be read, or is no text.
    """
    try:
        return decode_file(path)[0]
    except EmptyFileError:
        return ""
    except (OSError, ReadError) as error:
        raise DatasetError(
            f"{path} cannot be read ({error}); name a file of questions, a sheet as CSV or XLSX"
        ) from error


def json_lines(path: Path) -> Iterator[Any]:
    """The objects of a file of JSON lines; blank lines are passed over.

    Raises:
        DatasetError: it cannot be read, or a line is no JSON.
    """
    # Other characters that end a line may stand in a JSON text as they are.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield _json(line, f"{path}, line {number}")


def _json(text: str, where: str) -> Any:
    """JSON as plain data; halves of surrogate pairs, which no file can hold, become U+FFFD."""
    try:
        plain = json.loads(text)
        if _HALF in text.lower():
            plain = json.loads(encodable(json.dumps(plain, ensure_ascii=False)))
    except RecursionError:
        raise DatasetError(
            f"{where} is nested too deeply; write a flat list of questions"
        ) from None
    except ValueError as error:
        raise DatasetError(f"{where} is not valid JSON: {error}") from error
    return plain


def _sheet(text: str, path: Path) -> list[SheetRow]:
    csv.field_size_limit(_LONGEST)
    header = next((line for line in text.splitlines() if line.strip("\t;, ")), "")
    delimiter = max("\t;,", key=header.count)
    reader = csv.reader(io.StringIO(f"{text}\n{_END}", newline=""), delimiter=delimiter)
    try:
        *lines, (_, last) = enumerate(reader, start=1)
    except csv.Error as error:
        raise DatasetError(f"{path} cannot be read as a sheet: {error}") from error
    if last != [_END]:
        begin = " ".join(last[-1].split())[:40]
        raise DatasetError(
            f"{path} has a quotation mark that is not closed, before '{begin}'; close it, and "
            'write "" for one within a cell'
        )
    filled = [(number, cells) for number, cells in lines if any(map(_cell, cells))]
    width = len(filled[0][1]) if filled else 0
    for number, cells in filled:
        count = max(at for at, cell in enumerate(cells, start=1) if _cell(cell))
        if count > width:
            raise DatasetError(
                f"{path}: row {number} has {count} cells, the header {width}: put a quote with a "
                f"{'comma' if delimiter == ',' else 'semicolon or tab'} in quotation marks"
            )
    return _by_column(filled)


def _workbook(path: Path) -> list[SheetRow]:
    """The rows of the first sheet with a column of questions, else of the first that has any."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise MissingExtraError("openpyxl", "evaluate") from error
    try:
        with zipfile.ZipFile(path) as parts:
            unpacked = sum(member.file_size for member in parts.infolist())
        if unpacked <= _LARGEST:
            with closing(load_workbook(path, read_only=True, data_only=True)) as book:
                first: list[SheetRow] = []
                for sheet in book.worksheets:
                    lines = islice(sheet.iter_rows(values_only=True), _MOST_ROWS)
                    rows = _by_column(enumerate(lines, start=1), sheet.title)
                    if rows and not rows[0].keys().isdisjoint(COLUMNS["question"]):
                        return rows
                    first = first or rows
                return first
    except Exception as error:  # a damaged workbook raises whatever it meets
        raise DatasetError(f"{path} cannot be read ({error}); save the sheet as CSV") from error
    raise DatasetError(f"{path} unpacks to over 100 MB; save the sheet as CSV")


class SheetRow(dict[str, str]):
    """Cells of a row of a sheet by column, its row number there, from 1, and the sheet's name."""

    number: int = 0
    sheet: str = ""


def _by_column(lines: Iterable[tuple[int, Iterable[Any]]], sheet: str = "") -> list[SheetRow]:
    """Rows by the names in the first line that has any; of columns of one name the first cell."""
    filled = ((at, cells) for at, line in lines if any(cells := [_cell(cell) for cell in line]))
    header = [name.lower() for name in next(filled, (0, []))[1]]
    rows = []
    for number, line in filled:
        row = SheetRow()
        row.number, row.sheet = number, sheet
        for name, cell in zip(header, line, strict=False):
            if name:
                row[name] = row.get(name) or cell
        rows.append(row)
    return rows


def _cell(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()
