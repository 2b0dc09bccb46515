"""The first rows of a table in, its delimiter and the names of its columns out.

`csv.Sniffer` gives up on tables of one column, so we look at what
a person would look at: which delimiter gives rows of equal length, and whether the first row
reads like names.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass

DELIMITERS = "\t;|,"
"""In order of trust: a comma is in running text and decimal numbers, a tab hardly ever."""
NO_DELIMITER = "\x1f"
"""Delimiter of a table of one column, in which commas are text."""
NAME_LENGTH = 100
"""Characters above which a cell is not the name of a column."""

_DECLARED = re.compile(r'"?sep=([^\w\s"]|\t)"?[ \t]*(?:\r?\n|\r|\Z)', re.IGNORECASE)
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_TIME_LETTERS = str.maketrans("", "", "TZtz")


@dataclass(frozen=True, slots=True)
class Form:
    """How a table is written.

    Attributes:
        delimiter: what parts the cells.
        names: names of the columns, each used once; empty where there is no header row.
        width: cells of an ordinary row.
        rows_before_data: rows that are not blank before the first row of data.
    """

    delimiter: str
    names: tuple[str, ...]
    width: int
    rows_before_data: int

    def name(self, column: int) -> str:
        """Name of a column, counted from 0; columns without one are numbered from 1."""
        return self.names[column] if column < len(self.names) else f"column {column + 1}"


def form_of(sample: str, *, complete: bool) -> Form:
    """Find out how a table is written.

    Args:
        sample: the start of the file.
        complete: the sample is the whole file; otherwise its last row may be cut and is ignored.

    Returns:
        The form. A first line `sep=;`, as Excel writes it, is believed.
    """
    declared = _DECLARED.match(sample)
    if declared:
        sample = sample[declared.end() :]
    delimiter = declared.group(1) if declared else _delimiter(sample, complete=complete)
    rows = _parsed(sample, delimiter, complete=complete)
    header = rows[0] if _is_header(rows) else []
    lengths = Counter(map(len, rows))
    return Form(
        delimiter=delimiter,
        names=_unique(header),
        width=len(header) or lengths.most_common(1)[0][0] if rows else 0,
        rows_before_data=bool(declared) + bool(header),
    )


def is_blank(row: list[str]) -> bool:
    """Whether no cell of the row holds anything."""
    return not any(cell.strip() for cell in row)


def _parsed(sample: str, delimiter: str, *, complete: bool) -> list[list[str]]:
    rows = list(
        csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, skipinitialspace=True)
    )
    whole = rows if complete or len(rows) <= 1 else rows[:-1]
    return [row for row in whole if not is_blank(row)]


def _delimiter(sample: str, *, complete: bool) -> str:
    """The delimiter under which most rows have the same number of cells, and more than one."""
    best, agreement = NO_DELIMITER, 0.0
    for delimiter in DELIMITERS:
        rows = _parsed(sample, delimiter, complete=complete)
        if not rows:
            return delimiter  # the table is made of nothing but these
        ((width, count),) = Counter(map(len, rows)).most_common(1)
        if width > 1 and count / len(rows) > agreement:
            best, agreement = delimiter, count / len(rows)
    return best


def _is_header(rows: list[list[str]]) -> bool:
    """Whether the first row names columns: short texts that are no data themselves."""
    if len(rows) <= 1:
        return False
    first, *below = rows
    cells = [cell.strip() for cell in first if cell.strip()]
    if len(cells) * 2 < len(first):
        return False
    return all(
        _is_name(cell.strip(), [row[column].strip() for row in below if column < len(row)])
        for column, cell in enumerate(first)
        if cell.strip()
    )


def _is_name(cell: str, below: list[str]) -> bool:
    if len(cell) > NAME_LENGTH or cell in below:
        return False
    if _YEAR.fullmatch(cell):  # a column per year
        return not all(_YEAR.fullmatch(value) for value in below)
    return not _is_value(cell)


def _is_value(cell: str) -> bool:
    """Whether a cell is a number, a date, a price or the like."""
    return any(character.isdigit() for character in cell) and not any(
        character.isalpha() for character in cell.translate(_TIME_LETTERS)
    )


def _unique(header: list[str]) -> tuple[str, ...]:
    """Names on one line; blank ones are numbered, repeated ones are told apart by a number."""
    names: list[str] = []
    seen: Counter[str] = Counter()
    for number, cell in enumerate(header, start=1):
        name = " ".join(cell.split()) or f"column {number}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(names)
