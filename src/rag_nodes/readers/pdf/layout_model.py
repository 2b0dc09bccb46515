"""PyMuPDF's layout model in place of our own rules: one second or more for each page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import FileTooLargeError, MissingExtraError, NoTextLayerError
from rag_nodes.readers.base import Reading
from rag_nodes.readers.pdf.opening import opened
from rag_nodes.text.formats import Format

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rag_nodes.readers.base import Limits

MOST_PAGES = 50
"""Pages the model may read; that takes it one to three minutes."""

_HEADING = re.compile(r"^(#{1,6}) +(.*?) *$", re.MULTILINE)
_STYLES = re.compile(r"\*\*|<sup>.*?</sup>")


def read_with_layout_model(path: Path, limits: Limits) -> Reading:
    """Read a short PDF by the layout model; scanned pages are not recognised.

    Args:
        path: an existing file with a PDF header.
        limits: pages and characters are checked.

    Returns:
        Markdown text, page starts, and the title in the file's properties or the first heading.

    Raises:
        MissingExtraError: PyMuPDF 2, which brings the model, is not installed.
        FileTooLargeError: over `MOST_PAGES`, or over the limits.
        NoTextLayerError: the model found no text.
        ReadError: as `extract` says.
    """
    try:
        import pymupdf4llm  # type: ignore[import-untyped] # ships no type information
    except ImportError as error:
        raise MissingExtraError("PyMuPDF 2 with its layout model", "pdf") from error
    with opened(path, limits) as document:
        count = document.page_count
        if count > MOST_PAGES:
            reason = f"{count:,} pages, over the {MOST_PAGES} that the layout model reads"
            raise FileTooLargeError(path, reason, 'leave out layout="onnx", or split it')
        pages: list[dict[str, Any]] = pymupdf4llm.to_markdown(
            document, page_chunks=True, use_ocr=False, header=False, footer=False
        )
        title = str((document.metadata or {}).get("title") or "").strip()
    text, starts = _joined(page["text"] for page in pages)
    if not text:
        raise NoTextLayerError(path)
    limits.check_characters(path, len(text))
    heading = _HEADING.search(text)
    return Reading(
        text=text,
        text_format=Format.MARKDOWN,
        title=title or (heading[2] if heading else None),
        page_starts=starts,
    )


def _joined(pages: Iterable[str]) -> tuple[str, tuple[int, ...]]:
    """Join the pages with a blank line; an empty one repeats the start of the next."""
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for page in pages:
        starts.append(length)
        if shown := _HEADING.sub(_plain_heading, page).strip():
            parts.append(shown + "\n\n")
            length += len(parts[-1])
    text = "".join(parts).rstrip()
    return text, tuple(min(start, len(text)) for start in starts)


def _plain_heading(match: re.Match[str]) -> str:
    return f"{match[1]} {_STYLES.sub('', match[2]).strip()}"
