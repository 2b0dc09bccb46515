"""JSON objects into a file that appears whole or not at all, written as they come."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_LINE_ENDS = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"})
"""JSON allows these inside texts; programs that read line by line would end a line there."""


@contextmanager
def replacing(path: Path) -> Iterator[Callable[[str], None]]:
    """What writes text to a file beside `path`, which takes its place at the end.

    An exception inside leaves the wanted file as it was. A link stays one, and a device or pipe is
    written to as it is.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    is_device = path.exists() and not path.is_file()
    place = Path(os.path.realpath(path))
    part = path if is_device else place.with_name(f"{place.name}.part")
    with _told(path):
        # Text that UTF-8 cannot hold is escaped, which JSON reads back as it was.
        file = part.open("w", encoding="utf-8", errors="backslashreplace")

    def write(text: str) -> None:
        with _told(path):
            file.write(text)

    try:
        yield write
        with _told(path):
            file.flush()
            if not is_device:
                os.fsync(file.fileno())
            file.close()
            if not is_device:
                part.replace(place)
    finally:
        with suppress(OSError):  # of a full disk, which is told already
            file.close()
        if not is_device:
            part.unlink(missing_ok=True)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"{path}: cannot be written ({error.strerror or error}); "
            "check the folder, its permissions and the space left"
        ) from error


def as_json(rows: Iterable[dict[str, Any]], *, lines: bool) -> Iterator[str]:
    """The text of objects, piece by piece: one per line, or one array indented by two."""
    before = "" if lines else "[\n  "
    for row in rows:
        text = json.dumps(row, ensure_ascii=False, indent=None if lines else 2)
        text = text.translate(_LINE_ENDS)
        yield f"{text}\n" if lines else before + text.replace("\n", "\n  ")
        before = ",\n  "
    if not lines:
        yield "[]\n" if before.startswith("[") else "\n]\n"
