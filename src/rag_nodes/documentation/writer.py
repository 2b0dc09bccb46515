"""A file that appears whole or not at all, written as its content comes."""

from __future__ import annotations

import json
import os
from typing import IO, TYPE_CHECKING, Any, Self

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_LINE_ENDS = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"})
"""JSON allows these inside texts; programs that read line by line would end a line there."""


class AtomicFile:
    """Text that goes to a file beside the wanted one and takes its place at the end.

    Use as a context manager: an exception inside leaves the wanted file as it was.

    Args:
        path: replaced if it exists.

    Raises:
        ConfigurationError: the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(f"{path.name}.part")
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        try:
            # Text that UTF-8 cannot hold is escaped, which JSON reads back as it was.
            self._file = self._part.open("w", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise self._refused(error) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        file, self._file = self._file, None
        if file is None:
            return
        try:
            with file:
                file.flush()
                os.fsync(file.fileno())
            if kind is None:
                self._part.replace(self.path)
        except OSError as error:
            raise self._refused(error) from error
        finally:
            self._part.unlink(missing_ok=True)

    def append(self, text: str) -> None:
        """Write text behind what is there."""
        if self._file is None:
            raise ValueError("AtomicFile: use it in a with statement")
        try:
            self._file.write(text)
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> ConfigurationError:
        return ConfigurationError(
            f"{self.path}: cannot be written ({error.strerror or error}); "
            "check the folder, its permissions and the space left"
        )


class RowWriter:
    """Writes JSON objects into an open file: one per line, or one array indented by two.

    Args:
        file: where to.
        lines: one object per line.
    """

    def __init__(self, file: AtomicFile, *, lines: bool) -> None:
        self._file = file
        self._lines = lines
        self._rows = 0

    def write(self, rows: Iterable[dict[str, Any]]) -> None:
        """Append objects."""
        for row in rows:
            text = json.dumps(row, ensure_ascii=False, indent=None if self._lines else 2)
            text = text.translate(_LINE_ENDS)
            if self._lines:
                self._file.append(text + "\n")
            else:
                before = ",\n  " if self._rows else "[\n  "
                self._file.append(before + text.replace("\n", "\n  "))
            self._rows += 1

    def finish(self) -> None:
        """Close the array; to be called once, after the last object."""
        if not self._lines:
            self._file.append("\n]\n" if self._rows else "[]\n")
