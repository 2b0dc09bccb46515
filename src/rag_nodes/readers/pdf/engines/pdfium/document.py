"""Documents and pages of PDFium."""

from __future__ import annotations

import ctypes
import os
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from pypdfium2 import raw

from rag_nodes.core.errors import (
    REPAIR,
    CorruptFileError,
    EncryptedFileError,
    NoPagesError,
    ReadError,
    ReadMemoryError,
)
from rag_nodes.readers.pdf.engines import flow
from rag_nodes.readers.pdf.engines.geometry import FLIP, moved_box, turned
from rag_nodes.readers.pdf.engines.marks import put_marks
from rag_nodes.readers.pdf.engines.pdfium.characters import PageText, glyph_runs
from rag_nodes.readers.pdf.engines.pdfium.fields import FormFields
from rag_nodes.readers.pdf.engines.pdfium.native import pdfium, rectangle_from, text_from
from rag_nodes.readers.pdf.engines.pdfium.objects import (
    actual_texts_of,
    drop_actual_text,
    edges_of,
    objects_of,
)
from rag_nodes.readers.pdf.engines.png import png_of
from rag_nodes.readers.pdf.engines.protocol import UnreadableError
from rag_nodes.readers.pdf.engines.reading import as_read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rag_nodes.readers.base import Limits
    from rag_nodes.readers.pdf.engines.flow import FlowLine, GlyphRun
    from rag_nodes.readers.pdf.engines.pdfium.objects import ActualText, PageObject
    from rag_nodes.readers.pdf.engines.protocol import (
        Area,
        Bookmark,
        Box,
        Glyph,
        Matrix,
        TextLine,
        Word,
    )

MAX_BOOKMARKS = 20_000
"""Bookmarks that are looked at."""
MAX_LINKS = 2_000
"""Links and other annotations of a page that are looked at."""

_ADDRESS = 3
"""PDFium's number for an action that opens an address."""
_WITHOUT_TEXT = {raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP}
"""Annotations without text of their own."""


@contextmanager
def opened_document(path: Path, limits: Limits) -> Iterator[PDFiumDocument]:
    """Open a document as `engines.opened` says; the caller holds the lock."""
    handle = pdfium.FPDF_LoadDocument(os.fsencode(path) + b"\0", None)
    if not handle:
        raise _refusal(path)
    try:
        count = pdfium.FPDF_GetPageCount(handle)
        if count <= 0:
            raise NoPagesError(path)
        limits.check(path, count, "pages")
        document = PDFiumDocument(handle, path, count)
        try:
            yield document
        finally:
            document.form.close()
    finally:
        pdfium.FPDF_CloseDocument(handle)


def _refusal(path: Path) -> ReadError:
    if pdfium.FPDF_GetLastError() in {raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY}:
        return EncryptedFileError(path)
    return CorruptFileError(path, "the file is damaged, and PDFium does not repair it", REPAIR)


