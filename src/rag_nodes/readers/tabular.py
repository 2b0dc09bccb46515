"""CSV and TSV files in, one block of `column: value` lines per row out.

A row is a paragraph, so parsers keep it together and every chunk says what its values mean. The
file is one document: rows of a table are looked for together, and a document per row would make
the page, the neighbours and the re-ingest of a file meaningless. Only the text that comes out is
held in memory; rows are read from the file one by one.

`csv.Sniffer` gives up on tables of one column, so the form of a table is found out as a person
would: which delimiter gives rows of equal length, and whether the first row reads like names.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TextIO

from rag_nodes.core.errors import EmptyFileError, FileTooLargeError
from rag_nodes.readers.base import Limits, Reading
from rag_nodes.readers.markup import plain_line
from rag_nodes.readers.plain import open_text
from rag_nodes.text.formats import Format

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SAMPLE = 64 * 1024
"""Characters from the start of the file from which delimiter and header are found."""
LONG_CELL = 131_072
"""Characters, csv's own limit, above which a cell with line breaks probably lacks a quote."""
QUOTED = 200
"""Characters of what was left out that a warning repeats."""
_LARGEST_LIMIT = 2**31 - 1
"""Largest field size, in characters, that csv takes on every platform."""


def read_tabular(path: Path, limits: Limits) -> Reading:
    """Read a table; delimiter (`,` `;` `|` or tab) and header row are found out from its start.

    Cells without text are left out. A line break inside a cell stays, its lines indented; blank
    lines inside a cell go, as they would tear the row apart. Without a header the columns are
    `column 1`, `column 2` and so on, as are columns the header has no name for.

    Lines above the header, such as the name of a report, are left out; the first one is the title.
    Quotes inside of quotes may be doubled or follow a backslash.

    The limit of characters is checked while rows are read; `warnings` tells of guessed encodings,
    lines that were left out, rows whose cells do not match the columns, and cells so long that a
    quote seems to be missing.
    """
    _allow_cells_of(limits.characters)
    handle, warnings = open_text(path, limits.encoding_of(path))
    with handle:
        form = form_of(handle.read(SAMPLE), complete=not (more := handle.read(1)))
        if more and not form.has_backslashes and _has_backslashes(handle, form.delimiter):
            form = replace(form, has_backslashes=True)
        handle.seek(0)
        table = _Table(form)
        text = _joined(path, table.blocks(_rows(handle, form, path)), limits)
    if not text:
        raise EmptyFileError(path, "no cell of the table holds anything")
    return Reading(
        text=text,
        text_format=Format.MARKDOWN,
        title=form.above[0] if form.above else None,
        warnings=(*warnings, *table.warnings()),
    )


def _allow_cells_of(characters: int) -> None:
    """Raise the csv module's limit, never lower it: it is one for the whole process."""
    csv.field_size_limit(max(csv.field_size_limit(), min(characters, _LARGEST_LIMIT)))


def _rows(handle: TextIO, form: Form, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of data with the line at which each ends."""
    reader = _reader(handle, form.delimiter, has_backslashes=form.has_backslashes)
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
        limits.check(path, size, "characters")
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
            if block := block_of(self._form, row):
                yield block

    def warnings(self) -> Iterator[str]:
        yield from self._form.left_out()
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
        if any(len(cell) > LONG_CELL and "\n" in cell for cell in row):
            self._long.append(line)


def block_of(form: Form, row: list[str]) -> str:
    """Return a row as a block of `column: value` lines; "" for a row without values."""
    named = zip(map(form.name, range(len(row))), row, strict=True)
    return "\n".join(_entry(name, cell) for name, cell in named if cell.strip())


def _entry(name: str, cell: str) -> str:
    """`name: value`; further lines of the value are indented so that none looks like an entry."""
    first, *rest = (line for line in cell.splitlines() if line.strip())
    lines = [plain_line(f"{name}: {first.strip()}"), *(f"  {plain_line(line)}" for line in rest)]
    return "\n".join(lines)


DELIMITERS = "\t;|,"
"""In order of trust: a comma is in running text and decimal numbers, a tab hardly ever."""
NO_DELIMITER = "\x1f"
"""Delimiter of a table of one column, in which commas are text."""
MIN_ROWS = 2
"""Rows that are needed to tell a header from data."""
MOST_ABOVE = 20
"""Rows among which the header is looked for."""
NAME_LENGTH = 100
"""Characters above which a cell is not the name of a column."""

_BACKSLASHED = re.compile(r'(?<!\\)((?:\\\\)*)\\"')
"""A quote behind a backslash that is not escaped itself."""
_DECLARED = re.compile(r'"?sep=([^\w\s"]|\t)"?[ \t]*(?:\r?\n|\r|\Z)', re.IGNORECASE)
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_TIME_LETTERS = str.maketrans("", "", "TZtz")


@dataclass(frozen=True, slots=True)
class Form:
    """Form in which a table is written.

    Attributes:
        delimiter: what stands between two cells.
        names: a name for each column of the header row; none without such a row.
        width: number of columns.
        rows_before_data: rows up to the header, blank ones not counted.
        above: text of the rows above the header, which are no part of the table.
        has_backslashes: a quote inside of quotes follows a backslash.
    """

    delimiter: str
    names: tuple[str, ...]
    width: int
    rows_before_data: int
    above: tuple[str, ...] = ()
    has_backslashes: bool = False

    def name(self, column: int) -> str:
        """Return the name of a column, counted from 0; else its number, counted from 1."""
        return self.names[column] if column < len(self.names) else f"column {column + 1}"

    def left_out(self) -> Iterator[str]:
        """Yield a warning if there are rows above the header."""
        if self.above:
            lines = "1 line" if len(self.above) == 1 else f"{len(self.above)} lines"
            yield f"{lines} above the header left out: {' | '.join(self.above)[:QUOTED]}"


def form_of(sample: str, *, complete: bool) -> Form:
    """Find out how a table is written, from the start of its file.

    Unless that is `complete`, its last row may be a part of one. A first line `sep=;` of Excel is
    believed.
    """
    if declared := _DECLARED.match(sample):
        sample = sample[declared.end() :]
    delimiter = declared.group(1) if declared else _delimiter(sample, complete=complete)
    has_backslashes = _has_backslashes(io.StringIO(sample, newline=""), delimiter)
    rows = _parsed(sample, delimiter, complete=complete, has_backslashes=has_backslashes)
    form = form_of_rows(rows, delimiter)
    before = bool(declared) + form.rows_before_data
    return replace(form, rows_before_data=before, has_backslashes=has_backslashes)


def form_of_rows(rows: list[list[str]], delimiter: str = NO_DELIMITER) -> Form:
    """Find the row that names the columns, from rows that are not blank."""
    above = _rows_above(rows)
    header = rows[above] if _is_header(rows[above:]) else []
    return Form(
        delimiter=delimiter,
        names=_unique(header),
        width=len(header) or _usual_width(rows)[0],
        rows_before_data=above + bool(header),
        above=tuple(" ".join(" ".join(row).split()) for row in rows[:above]),
    )


def is_blank(row: list[str]) -> bool:
    """Return True if no cell of the row holds anything."""
    return not any(cell.strip() for cell in row)


def _reader(
    lines: Iterable[str], delimiter: str, *, has_backslashes: bool, strict: bool = False
) -> Any:
    """Return the csv module's reader of rows."""
    if has_backslashes:
        lines = (_BACKSLASHED.sub(r'\1""', line) for line in lines)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=strict)


