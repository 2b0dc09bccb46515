"""The table of contents of a ZIP archive in, a refusal out where it looks like a bomb.

Only the directory is looked at, so this takes milliseconds however much the archive unpacks to.
"""

from __future__ import annotations

import struct
import zipfile
from typing import TYPE_CHECKING

from rag_nodes.errors import CorruptFileError, FileTooLargeError

if TYPE_CHECKING:
    from pathlib import Path

MOST_MEMBERS = 10_000
"""Files in an archive; a Word document has a few dozen, with very many images some thousands."""
MOST_RATIO = 100
"""Bytes out per byte in; the XML of the files we measured reaches 18."""
SMALL = 10 * 1024 * 1024
"""Bytes that may be unpacked at any ratio: they do no harm."""

_END = struct.Struct("<4s4H2LH")
_END_SIGNATURE = b"PK\x05\x06"
_END64_LOCATOR = b"PK\x06\x07"
_LOCATOR_SIZE = 20
_LONGEST_COMMENT = 0xFFFF
_MOST_DIRECTORY_BYTES = MOST_MEMBERS * 200


def check_directory(path: Path) -> None:
    """Refuse an archive that holds too much, by what its directory says.

    What a directory conceals comes out later: a member is never unpacked beyond its stated size.

    Raises:
        CorruptFileError: the archive has no directory: it is cut off.
        FileTooLargeError: too many members, or they unpack to far more than they take.
    """
    _check_end(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, struct.error) as error:
        raise CorruptFileError(path, f"the archive is cut off or damaged: {error}") from error
    if len(members) > MOST_MEMBERS:
        raise _too_many(path, len(members))
    for member in members:
        _check_ratio(path, member.filename, member.file_size, member.compress_size)
    _check_ratio(
        path,
        "the archive",
        sum(member.file_size for member in members),
        sum(member.compress_size for member in members),
    )


def _check_end(path: Path) -> None:
    """Look at the end record, before a directory of any size is taken into memory."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _END.size - _LONGEST_COMMENT - _LOCATOR_SIZE))
        tail = file.read()
    at = tail.rfind(_END_SIGNATURE)
    if at < 0 or len(tail) - at < _END.size:
        raise CorruptFileError(path, "the archive is cut off: it has no directory at its end")
    _, _, _, _, members, directory_bytes, _, _ = _END.unpack_from(tail, at)
    if members > MOST_MEMBERS or directory_bytes > _MOST_DIRECTORY_BYTES:
        raise _too_many(path, members)
    if tail[max(0, at - _LOCATOR_SIZE) : at].startswith(_END64_LOCATOR):
        raise CorruptFileError(
            path,
            "the archive is in the ZIP64 format, made for files far larger than any document",
            "open it in Word and save it again",
        )


def _too_many(path: Path, members: int) -> FileTooLargeError:
    return FileTooLargeError(
        path,
        f"an archive of {members:,} files; a document has no more than {MOST_MEMBERS:,}",
        "do not open it unless you know where it comes from",
    )


def _check_ratio(path: Path, name: str, unpacked: int, packed: int) -> None:
    if unpacked > SMALL and unpacked > MOST_RATIO * max(packed, 1):
        raise FileTooLargeError(
            path,
            f"{name} unpacks from {packed:,} to {unpacked:,} bytes, as ZIP bombs do",
            "do not open it unless you know where it comes from",
        )
