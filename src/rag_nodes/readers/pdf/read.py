"""One PDF in, one `Reading` out: the stages in order."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.core.errors import (
    CorruptFileError,
    EmptyFileError,
    MisnamedFileError,
)
from rag_nodes.core.metadata import BLANK_PAGES, FILE_HASH, OCR_PAGES, PDF_ENGINE
from rag_nodes.readers.base import Limits, Reading
from rag_nodes.readers.pdf.boilerplate import without_boilerplate
from rag_nodes.readers.pdf.engines import engine_name
from rag_nodes.readers.pdf.extract import extract
from rag_nodes.readers.pdf.fonts import font_headings
from rag_nodes.readers.pdf.joints import Vocabulary, merge_rows
from rag_nodes.readers.pdf.layout import measure
from rag_nodes.readers.pdf.outline import outline_headings
from rag_nodes.readers.pdf.paragraphs import Composer, assemble
from rag_nodes.readers.pdf.tables import with_continued_tables
from rag_nodes.readers.sniff import is_html, is_pdf, is_readable_text, kind_of
from rag_nodes.text.formats import Format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.readers.pdf.layout import Extracted, Line, Measures, PdfPage
    from rag_nodes.readers.pdf.paragraphs import PageBlock

TITLE_SIZE = 1.3
"""Font size on the first page, as a multiple of the body's, that is a title's."""
LEAST_TEXT = 50
"""Characters below which a PDF is likely to be scanned, or no document at all."""
SEARCHED = 1024 * 1024
"""Bytes searched for PDF objects in a file without a PDF header."""

_FILE_NAME = re.compile(
    r"\.(?:pdf|docx?|odt|rtf|tex|dvi|indd|qxd|pptx?|xlsx?|txt|html?)$", re.IGNORECASE
)
_NO_TITLE = re.compile(
    r"untitled|microsoft word|powerpoint|document\d*$|slide \d|unbenannt", re.IGNORECASE
)


def read_pdf(path: str | Path, limits: Limits) -> Reading:
    """Read a PDF into Markdown text with headings and an exact page map.

    For the errors of each kind of bad PDF, see `extract`.
    """
    path = Path(path)
    check_header(path)
    reading = _doubted(compose(extract(path, limits)), has_ocr=limits.ocr is not None)
    origin = {FILE_HASH: hash_of(path), PDF_ENGINE: engine_name(limits.pdf_engine)}
    return replace(reading, facts={**reading.facts, **origin})


def compose(extracted: Extracted) -> Reading:
    """Make text of extracted lines; pure, so that extraction can happen elsewhere."""
    vocabulary = Vocabulary(line.text for page in extracted.pages for line in page.lines)
    kept = without_boilerplate(extracted.pages, extracted.outline)
    if not any(page.lines for page in kept):
        kept = extracted.pages  # labels, slips and tickets are all edge and no boilerplate
    pages = tuple(replace(page, lines=merge_rows(page.lines)) for page in kept)
    pages = with_continued_tables(pages)
    measures = measure(pages)
    headings = outline_headings(pages, extracted.outline) or font_headings(_set(pages), measures)
    composer = Composer(measures, vocabulary)
    blocks = [composer.compose(page.lines, own) for page, own in zip(pages, headings, strict=True)]
    text, starts = assemble(blocks, vocabulary)
    scans = [number for number, page in enumerate(extracted.pages, 1) if page.is_ocr]
    numbered = {BLANK_PAGES: list(extracted.blank), OCR_PAGES: scans}
    return Reading(
        text=text,
        text_format=Format.MARKDOWN,
        title=_title(extracted.title, blocks, _set(pages[:1])[0].lines, measures),
        page_starts=starts,
        warnings=extracted.warnings,
        facts={key: numbers for key, numbers in numbered.items() if numbers},
    )


def _set(pages: tuple[PdfPage, ...]) -> tuple[PdfPage, ...]:
    """Return pages without the lines of scans, whose sizes make neither headings nor titles."""
    return tuple(replace(page, lines=()) if page.is_ocr else page for page in pages)


def _doubted(reading: Reading, *, has_ocr: bool) -> Reading:
    """Return the reading with a warning if it has hardly any text."""
    characters = len(reading.text.strip())
    if characters >= LEAST_TEXT:
        return reading
    pages = len(reading.page_starts or ())
    where = "one page" if pages == 1 else f"{pages} pages"
    remedy = (
        "check that the scan is sharp"
        if has_ocr
        else "scanned pages need OCR: --ocr (Python: ocr=)"
    )
    warning = f"only {characters} characters of text on {where}; {remedy}"
    return replace(reading, warnings=(*reading.warnings, warning))


def hash_of(path: str | Path) -> str:
    """Return the SHA-256 of the bytes of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_header(path: Path) -> None:
    """Tell files of other kinds from damaged PDFs; some engines would open many of them."""
    with path.open("rb") as file:
        head = file.read(SEARCHED)
    if is_pdf(head) or b"endobj" in head:
        return
    if not head.strip(b"\x00 \t\r\n\f"):
        raise EmptyFileError(path, "the file holds nothing but blank space")
    if kind := kind_of(head) or ("an HTML page" if is_html(head) else None):
        raise MisnamedFileError(path, f"the content is {kind}, not a PDF document")
    if is_readable_text(head):
        raise MisnamedFileError(path, "the content is plain text, not a PDF document")
    raise CorruptFileError(path, "the file has no PDF header and no PDF objects")


def _title(
    stated: str, pages: Sequence[Sequence[PageBlock]], cover: Sequence[Line], measures: Measures
) -> str | None:
    """Return the file's own title if it reads like a title.

    Otherwise return the large print on the first page, or the first heading.
    """
    stated = stated.strip()
    letters = sum(map(str.isalpha, stated))
    readable = 2 * letters > len(stated) and letters > 3  # noqa: PLR2004 - a word
    if readable and not _FILE_NAME.search(stated) and not _NO_TITLE.match(stated):
        return stated
    largest = max((line.size for line in cover if line.upright), default=0.0)
    if largest >= TITLE_SIZE * measures.size:
        return " ".join(line.text for line in cover if line.upright and line.size > largest - 1)
    for blocks in pages:
        if headings := [block for block in blocks if block.kind == "heading"]:
            return blocks[0].text if blocks[0] in headings else headings[0].text
    return None
