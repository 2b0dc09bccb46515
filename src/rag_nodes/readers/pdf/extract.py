"""A PDF file in, its lines as plain data out, by whichever engine opens it."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING

from rag_nodes.core.errors import (
    CorruptFileError,
    EmptyFileError,
    NoTextLayerError,
    OcrError,
    OcrProgramMissingError,
    ReadError,
)
from rag_nodes.core.processes import tell_share
from rag_nodes.readers.pdf.borderless import with_borderless_tables
from rag_nodes.readers.pdf.engines import opened
from rag_nodes.readers.pdf.engines.protocol import UnreadableError
from rag_nodes.readers.pdf.grids import find_grids
from rag_nodes.readers.pdf.layout import Entry, Extracted, Line, PdfPage
from rag_nodes.readers.pdf.lines import clean, layout_lines, with_superscripts
from rag_nodes.readers.pdf.links import with_links
from rag_nodes.readers.pdf.scans import SURE, ScannedPage
from rag_nodes.readers.pdf.tables import with_tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rag_nodes.readers.base import Limits
    from rag_nodes.readers.pdf.engines.protocol import EngineDocument, EnginePage

UNMAPPED_SHARE = 0.05
"""Share of characters without a Unicode value above which the reader warns."""
PAGES_LOOKED_AT = 50
"""Pages searched for images before a document without text is called blank."""
OUTLINE_ENTRIES = 20_000
"""Bookmarks that are looked at."""
LINKS = 500
"""Links of a page to other addresses that are looked at."""
EXTRACTING = 0.8
"""Share of the time of reading that extraction takes; composing the text takes the rest."""
SHARES = 50
"""Reports of progress per document."""
NUMBERS_SHOWN = 12
"""Page numbers listed in one warning; the rest are counted."""

_log = logging.getLogger(__name__)


def extract(path: Path, limits: Limits) -> Extracted:
    """Return lines, outline and title of a PDF.

    A page that fails becomes an empty page and a warning; the others are read.

    Raises:
        MissingExtraError: the library that reads PDFs is not installed.
        CorruptFileError: it cannot be opened, or no page can be read.
        MisnamedFileError: it opens as another kind of document.
        EncryptedFileError: it asks for a password.
        NoPagesError: it has no page.
        NoTextLayerError: its pages are images.
        OcrError: OCR of the only pages that have anything failed, or found no text.
        OcrProgramMissingError: the program for OCR is not installed.
        EmptyFileError: its pages are blank.
        FileTooLargeError: over the limits.
        ReadMemoryError: no memory is left for a page.
    """
    with opened(path, limits) as document:
        return _extract(document, path, limits)


@dataclass(slots=True)
class _Findings:
    """Numbers of pages from 1 by what they hold, reasons of those that failed, and OCR's first."""

    failures: dict[int, str] = field(default_factory=dict)
    silent: list[int] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    unsure: list[int] = field(default_factory=list)
    ocr_error: OcrError | None = None
    is_marked: bool = False


def _extract(document: EngineDocument, path: Path, limits: Limits) -> Extracted:
    pages: list[PdfPage] = []
    findings = _Findings()
    characters = 0
    for index in range(document.page_count):
        if index % ceil(document.page_count / SHARES) == 0:
            tell_share(EXTRACTING * index / document.page_count)
        is_sought = not characters and index < PAGES_LOOKED_AT
        try:
            with document.page(index) as page:
                pages.append(
                    _read_page(page, path, limits, findings, index + 1, is_sought=is_sought)
                )
        except (UnreadableError, OcrError) as error:
            if isinstance(error, OcrProgramMissingError):
                raise
            if isinstance(error, OcrError):
                findings.ocr_error = findings.ocr_error or error
            findings.failures[index + 1] = getattr(error, "reason", str(error))
            pages.append(PdfPage(height=0.0, lines=()))
        characters += sum(len(line.text) for line in pages[-1].lines)
        limits.check(path, characters, "characters")
    if not characters:
        raise _without_text(path, limits, document.page_count, findings)
    return Extracted(
        pages=tuple(pages),
        outline=_outline(document, path),
        title=document.title,
        warnings=tuple(
            _warnings(
                pages, findings, is_repaired=document.is_repaired(), has_ocr=limits.ocr is not None
            )
        ),
        blank=tuple(findings.blank),
    )