class PDFiumDocument:
    """A document of PDFium."""

    def __init__(self, handle: int, path: Path, page_count: int) -> None:
        self._handle, self._path = handle, path
        self.form = FormFields(handle)
        self.page_count = page_count
        self.title = text_from(pdfium.FPDF_GetMetaText, handle, b"Title")

    @contextmanager
    def page(self, index: int) -> Iterator[PDFiumPage]:
        """Open a page as `EngineDocument.page` says."""
        page: PDFiumPage | None = None
        try:
            page = PDFiumPage(self._handle, index, self.form)
            yield page
        except (ReadError, UnreadableError):
            raise
        except MemoryError as error:
            raise ReadMemoryError(self._path) from error
        except Exception as error:
            raise UnreadableError(str(error) or type(error).__name__) from error
        finally:
            if page is not None:
                page.close()

    def outline(self) -> list[Bookmark]:
        """Return the bookmarks; one that was met before ends its branch."""
        bookmarks: list[Bookmark] = []
        stack = [(pdfium.FPDFBookmark_GetFirstChild(self._handle, None), 1)]
        seen: set[int] = set()
        while stack and len(bookmarks) < MAX_BOOKMARKS:
            handle, level = stack.pop()
            if not handle or handle in seen:
                continue
            seen.add(handle)
            bookmarks.append(
                (level, text_from(pdfium.FPDFBookmark_GetTitle, handle), self._goal(handle))
            )
            stack.append((pdfium.FPDFBookmark_GetNextSibling(self._handle, handle), level))
            stack.append((pdfium.FPDFBookmark_GetFirstChild(self._handle, handle), level + 1))
        return bookmarks

    def _goal(self, bookmark: int) -> int:
        """Return the page that a bookmark leads to, -1 for none."""
        goal = pdfium.FPDFBookmark_GetDest(self._handle, bookmark)
        if not goal:
            action = pdfium.FPDFBookmark_GetAction(bookmark)
            goal = pdfium.FPDFAction_GetDest(self._handle, action) if action else None
        return int(pdfium.FPDFDest_GetDestPageIndex(self._handle, goal)) if goal else -1

    def is_repaired(self) -> bool:
        """Return True if PDFium had to make the table of objects itself."""
        return not pdfium.FPDF_DocumentHasValidCrossReferenceTable(self._handle)


