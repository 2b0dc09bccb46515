"""CSV and TSV files in, one block of `column: value` lines per row out.

A row is a paragraph, so parsers keep it together and every chunk says what its values mean. The
file is one document: rows of a table are looked for together, and a document per row would make
the page, the neighbours and the re-ingest of a file meaningless. Only the text that comes out is
held in memory; rows are read from the file one by one.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, TextIO

from rag_nodes.errors import EmptyFileError, FileTooLargeError
from rag_nodes.readers.base import Limits, Reading
from rag_nodes.readers.escape import plain_line
from rag_nodes.readers.plain import open_text
from rag_nodes.readers.tabular.form import Form, form_of, is_blank
from rag_nodes.text.formats import Format

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SAMPLE = 64 * 1024
"""Characters from the start of the file that delimiter and header are told by."""
LONG_CELL = 131_072
"""Characters of a cell above which a quote was probably never closed; csv's own limit."""
_LARGEST_LIMIT = 2**31 - 1


def read_tabular(path: Path, limits: Limits) -> Reading:
    """Read a table; delimiter (`,` `;` `|` or tab) and header row are found out from its start.

    Cells without text are left out. A line break inside a cell stays, its lines indented; blank
    lines inside a cell go, as they would tear the row apart. Without a header the columns are
    `column 1`, `column 2` and so on, as are columns the header has no name for.

    Args:
        path: an existing file.
        limits: `characters` is checked while rows are read.

    Returns:
        The rows as text; `warnings` tells of guessed encodings, rows whose cells do not match
        the columns, and cells so long that a quote seems to be missing.

    Raises:
        EmptyFileError: nothing but blank cells.
        MisnamedFileError: the bytes are not text.
        FileTooLargeError: over `limits.characters`.
    """
    _allow_cells_of(limits.characters)
    handle, warnings = open_text(path)
    with handle:
        form = form_of(handle.read(SAMPLE), complete=not handle.read(1))
        handle.seek(0)
        table = _Table(form)
        text = _joined(path, table.blocks(_rows(handle, form, path)), limits)
    if not text:
        raise EmptyFileError(path, "no cell of the table holds anything")
    return Reading(text=text, text_format=Format.MARKDOWN, warnings=(*warnings, *table.warnings()))


def _allow_cells_of(characters: int) -> None:
    """Raise the csv module's limit, never lower it: it is one for the whole process."""
    csv.field_size_limit(max(csv.field_size_limit(), min(characters, _LARGEST_LIMIT)))


def _rows(handle: TextIO, form: Form, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of data with the line at which each ends."""
    reader = csv.reader(handle, delimiter=form.delimiter, skipinitialspace=True)
    skipped = form.rows_before_data
    try:
        for row in reader:
            if skipped:
                skipped -= not is_blank(row)
            else:
                yield reader.line_num, row
    except csv.Error as error:  # without strict mode, only for a cell over the limit
        raise FileTooLargeError(path, f"line {reader.line_num}: {error}") from error


def _joined(path: Path, blocks: Iterator[str], limits: Limits) -> str:
    text = io.StringIO()
    size = 0
    for block in blocks:
        size += text.write(f"\n\n{block}" if size else block)
        limits.check_characters(path, size)
    return text.getvalue()


class _Table:
    """Rows in, blocks out, with a count of what was odd."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._ragged: list[int] = []
        self._long: list[int] = []

    def blocks(self, rows: Iterator[tuple[int, list[str]]]) -> Iterator[str]:
        for line, row in rows:
            self._check(line, row)
            named = zip(map(self._form.name, range(len(row))), row, strict=True)
            if block := "\n".join(_entry(name, cell) for name, cell in named if cell.strip()):
                yield block

    def warnings(self) -> Iterator[str]:
        if self._ragged:
            yield (
                f"{len(self._ragged)} rows have more or fewer cells than there are columns "
                f"(the first ends in line {self._ragged[0]})"
            )
        if self._long:
            yield (
                f"{len(self._long)} cells hold over {LONG_CELL:,} characters (the first ends in "
                f"line {self._long[0]}); a closing quote may be missing"
            )

    def _check(self, line: int, row: list[str]) -> None:
        if not is_blank(row) and len(row) != self._form.width:
            self._ragged.append(line)
        if any(len(cell) > LONG_CELL for cell in row):
            self._long.append(line)


def _entry(name: str, cell: str) -> str:
    """`name: value`; further lines of the value are indented so that none looks like an entry."""
    first, *rest = (line for line in cell.splitlines() if line.strip())
    lines = [plain_line(f"{name}: {first.strip()}"), *(f"  {plain_line(line)}" for line in rest)]
    return "\n".join(lines)