def _read_page(
    page: EnginePage,
    path: Path,
    limits: Limits,
    findings: _Findings,
    number: int,
    *,
    is_sought: bool,
) -> PdfPage:
    """Return a page; if it has no text and `is_sought`, note whether anything is drawn on it."""
    lines = _with_structure(page, layout_lines(page.lines()))
    if lines:
        return PdfPage(height=page.height, lines=lines)
    has_images = page.has_images()
    if has_images and limits.ocr is not None:
        scan = ScannedPage(page, path, limits.ocr)
        if lines := _with_structure(scan, layout_lines(scan.lines())):
            if scan.confidence < SURE:
                findings.unsure.append(number)
            return PdfPage(height=page.height, lines=lines, is_ocr=True)
    (findings.silent if has_images else findings.blank).append(number)
    findings.is_marked = findings.is_marked or (is_sought and page.is_marked())
    return PdfPage(height=page.height, lines=())


def _without_text(path: Path, limits: Limits, page_count: int, findings: _Findings) -> ReadError:
    """Return why a document has no text."""
    if findings.ocr_error is not None:
        return findings.ocr_error
    if len(findings.failures) == page_count:
        first = next(iter(findings.failures.values()))
        return CorruptFileError(path, f"no page could be read: {first}")
    if not findings.is_marked:
        return EmptyFileError(path, "its pages are blank")
    return NoTextLayerError(path) if limits.ocr is None else OcrError(path)


def _with_structure(page: EnginePage, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Add tables and links to other places, which are drawn on a page."""
    edges, areas = list(page.edges()), tuple(islice(page.links(), LINKS))
    grids = find_grids(edges)
    if lines and (grids or areas):
        words = with_superscripts(page.words(), lines)
        lines = with_tables(with_links(lines, areas, words), grids, words, clean)
    return with_borderless_tables(lines, edges)


def _warnings(
    pages: list[PdfPage], findings: _Findings, *, is_repaired: bool, has_ocr: bool
) -> Iterator[str]:
    if is_repaired:
        yield "the file was damaged and has been repaired; parts may be missing"
    for page, reason in list(findings.failures.items())[:NUMBERS_SHOWN]:
        yield f"page {page} could not be read: {reason}"
    if len(findings.failures) > NUMBERS_SHOWN:
        yield f"{len(findings.failures) - NUMBERS_SHOWN} more pages could not be read"
    if findings.silent:
        remedy = "OCR found no text there" if has_ocr else "read them with --ocr (Python: ocr=)"
        yield f"no text layer, only images, on {_listed(findings.silent)}; {remedy}"
    yield from _doubts(pages, findings.unsure)
    counts = Counter[bool]()
    for line in (line for page in pages for line in page.lines):
        unmapped = line.text.count("\ufffd")
        counts[True] += unmapped
        counts[False] += len(line.text) - unmapped
    if counts[True] > UNMAPPED_SHARE * counts.total():
        share = counts[True] / counts.total()
        yield f"{share:.0%} of the characters have no Unicode value in this file's fonts"


def _doubts(pages: list[PdfPage], unsure: list[int]) -> Iterator[str]:
    """Yield warnings about pages that OCR has read."""
    if numbers := [number for number, page in enumerate(pages, 1) if page.is_ocr]:
        verb, pronoun = ("was", "it") if len(numbers) == 1 else ("were", "them")
        yield f"{_listed(numbers)} {verb} read by OCR; check figures in {pronoun}"
    if unsure:
        yield f"OCR was unsure of {_listed(unsure)}; check that the scan is sharp and upright"


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:NUMBERS_SHOWN]))
    more = len(numbers) - NUMBERS_SHOWN
    pages = "page" if len(numbers) == 1 else "pages"
    return f"{pages} {shown} and {more} more" if more > 0 else f"{pages} {shown}"


def _outline(document: EngineDocument, path: Path) -> tuple[Entry, ...]:
    try:
        bookmarks = document.outline()
    except UnreadableError as error:  # a broken outline must not cost the text
        _log.warning("the outline of %s could not be read: %s", path, error)
        return ()
    return tuple(
        Entry(level=level, title=" ".join(title.split()), page=page)
        for level, title, page in bookmarks[:OUTLINE_ENTRIES]
    )