class PDFiumPage:
    """A page of PDFium, turned so that most of its text runs from left to right."""

    def __init__(self, document: int, index: int, form: FormFields) -> None:
        self._document, self._index = document, index
        self._page = self._load()
        self._links = list(self._found_links())
        self._fields = list(form.fields(self._page))
        if self._has_fields() and pdfium.FPDFPage_Flatten(self._page, raw.FLAT_NORMALDISPLAY) == 1:
            self._load_again()
        box = rectangle_from(pdfium.FPDF_GetPageBoundingBox, self._page)
        self._box: Box = box or (0.0, 0.0, 612.0, 792.0)
        self._rotation = max(0, pdfium.FPDFPage_GetRotation(self._page)) % 4
        sides = self._box[2] - self._box[0], self._box[3] - self._box[1]
        self.width, self.height = sides if self._rotation % 2 == 0 else sides[::-1]

    def close(self) -> None:
        """Free what PDFium keeps of the page."""
        pdfium.FPDF_ClosePage(self._page)

    def _load(self) -> int:
        page = pdfium.FPDF_LoadPage(self._document, self._index)
        if not page:
            raise UnreadableError("PDFium cannot load it")
        return int(page)

    def _load_again(self) -> None:
        pdfium.FPDF_ClosePage(self._page)
        self._page = self._load()

    def _has_fields(self) -> bool:
        """Return True if form fields or annotations show text, which no text page has."""
        for number in range(min(pdfium.FPDFPage_GetAnnotCount(self._page), MAX_LINKS)):
            annotation = pdfium.FPDFPage_GetAnnot(self._page, number)
            kind = pdfium.FPDFAnnot_GetSubtype(annotation) if annotation else raw.FPDF_ANNOT_LINK
            pdfium.FPDFPage_CloseAnnot(annotation)
            if kind not in _WITHOUT_TEXT:
                return True
        return False

    @cached_property
    def _objects(self) -> list[PageObject]:
        return objects_of(self._page, self._box)

    @cached_property
    def _flow(self) -> tuple[list[FlowLine], int]:
        """Lines of the page, and the quarter turns of most of its text."""
        # The printed text counts, unless the font has no Unicode values of it.
        has_dropped = drop_actual_text(self._objects)
        runs, quarter = self._runs({})
        missing = _unmapped(runs)
        if has_dropped and missing:
            del self._objects
            self._load_again()
            stated, stated_quarter = self._runs(actual_texts_of(self._objects))
            if _unmapped(stated) < missing:
                runs, quarter = stated, stated_quarter
        frame = turned(quarter, self._box, FLIP)
        fields = [field._replace(box=moved_box(frame, field.box)) for field in self._fields]
        return as_read(flow.flow(put_marks(runs)), fields), quarter

    def _runs(self, actual: Mapping[int, ActualText]) -> tuple[list[GlyphRun], int]:
        text_page = pdfium.FPDFText_LoadPage(self._page)
        if not text_page:
            raise UnreadableError("PDFium cannot load its text")
        try:
            is_bound_right = _is_bound_right(self._document)
            text = PageText(text_page, is_bound_right=is_bound_right)
            return glyph_runs(text, self._objects, self._box, actual)
        finally:
            pdfium.FPDFText_ClosePage(text_page)

    @property
    def _frame(self) -> Matrix:
        """From the page of the file to the page as it is read."""
        return turned(self._flow[1], self._box, FLIP)

    @property
    def turn(self) -> Matrix:
        """From the page as it is read to the page as it is shown."""
        return turned(self._rotation - self._flow[1], moved_box(self._frame, self._box))

    def lines(self) -> list[TextLine]:
        """Return the lines in the order of the file."""
        return flow.text_lines(self._flow[0])

    def words(self) -> list[Word]:
        """Return the words of the lines."""
        return list(flow.words(self._flow[0]))

    def glyph_lines(self) -> Iterator[list[Glyph]]:
        """Yield the glyphs of each line."""
        return flow.glyph_lines(self._flow[0])

    def edges(self) -> Iterator[Box]:
        """Yield what is drawn straight."""
        frame = self._frame
        return (moved_box(frame, box) for box in edges_of(self._objects))

    def links(self) -> Iterator[Area]:
        """Yield the links to other addresses."""
        for box, address in self._links:
            yield *moved_box(self._frame, box), address

    def _found_links(self) -> Iterator[tuple[Box, str]]:
        position, link = ctypes.c_int(), ctypes.c_void_p()
        addresses = ctypes.addressof(position), ctypes.addressof(link)
        for _ in range(MAX_LINKS):
            if not pdfium.FPDFLink_Enumerate(self._page, *addresses):
                return
            action = pdfium.FPDFLink_GetAction(link.value)
            if not action or pdfium.FPDFAction_GetType(action) != _ADDRESS:
                continue
            address = text_from(
                pdfium.FPDFAction_GetURIPath, self._document, action, encoding="utf-8"
            )
            box = rectangle_from(pdfium.FPDFLink_GetAnnotRect, link.value)
            if box and address:
                yield box, address

    def has_images(self) -> bool:
        """Return True if the page shows pictures."""
        return any(item.kind == raw.FPDF_PAGEOBJ_IMAGE for item in self._objects)

    def is_marked(self) -> bool:
        """Return True if anything is on the page."""
        return bool(self._objects)

    def png(self, scale: float, *, is_turned: bool = False) -> bytes:
        """Draw the page on white."""
        width, height = (max(1, round(scale * side)) for side in (self.width, self.height))
        bitmap = pdfium.FPDFBitmap_CreateEx(width, height, raw.FPDFBitmap_BGR, None, 0)
        if not bitmap:
            raise MemoryError
        try:
            pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, 0xFFFFFFFF)
            flags = raw.FPDF_ANNOT | raw.FPDF_REVERSE_BYTE_ORDER
            turns = 2 if is_turned else 0  # by 90 degrees
            pdfium.FPDF_RenderPageBitmap(bitmap, self._page, 0, 0, width, height, turns, flags)
            stride = pdfium.FPDFBitmap_GetStride(bitmap)
            samples = ctypes.string_at(pdfium.FPDFBitmap_GetBuffer(bitmap), stride * height)
        finally:
            pdfium.FPDFBitmap_Destroy(bitmap)
        return png_of(samples, width, height, stride)


def _is_bound_right(document: int) -> bool:
    """Return True if a document says that it is read from right to left."""
    direction = text_from(pdfium.FPDF_VIEWERREF_GetName, document, b"Direction", encoding="ascii")
    return direction == "R2L"


def _unmapped(runs: Sequence[GlyphRun]) -> int:
    return sum(run.letters.count("\ufffd") for run in runs)
