"""Own metadata of files: keys that all files have, and rows of a CSV file by path or pattern."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.core.errors import ConfigurationError, ReadError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.own_metadata import MAX_KEYS, check_key, is_value, typed_value
from rag_nodes.readers.exclude import Exclusion, Pattern
from rag_nodes.readers.plain import decode_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_nodes.core.own_metadata import Value
    from rag_nodes.readers import ListedFile

MAX_ROWS = 200_000
"""Rows of a CSV file of metadata."""
MAX_PATTERNS = 1_000
"""Rows whose path has wildcards; each of them is compared with every file."""
MAX_FILE_BYTES = 100_000_000
"""Size of a CSV file of metadata."""
_FIRST = ("path", "pattern", "file")
"""Names that the first column may have."""
_SHOWN = 80
"""Characters of a path that a message repeats."""


class _Row(NamedTuple):
    """A row: the line it ends in, its path or pattern, and its own keys and values."""

    line: int
    path: str
    values: Mapping[str, Value]


@checks_keywords
class FileMetadata:
    """Own metadata that an ingest gives the documents of files.

    Args:
        everywhere: keys and values of all files; they win over rows of a CSV file, and both win
            over front matter.
        csv: file whose first column, `path`, holds paths below its folder, absolute paths, or
            patterns as in `.gitignore`, and whose other columns are keys. A row for a folder holds
            for all files in it; later rows win. A blank cell sets nothing, `a|b` is a list.

    Raises:
        ConfigurationError: a key is one of ours or has characters that no key may have, a value is
            no text, number or truth value or too long, or the CSV file cannot be read as a table.

    Examples:
        >>> from rag_nodes import FileMetadata
        >>> own = FileMetadata({"dept": "hr", "year": 2024})
    """

    def __init__(
        self, everywhere: Mapping[str, Value] | None = None, csv: str | Path | None = None
    ) -> None:
        self._everywhere = {check_key(k, "metadata"): v for k, v in (everywhere or {}).items()}
        for key, value in self._everywhere.items():
            if not is_value(value):
                raise ConfigurationError(
                    f"metadata: the value of '{key}' must be a text, a number, true, false, or a "
                    "list of these"
                )
        _check_count(len(self._everywhere), "metadata")
        self._csv = Path(csv) if csv is not None else None
        self._folder = self._csv.resolve().parent if self._csv else Path()
        self._rows = _rows_of(self._csv) if self._csv else []
        self._literal: dict[tuple[tuple[str, ...], bool], list[int]] = defaultdict(list)
        self._wild: list[tuple[int, Exclusion]] = []
        self._unmatched = set(range(len(self._rows)))
        for number, row in enumerate(self._rows):
            pattern = Pattern.of(row.path)
            # A file may be called "report[1].pdf", which no pattern of that text matches.
            self._literal[pattern.parts, pattern.is_anchored].append(number)
            if any(sign in row.path for sign in "*?["):
                self._wild.append((number, Exclusion(row.path)))
        if len(self._wild) > MAX_PATTERNS:
            raise ConfigurationError(
                f"{self._csv}: {len(self._wild):,} rows have patterns, and at most "
                f"{MAX_PATTERNS:,} are allowed; use paths instead"
            )

    def of(self, file: ListedFile) -> tuple[tuple[str, Value], ...]:
        """Return the own keys of a file with their values, sorted by key."""
        values: dict[str, Value] = {}
        for number in self._numbers(Path(file.place)) if self._rows else ():
            self._unmatched.discard(number)
            values |= self._rows[number].values
        return tuple(sorted((values | self._everywhere).items()))

    def is_at(self, file: ListedFile) -> bool:
        """Return True for the CSV file itself, which is no document."""
        return self._csv is not None and file.place == str(self._csv.resolve())

    def unmatched(self) -> str:
        """Return a sentence about rows that belong to none of the files so far; "" if all do."""
        if not self._unmatched:
            return ""
        row = self._rows[min(self._unmatched)]
        more = f" and {len(self._unmatched) - 1:,} more" if len(self._unmatched) > 1 else ""
        return (
            f"{self._csv}: no file of this ingest is '{row.path[:_SHOWN]}' (line {row.line})"
            f"{more}; paths are those below {self._folder}"
        )

    def _numbers(self, place: Path) -> list[int]:
        """Return the numbers of the rows that hold for a file, in their order."""
        numbers: set[int] = set()
        whole = place.parts[1:]
        inside = place.is_relative_to(self._folder)
        places = [place.relative_to(self._folder).parts] if inside else []
        for parts in [*places, whole]:
            for end in range(1, len(parts) + 1):
                numbers.update(self._literal.get((parts[:end], True), ()))
            numbers.update(
                number for number, pattern in self._wild if pattern.leaves_out_any(parts)
            )
        for parts in places or [whole[-1:]]:
            for name in parts:
                numbers.update(self._literal.get(((name,), False), ()))
        return sorted(numbers)


def _check_count(count: int, where: str) -> None:
    if count > MAX_KEYS:
        raise ConfigurationError(f"{where}: {count} keys are given; give at most {MAX_KEYS}")


def _rows_of(path: Path) -> list[_Row]:
    """Return the rows of a CSV file."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigurationError(
                f"{path}: it has over {MAX_FILE_BYTES:,} bytes; write patterns instead of paths"
            )
        text, _ = decode_file(path)
    except (OSError, ReadError) as error:
        raise ConfigurationError(
            f"{path}: this file of metadata cannot be read ({error}); name a CSV file with the "
            "columns path and your keys"
        ) from error
    head = text.lstrip("\n\r").partition("\n")[0]
    reader = csv.reader(io.StringIO(text), delimiter=max(",;\t", key=head.count))
    try:
        table = [(reader.line_num, row) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise ConfigurationError(f"{path}, line {reader.line_num}: {error}; fix it") from error
    if not table or table[0][1][0].strip().casefold() not in _FIRST:
        raise ConfigurationError(
            f"{path}: the first column must be called path; write a first line such as "
            "path,dept,year"
        )
    if len(table) - 1 > MAX_ROWS:
        raise ConfigurationError(
            f"{path}: {len(table) - 1:,} rows, and at most {MAX_ROWS:,} are allowed; use patterns"
        )
    names = [check_key(name, f"{path}, first line") for name in table[0][1][1:]]
    _check_count(len(names), str(path))
    if len(set(names)) < len(names):
        raise ConfigurationError(f"{path}: two columns have the same name; rename one")
    return [_row(path, names, line, cells) for line, cells in table[1:]]


def _row(path: Path, names: Sequence[str], line: int, cells: Sequence[str]) -> _Row:
    where = f"{path}, line {line}"
    first, *rest = (cell.strip() for cell in cells)
    if not first.strip("/.") or first.startswith("!"):
        raise ConfigurationError(f"{where}: the path is missing; write a path or a pattern")
    if any(rest[len(names) :]):
        raise ConfigurationError(
            f"{where}: more cells than columns; put quotation marks around cells with separators"
        )
    pairs = zip(names, rest, strict=False)
    return _Row(line, first, {key: typed_value(cell, where) for key, cell in pairs if cell})
