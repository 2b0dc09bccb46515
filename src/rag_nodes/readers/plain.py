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
CONTROL_SHARE = 0.02
"""Share of control characters above which a file is not text."""

_BYTE_ORDER_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its first half
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_USUAL = "cp1252"
"""Encoding of nearly all text files that are not Unicode and of a language of western Europe."""
_NEAR = 0.002
"""Confidence that another encoding needs to be ahead of the default by, over the number of bytes
beyond ASCII: a name or two in a table of numbers say little about the language."""
_RARE = (
    "cp1006", "cp720", "cp864", "hp-roman8", "iso8859-10", "iso8859-14", "iso8859-16", "iso8859-3",
    "iso8859-4", "mac-iceland",
)  # fmt: skip
"""Encodings that a few letters are taken for more often than they are used."""
_WIDE = ("utf-16", "utf-32")
"""Beginnings of the names of encodings that are recognised by marks or zero bytes, never guessed:
any bytes are text in them."""
_TYPOGRAPHIC = re.compile(
    rb"(?<![A-Za-z\x80-\xff])[\x80\x95-\x97\xa0\xa3\xa7\xa9\xae\xb1\xbc-\xbe](?![A-Za-z\x80-\xff])"
    rb"|(?<![A-Za-z])[\x91\x93]|[\x85\x92\x94\x99](?![A-Za-z])|\x92(?=(?:d|ll|m|re|s|t|ve)\b)"
    rb"|(?<=[A-Za-z]{2})\x97(?=[A-Za-z]{2})"
    rb"|(?<=[\d ])(?:\xb0(?![a-z])|\xb5(?=[AFHVWglms]\b))|(?<=[ ckm]m)[\xb2\xb3](?![A-Za-z])"
)
"""Quotation marks, dashes and signs of the default encoding, at places where no letter stands."""
_SHIFTED = "iso2022"
"""Beginning of the names of encodings whose bytes are all of ASCII."""
_FOREIGN = re.compile(rb"[\x80-\xff]")
_BEFORE = 80
"""Bytes of ASCII that are looked at before the first other one."""
_BEYOND_ASCII = bytes(range(0x80, 0x100))
_CONTROLS = re.compile("[\x00-\x08\x0e-\x19\x7f-\x84\x86-\x9f]")
"""Control characters but those that texts have: white space, ends of file and separators."""


def read_plain(path: Path, limits: Limits) -> Reading:
    """Read a text file without changing a character; a byte order mark is not text.

    Its format is left to be judged by the text; `warnings` says which encoding was guessed where
    the file is not Unicode.
    """
    text, warnings = decode_file(path, limits.encoding_of(path))
    limits.check(path, len(text), "characters")
    return Reading(text=text, warnings=warnings)


def decode_file(
    path: Path,
    encoding: str | None = None,
    declared: Callable[[bytes], str | None] = lambda _: None,
) -> tuple[str, tuple[str, ...]]:
    """Return the characters of a text file and what had to be guessed for it.

    A byte order mark and valid UTF-8 say more than any name of an encoding.

    Args:
        path: the file.
        encoding: what the user says it is in; None for nothing.
        declared: finds the encoding that the text states about itself.

    Raises:
        MisnamedFileError: it is no text.
        EmptyFileError: it holds nothing but blank space.
    """
    data = path.read_bytes()
    if kind := kind_of(data[:HEAD]):
        raise MisnamedFileError(path, f"the content is {kind}, not text")
    text, warning = _decode(data, encoding, declared)
    if _looks_binary(text):
        raise MisnamedFileError(path, "the content is binary data, not text")
    if not text.strip("\x00\ufeff \t\r\n\f\v\u00a0\u200b\u3000"):
        raise EmptyFileError(path, "the file holds nothing but blank space")
    return text, (warning,) if warning else ()