def _parsed(
    sample: str, delimiter: str, *, complete: bool, has_backslashes: bool = False
) -> list[list[str]]:
    lines = io.StringIO(sample, newline="")
    rows = list(_reader(lines, delimiter, has_backslashes=has_backslashes))
    # Of few rows the last counts although it ends early: its cell may be longer than the sample.
    whole = rows if complete or len(rows) <= MOST_ABOVE else rows[:-1]
    return [row for row in whole if not is_blank(row)]


def _has_backslashes(lines: TextIO, delimiter: str) -> bool:
    """Return True if quotes inside of quotes follow backslashes: only so the quotes pair up."""
    lines.seek(0)
    return (
        any('\\"' in line for line in lines)
        and not _is_well_formed(lines, delimiter, has_backslashes=False)
        and _is_well_formed(lines, delimiter, has_backslashes=True)
    )


def _is_well_formed(lines: TextIO, delimiter: str, *, has_backslashes: bool) -> bool:
    """Return True if no text follows a closing quote; a sample may end inside of quotes."""
    lines.seek(0)
    try:
        for _ in _reader(lines, delimiter, has_backslashes=has_backslashes, strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)
    return True


def _usual_width(rows: list[list[str]]) -> tuple[int, int]:
    """Return the number of cells that most rows have, and of how many rows.

    If several are as frequent, a table stands below other lines.
    """
    if not rows:
        return 0, 0
    (width, count), *others = Counter(map(len, rows)).most_common()
    for other, times in others:
        if times == count > 1 and all(len(row) == other for row in rows[-count:]):
            return other, count
    return width, count


def _rows_above(rows: list[list[str]]) -> int:
    """Return the number of rows above a header: the first row that has most of the columns.

    The first row above it fills less than half of the columns; others may fill more, if they have
    another number of cells. 0 if it does not read like a header.
    """
    width, _ = _usual_width(rows)
    for number, row in enumerate(rows[:MOST_ABOVE]):
        filled = sum(bool(cell.strip()) for cell in row)
        if 2 * filled > width and (len(row) == width or not number):
            is_header = len(row) == width > 1 and _is_header(rows[number:])
            return number if is_header else 0
    return 0


def _delimiter(sample: str, *, complete: bool) -> str:
    """Return the delimiter by which most rows have the same number of cells, more than one."""
    best, agreement = NO_DELIMITER, 0.0
    for delimiter in DELIMITERS:
        rows = _parsed(sample, delimiter, complete=complete)
        if not rows:
            return delimiter  # the table is made of nothing but these
        width, count = _usual_width(rows)
        if width > 1 and count / len(rows) > agreement:
            best, agreement = delimiter, count / len(rows)
    return best


def _is_header(rows: list[list[str]]) -> bool:
    """Return True if the first row names columns: short texts that are no data themselves."""
    if len(rows) < MIN_ROWS:
        return False
    first, *below = rows
    cells = {column: cell.strip() for column, cell in enumerate(first) if cell.strip()}
    return len(cells) * 2 >= len(first) and all(
        _is_name(cell, [row[column].strip() for row in below if column < len(row)])
        for column, cell in cells.items()
    )


def _is_name(cell: str, below: list[str]) -> bool:
    if len(cell) > NAME_LENGTH or cell in below:
        return False
    if _YEAR.fullmatch(cell):  # a column per year
        return not all(_YEAR.fullmatch(value) for value in below)
    return not _is_value(cell)


def _is_value(cell: str) -> bool:
    """Return True if a cell is a number, a date, a price or the like."""
    return any(character.isdigit() for character in cell) and not any(
        character.isalpha() for character in cell.translate(_TIME_LETTERS)
    )


def _unique(header: list[str]) -> tuple[str, ...]:
    """Return names on one line; blank names are numbered, and so are repeated names."""
    names: list[str] = []
    seen: Counter[str] = Counter()
    for number, cell in enumerate(header, start=1):
        name = " ".join(cell.split()) or f"column {number}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(names)
