"""Plain text files in, their characters out, whatever the encoding."""

from __future__ import annotations

import codecs
import io
import re
from typing import TYPE_CHECKING, TextIO

from rag_nodes.core.errors import EmptyFileError, MisnamedFileError
from rag_nodes.readers.base import Limits, Reading
from rag_nodes.readers.sniff import HEAD, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SAMPLE = 256 * 1024
"""Bytes the encoding is guessed from; more costs time and changes nothing."""
FOREIGN_SHARE = 0.05
"""Share of bytes beyond ASCII below which no guess of another script is believed: Greek, Cyrillic
or Chinese text consists of such bytes, a stray byte in English text does not make it Greek."""
CONTROL_SHARE = 0.02
"""Share of control characters above which a file is not text."""

_BYTE_ORDER_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its first half
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WESTERN = frozenset({"cp1250", "cp1252", "cp1254", "cp1257", "cp775", "cp850", "cp858"}) | {
    "hp_roman8",
    "latin_1",
    "mac_iceland",
    "mac_latin2",
    "mac_roman",
    "mac_turkish",
}
_CONTROLS = re.compile("[\x00-\x08\x0e-\x19\x7f-\x84\x86-\x9f]")
"""Control characters but those that texts have: white space, ends of file and separators."""


def read_plain(path: Path, limits: Limits) -> Reading:
    """Read a text file without changing a character; a byte order mark is not text.

    Its format is left to be judged by the text; `warnings` says which encoding was guessed where
    the file is not Unicode.
    """
    text, warnings = decode_file(path)
    limits.check(path, len(text), "characters")
    return Reading(text=text, warnings=warnings)


def _undeclared(data: bytes) -> str | None:  # noqa: ARG001 -- plain text cannot say
    return None


def decode_file(
    path: Path, declared: Callable[[bytes], str | None] = _undeclared
) -> tuple[str, tuple[str, ...]]:
    """Give the characters of a text file and what had to be guessed for it.

    A byte order mark and valid UTF-8 say more than the encoding that the text states about itself,
    which `declared` finds.
    """
    data = path.read_bytes()
    if kind := kind_of(data[:HEAD]):
        raise MisnamedFileError(path, f"the content is {kind}, not text")
    decoded = _decode(data, declared)
    if decoded is None or _looks_binary(decoded[0]):
        raise MisnamedFileError(path, "the content is binary data, not text")
    text, warning = decoded
    if not text.strip("\x00\ufeff \t\r\n\f\v\u00a0\u200b\u3000"):
        raise EmptyFileError(path, "the file holds nothing but blank space")
    return text, (warning,) if warning else ()


def open_text(path: Path) -> tuple[TextIO, tuple[str, ...]]:
    """Open a text file to be read in pieces, line ends as they are, and say what was guessed.

    UTF-8 is checked first and then streamed; any other encoding is decoded at once, as only the
    whole file tells which one it is. The caller closes the file.
    """
    if _is_clean_utf8(path):
        return path.open(encoding="utf-8-sig", newline=""), ()
    text, warnings = decode_file(path)
    return io.StringIO(text, newline=""), warnings


def _is_clean_utf8(path: Path) -> bool:
    """Whether the file is UTF-8 text throughout; False where that takes a closer look."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        head = file.read(SAMPLE)
        if b"\x00" in head or kind_of(head):
            return False
        try:
            if _looks_binary(decoder.decode(head)):
                return False
            while piece := file.read(SAMPLE):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _decode(data: bytes, declared: Callable[[bytes], str | None]) -> tuple[str, str | None] | None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _replacing(data[len(mark) :], encoding)
    if b"\x00" in data[:SAMPLE] and (wide := _unmarked_utf16(data)):
        return wide  # before UTF-8, in which zero bytes are legal
    stated = declared(data)
    # Shift codes make such a file look like ASCII; any other valid UTF-8 is no coincidence.
    first = (stated, "utf-8") if b"\x1b" in data[:SAMPLE] else ("utf-8", stated)
    for encoding in filter(None, first):
        try:
            return data.decode(encoding), None
        except UnicodeDecodeError:
            continue
    return _damaged_utf8(data) or _guessed(data)


def _replacing(data: bytes, encoding: str) -> tuple[str, str | None]:
    text = data.decode(encoding, errors="replace")
    broken = text.count("\ufffd") - _own_replacements(data, encoding)
    if broken <= 0:
        return text, None
    return text, f"{broken} damaged {encoding} sequences were replaced by U+FFFD"


def _own_replacements(data: bytes, encoding: str) -> int:
    """Count the U+FFFD that the file itself holds; they are no damage of this reading."""
    return data.decode(encoding, errors="ignore").count("\ufffd")


def _damaged_utf8(data: bytes) -> tuple[str, str | None] | None:
    """UTF-8 in which most sequences are good: other encodings hardly ever make even one."""
    text, warning = _replacing(data, "utf-8")
    broken = text.count("\ufffd")
    good = sum(not character.isascii() for character in text) - broken
    return (text, warning) if good > broken else None


def _unmarked_utf16(data: bytes) -> tuple[str, str | None] | None:
    """Recognise UTF-16 without a mark by the zero bytes of its Latin letters and spaces."""
    sample = data[:SAMPLE]
    low, high = sample[0::2].count(0), sample[1::2].count(0)
    if max(low, high) < len(sample) // 8 or min(low, high) * 8 > max(low, high):
        return None
    encoding = "utf-16-le" if high > low else "utf-16-be"
    text, _ = _replacing(data, encoding)
    return text, f"read as {encoding} (guessed: the file has no byte order mark)"


def _guessed(data: bytes) -> tuple[str, str | None] | None:
    from charset_normalizer import from_bytes

    sample = data[:SAMPLE]
    best = None if b"\x00" in sample else from_bytes(sample).best()
    if best is None:
        return None
    foreign = sum(byte > 0x7F for byte in sample)  # noqa: PLR2004 -- the last of ASCII
    if best.encoding in _WESTERN or foreign < FOREIGN_SHARE * len(sample):
        return _western(data, best.encoding if best.encoding in _WESTERN else "utf-8")
    return _named(data, best.encoding)


def _western(data: bytes, otherwise: str) -> tuple[str, str | None]:
    """Between the look-alikes of western Europe, take the one that nearly all files are in."""
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return _replacing(data, "utf-8") if otherwise == "utf-8" else _named(data, otherwise)
    return _named(data, "cp1252")


def _named(data: bytes, encoding: str) -> tuple[str, str | None]:
    text = data.decode(encoding, errors="replace")
    return text, f"read as {encoding} (guessed: the file is not valid UTF-8)"


def _looks_binary(text: str) -> bool:
    sample = text[:SAMPLE]
    return len(_CONTROLS.findall(sample)) > CONTROL_SHARE * len(sample)
