"""Files that somebody asked for: refused before the work, or written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from rag_nodes.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

_KEEPS_ITS_PLACE = (errno.EBUSY, errno.EPERM, errno.EACCES)
"""No file takes the place of one that is mounted, or of another user's in a folder of all."""


_ENDINGS = frozenset({".json", ".jsonl", ".csv", ".tsv", ".xlsx", ".html", ".htm", ".py"})
"""Endings of names that say which format a file has."""


def check_writable(path: Path, *endings: str) -> None:
    """Refuse a name before hours are spent on what should be written there.

    Args:
        path: of the file.
        endings: of names for what is written; none for any name.

    Raises:
        ConfigurationError: nothing can be written there, or the name says another format.
    """
    ending = path.suffix.lower()
    if endings and ending in _ENDINGS.difference(endings):
        raise ConfigurationError(
            f"{path}: this option writes no {ending} file; choose a name that ends in {endings[0]}"
        )
    with _told(path):
        needed = path if path.exists() else Path(os.path.realpath(path)).parent
        if path.is_dir():
            why = errno.EISDIR
        elif not needed.exists():
            why = errno.ENOENT
        elif needed is not path and not needed.is_dir():
            why = errno.ENOTDIR
        elif not os.access(needed, os.W_OK):
            why = errno.EACCES
        else:
            return
        raise OSError(why, os.strerror(why))


def write_text(path: Path, text: str) -> None:
    """Write a file, see `replacing`.

    Raises:
        ConfigurationError: it cannot be written.
    """
    with replacing(path) as write:
        write(text)


@contextmanager
def replacing(path: Path) -> Iterator[Callable[[str], None]]:
    """Open a file beside `path` for text; it replaces `path` at the end.

    An exception inside leaves the wanted file as it was. A link stays one, and a file keeps its
    mode. Devices, pipes, files of another user and those that no other can replace, as they are
    mounted or their folder is not writable, are written to as they are.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    check_writable(path)
    place = Path(os.path.realpath(path))
    with _told(path):
        part = _beside(place) if _is_replaced(path, place) else None
        # Text that UTF-8 cannot hold is escaped, which JSON reads back as it was.
        file = (part or path).open("w", encoding="utf-8", errors="backslashreplace")

    def write(text: str) -> None:
        with _told(path):
            file.write(text)

    try:
        yield write
        with _told(path):
            _finish(file, part, place)
    finally:
        with suppress(OSError):  # of a full disk, which is reported already
            file.close()
        if part:
            part.unlink(missing_ok=True)


def _is_replaced(path: Path, place: Path) -> bool:
    """Return True if a new file, owned by the user who runs this, may replace it."""
    if not path.exists():
        return True
    is_own = path.stat().st_uid == getattr(os, "geteuid", int)()  # 0 on Windows
    return path.is_file() and is_own and os.access(place.parent, os.W_OK)


def _beside(place: Path) -> Path:
    """An empty file in the same folder, whose name nobody has, of the same mode."""
    part = place.with_name(f"{uuid4().hex}.part")
    part.touch(exist_ok=False)
    if place.exists():
        shutil.copymode(place, part)
    return part


def _finish(file: TextIO, part: Path | None, place: Path) -> None:
    file.flush()
    if part:
        os.fsync(file.fileno())
    file.close()
    if not part:
        return
    try:
        part.replace(place)
    except OSError as error:
        if error.errno not in _KEEPS_ITS_PLACE:
            raise
        shutil.copyfile(part, place)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"{path}: cannot be written ({error.strerror or error}); "
            "check the folder, its permissions and the space left"
        ) from error
