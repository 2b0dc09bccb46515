"""A document within a Word file (`w:altChunk`) in, its text out, by the reader of its format."""

from __future__ import annotations

import email
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from rag_nodes.core.errors import EmptyFileError, UnsupportedFileError
from rag_nodes.readers.markup import plain_line
from rag_nodes.readers.sniff import HEAD, is_html, is_readable_text, kind_of
from rag_nodes.text.formats import Format

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_nodes.readers.base import Limits, Reading

_MIME: Final = (b"mime-version:", b"content-type:", b"from:")
_ZIP: Final = b"PK\x03\x04"
_WORKBOOKS: Final = frozenset({".xlsm", ".xlsx"})


def read_embedded(
    name: str, data: bytes, limits: Limits, read_word: Callable[[Path, Limits], Reading]
) -> tuple[str, tuple[str, ...]]:
    """Return the Markdown of an embedded document, and what has to be said of it.

    Args:
        name: name of the part that holds it.
        data: its bytes.
        limits: as of a file.
        read_word: reads a Word file.

    Raises:
        ReadError: it is of a format without a reader, or cannot be read.
        MissingExtraError: a library for its format is not installed.
    """
    from rag_nodes.readers.kinds import SUFFIXES  # which takes the reader of Word files

    suffix = _suffix(name, data)
    if suffix == ".mht":
        suffix, data = _page_of(name, data)
    if suffix not in SUFFIXES:
        raise UnsupportedFileError(name, kind_of(data) or f"no reader for {suffix or 'its format'}")
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"embedded{suffix}"
        file.write_bytes(data)
        reading = (read_word if suffix == ".docx" else SUFFIXES[suffix])(file, limits)
    if reading.text_format == Format.MARKDOWN:
        return reading.text.strip(), reading.warnings
    return "\n".join(map(plain_line, reading.text.strip().splitlines())), reading.warnings


def _suffix(name: str, data: bytes) -> str:
    """Return the suffix of a format by the content, as far as that tells, else by the name."""
    head = data[:HEAD]
    suffix = Path(name).suffix.lower()
    if data.startswith(_ZIP):
        return suffix if suffix in _WORKBOOKS else ".docx"
    if is_html(head):
        return ".xhtml" if suffix == ".xhtml" else ".html"
    if data[:HEAD].lstrip().lower().startswith(_MIME):
        return ".mht"
    return ".txt" if suffix in {"", ".bin", ".dat"} and is_readable_text(head) else suffix


def _page_of(name: str, data: bytes) -> tuple[str, bytes]:
    """Return the suffix and the bytes of the page that a web archive holds.

    Raises:
        EmptyFileError: it holds none.
    """
    texts = {
        part.get_content_type(): part
        for part in reversed(list(email.message_from_bytes(data).walk()))
        if part.get_content_maintype() == "text"
    }
    part = texts.get("text/html") or texts.get("text/plain")
    content = part.get_payload(decode=True) if part else None
    if part is None or not isinstance(content, bytes):
        raise EmptyFileError(name, "a web archive without a page")
    with suppress(LookupError, UnicodeError):
        content = content.decode(part.get_content_charset("utf-8")).encode()
    return ".html" if part.get_content_type() == "text/html" else ".txt", content