def open_text(path: Path, encoding: str | None = None) -> tuple[TextIO, tuple[str, ...]]:
    """Open a text file to be read in pieces, line ends as they are, and say what was guessed.

    UTF-8 is checked first and then streamed; any other encoding is decoded at once, as only the
    whole file tells which one it is. The caller closes the file. Arguments are those of
    `decode_file`.
    """
    if _is_clean_utf8(path):
        return path.open(encoding="utf-8-sig", newline=""), ()
    text, warnings = decode_file(path, encoding)
    return io.StringIO(text, newline=""), warnings


def _is_clean_utf8(path: Path) -> bool:
    """Return True if the file is UTF-8 text throughout; False if that takes a closer look."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        head = file.read(SAMPLE)
        if b"\x00" in head or b"\x1b" in head or kind_of(head):
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


def _decode(
    data: bytes, encoding: str | None, declared: Callable[[bytes], str | None]
) -> tuple[str, str | None]:
    for mark, unicode in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _replacing(data[len(mark) :], unicode)
    if b"\x00" in data[:SAMPLE] and encoding is None and (wide := _unmarked_utf16(data)):
        return wide  # before UTF-8, in which zero bytes are legal
    for name in _certain(data, encoding, declared):
        try:
            return data.decode(name), None
        except UnicodeError:
            continue
    if encoding is not None:
        return _replacing(data, encoding)
    return _damaged_utf8(data) or _guessed(data)


def _certain(
    data: bytes, encoding: str | None, declared: Callable[[bytes], str | None]
) -> list[str]:
    """Return the encodings that are no guess, the first to be tried first."""
    stated = encoding or declared(data)
    if b"\x1b" in data[:SAMPLE]:  # shift codes make such a file look like ASCII
        detected = _detected(data)
        names = [stated, detected if detected.startswith(_SHIFTED) else None, "utf-8"]
    elif data.isascii():
        names = [encoding, "utf-8"]
    else:  # valid UTF-8 is no coincidence
        names = ["utf-8", stated]
    return [name for name in names if name]


def _replacing(data: bytes, encoding: str) -> tuple[str, str | None]:
    text = data.decode(encoding, errors="replace")
    # The U+FFFD that the file itself holds are no damage.
    broken = text.count("\ufffd") - data.decode(encoding, errors="ignore").count("\ufffd")
    if broken <= 0:
        return text, None
    return text, f"{broken} damaged {encoding} sequences were replaced by U+FFFD"


def _damaged_utf8(data: bytes) -> tuple[str, str | None] | None:
    """Decode UTF-8 in which most sequences are good: other encodings hardly ever make any."""
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


def _guessed(data: bytes) -> tuple[str, str | None]:
    """Decode by the encoding that letters and language speak for."""
    name = _detected(data)
    text = data.decode(name, errors="replace")
    hint = "if letters are wrong, name its encoding"
    return text, f"read as {name} (guessed: the file is not valid UTF-8); {hint}"


def _detected(data: bytes) -> str:
    """Return the encoding that the first characters beyond ASCII are probably in.

    Marks and signs alone say nothing about a language, from which a guess is made.
    """
    first = _FOREIGN.search(data)
    start = max(0, first.start() - _BEFORE) if first else 0
    sample = data[start : start + SAMPLE]
    if first and _TYPOGRAPHIC.sub(b"", sample).isascii():
        return _USUAL
    from chardet import EncodingEra, detect_all

    guesses = detect_all(
        sample,
        ignore_threshold=True,
        encoding_era=EncodingEra.ALL & ~EncodingEra.MAINFRAME,
        exclude_encodings=_RARE,
    )
    names = [(codecs.lookup(guess["encoding"]).name, guess["confidence"])
             for guess in guesses if guess["encoding"]]  # fmt: skip
    ranked = {name: confidence for name, confidence in names if not name.startswith(_WIDE)}
    best = max(ranked, key=ranked.__getitem__, default=_USUAL)
    foreign = len(sample) - len(sample.translate(None, _BEYOND_ASCII))
    ahead = ranked.get(best, 0) - ranked.get(_USUAL, -1)
    return _USUAL if ahead <= _NEAR / max(foreign, 1) else best


def _looks_binary(text: str) -> bool:
    sample = text[:SAMPLE]
    return len(_CONTROLS.findall(sample)) > CONTROL_SHARE * len(sample)
