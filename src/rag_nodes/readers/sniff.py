"""The first bytes of a file in, what kind of file it really is out."""

from __future__ import annotations

import re

HEAD = 1024
"""Bytes from the start of the file that are enough to tell."""

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"PK\x03\x04", "a ZIP archive (Word, Excel, EPUB and OpenDocument files are ZIP archives)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Microsoft Office document"),
    (b"{\\rtf", "an RTF document"),
    (b"%!PS", "a PostScript document"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
"""A comment ends at its first end mark and nowhere else, so there is one way to read it."""


def is_pdf(head: bytes) -> bool:
    """Return True if a PDF header is among the first bytes; readers allow junk before it."""
    return b"%PDF-" in head[:HEAD]


def kind_of(head: bytes) -> str | None:
    """Name the kind of a file by its signature; None if we know none."""
    if head.startswith(b"%PDF-"):
        return "a PDF document"
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)


def is_html(head: bytes) -> bool:
    """Return True if the file opens as an HTML page does."""
    return _HTML.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


def is_readable_text(head: bytes) -> bool:
    """Return True if the bytes are UTF-8 text without control characters."""
    text = head.decode("utf-8", errors="ignore")
    kept = len(text.encode()) >= len(head) - 3  # the head may end inside a character
    return kept and all(character.isprintable() or character.isspace() for character in text)
