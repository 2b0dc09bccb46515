"""PyMuPDF as an engine: the only module that knows it, but for what is assumed of its inside."""

from __future__ import annotations

import re
import threading
from collections import Counter
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.core.errors import (
    CorruptFileError,
    EncryptedFileError,
    MisnamedFileError,
    MissingExtraError,
    NoPagesError,
    ReadError,
    ReadMemoryError,
)
from rag_nodes.readers.pdf.engines import flow
from rag_nodes.readers.pdf.engines.doubles import LineStrip, are_printed_over
from rag_nodes.readers.pdf.engines.geometry import moved_box
from rag_nodes.readers.pdf.engines.inside_pymupdf import links_of
from rag_nodes.readers.pdf.engines.marks import MARK, put_marks
from rag_nodes.readers.pdf.engines.mupdf_pieces import (
    fields_of,
    font_of,
    glyph_lines_of,
    quarter_of,
)
from rag_nodes.readers.pdf.engines.mupdf_trace import printed_runs, put_printed_marks
from rag_nodes.readers.pdf.engines.protocol import (
    THIN,
    FontRun,
    Glyph,
    TextLine,
    UnreadableError,
)
from rag_nodes.readers.pdf.engines.reading import as_read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from rag_nodes.readers.base import Limits
    from rag_nodes.readers.pdf.engines.protocol import Area, Bookmark, Box, Matrix, Word

_SLANT = 0.9
"""Cosine of the steepest slant of text that counts as upright."""
_CODE = re.compile(r"^code=\d+: ")
_ALLOCATION = re.compile(r"\b[mc]?(?:re)?alloc\b.*\bfailed|bad_alloc")

_lock = threading.Lock()
"""MuPDF has process-wide state and is not thread-safe."""


@contextmanager
def opened(path: Path, limits: Limits) -> Iterator[PyMuPDFDocument]:
    """Open a document with PyMuPDF, which repairs damaged files; see `engines.opened`."""
    pymupdf = _load()
    with _lock, _quiet(pymupdf):
        try:
            document = pymupdf.open(str(path), filetype="pdf")
        except Exception as error:
            raise _damaged(path, error) from error
        with document:
            count = _page_count(document, path)
            limits.check(path, count, "pages")
            yield PyMuPDFDocument(document, path, count)


class PyMuPDFDocument:
    """A document of PyMuPDF; its own count of pages can fall to 0 when it repairs a file late."""

    def __init__(self, document: Any, path: Path, page_count: int) -> None:
        self._document, self._path = document, path
        self.page_count = page_count
        self.title = str((document.metadata or {}).get("title") or "")

    @contextmanager
    def page(self, index: int) -> Iterator[PyMuPDFPage]:
        """Open a page as `EngineDocument.page` says."""
        with _typed_errors(self._path):
            yield PyMuPDFPage(self._document[index])

    def outline(self) -> list[Bookmark]:
        """Return the bookmarks; raises UnreadableError."""
        with _typed_errors(self._path):
            return [(level, title, page - 1) for level, title, page, *_ in self._document.get_toc()]

    def is_repaired(self) -> bool:
        """Return MuPDF's own flag."""
        return bool(self._document.is_repaired)


class _StoredText(NamedTuple):
    """Text of a page as MuPDF gives it: its own object, made with `flags`, lines and letters."""

    textpage: Any
    flags: int
    lines: list[TextLine]
    letters: str


class PyMuPDFPage:
    """A page of PyMuPDF as the file stores it, or as shown if most text is upright only then."""

    def __init__(self, page: Any) -> None:
        self._page = page
        rectangle = page.rect
        self.width, self.height = float(rectangle.width), float(rectangle.height)
        self._pymupdf = _load()

    @property
    def turn(self) -> Matrix:
        """Matrix from the page as it is read to the page as it is shown."""
        a, b, c, d, e, f = ~self._frame * self._page.rotation_matrix
        return a, b, c, d, e, f

    @cached_property
    def _frame(self) -> Any:
        """Matrix from the page as the file stores it to the page as it is read."""
        quarter = self._page.rotation // 90
        counts = Counter[int]()
        for block in self._page.get_textpage().extractDICT()["blocks"] if quarter else ():
            for line in block.get("lines", ()):
                counts[quarter_of(line["dir"])] += sum(len(span["text"]) for span in line["spans"])
        is_turned = counts[quarter] > counts.total() / 2
        return self._page.rotation_matrix if is_turned else self._pymupdf.Identity

    def lines(self) -> list[TextLine]:
        """Return the lines of all blocks of text, without their single characters: that is fast."""
        return flow.text_lines(self._flow) if self._flow is not None else self._stored.lines

    def words(self) -> list[Word]:
        """Return the words as MuPDF parts them."""
        if self._flow is not None:
            return list(flow.words(self._flow))
        return [word[:7] for word in self._stored.textpage.extractWORDS()]

    def glyph_lines(self) -> Iterator[list[Glyph]]:
        """Yield the characters of each line."""
        if self._flow is not None:
            yield from flow.glyph_lines(self._flow)
            return
        for block in self._stored.textpage.extractRAWDICT()["blocks"]:
            for line in block.get("lines", ()):
                chars = (char for span in line["spans"] for char in span["chars"])
                yield [Glyph(char["c"], char["bbox"]) for char in chars]

    @cached_property
    def _stored(self) -> _StoredText:
        """Text as MuPDF gives it."""
        pymupdf = self._pymupdf
        # Images stay out: with them extraction is ten times slower. Ligatures are spelled out.
        flags = int(pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP)
        # The printed text counts, unless the font has no Unicode values of it.
        printed = self._text(flags | pymupdf.TEXT_IGNORE_ACTUALTEXT)
        if missing := printed.letters.count("\ufffd"):
            textpage = self._textpage(flags)
            if textpage.extractText().count("\ufffd") < missing:
                return self._text(flags)
        return printed

    def _text(self, flags: int) -> _StoredText:
        textpage = self._textpage(flags)
        lines = [
            TextLine(_runs(line["spans"]), line["bbox"], line["dir"][0] > _SLANT, number)
            for number, block in enumerate(textpage.extractDICT()["blocks"])
            for line in block.get("lines", ())
        ]
        letters = "".join([run.text for line in lines for run in line.runs])
        return _StoredText(textpage, flags, lines, letters)

    def _textpage(self, flags: int) -> Any:
        return self._page.get_textpage(flags=flags, matrix=self._frame)

    @cached_property
    def _flow(self) -> list[flow.FlowLine] | None:
        """Lines made of single characters; None for a page whose lines do as MuPDF makes them."""
        letters, fields = self._stored.letters, list(fields_of(self._page, self._frame))
        has_right_to_left = flow.RIGHT_TO_LEFT.search(letters) is not None
        # Places of marks are known on the page as the file stores it only.
        has_marks = self._frame == self._pymupdf.Identity and MARK.search(letters) is not None
        is_special = fields or has_right_to_left or has_marks
        if not (is_special or are_printed_over(_strips(self._stored.lines))):
            return None
        flags = self._stored.flags | self._pymupdf.TEXT_PRESERVE_LIGATURES
        blocks = self._blocks(flags)
        if has_right_to_left and has_marks:
            as_printed = flags | self._pymupdf.TEXT_IGNORE_ACTUALTEXT
            printed = blocks if flags == as_printed else self._blocks(as_printed)
            if runs := printed_runs(self._page, letters, blocks, printed):
                return as_read(flow.flow(put_marks(runs)), fields)
        lines = glyph_lines_of(blocks)
        with_marks = put_printed_marks(self._page, lines) if has_marks else lines
        read = as_read(with_marks, fields)
        return None if read is lines else read

    def _blocks(self, flags: int) -> list[dict[str, Any]]:
        return list(self._textpage(flags).extractRAWDICT()["blocks"])

    def edges(self) -> Iterator[Box]:
        """Yield lines across and down, and rectangles, of vector graphics."""
        frame = tuple(self._frame)
        for drawing in self._page.get_cdrawings():
            for kind, *shape in drawing["items"]:
                if kind == "l":
                    (x1, y1), (x2, y2) = shape[:2]
                    if min(abs(x1 - x2), abs(y1 - y2)) <= THIN:
                        yield moved_box(frame, (x1, y1, x2, y2))
                elif kind == "re":
                    yield moved_box(frame, shape[0])

    def links(self) -> Iterator[Area]:
        """Yield the links to other addresses."""
        matrix = self._page.derotation_matrix * self._frame
        for link in links_of(self._page):
            if link.is_external and link.uri:
                yield *(link.rect * matrix), link.uri

    def has_images(self) -> bool:
        """Return True if the page uses pictures."""
        return bool(self._page.get_images())

    def is_marked(self) -> bool:
        """Return True if anything is drawn on the page."""
        return bool(self._page.get_bboxlog())

    def png(self, scale: float, *, is_turned: bool = False) -> bytes:
        """Draw the page; not by `dpi=`, which knows no fractions."""
        factor = -scale if is_turned else scale
        matrix = type(self._page.rotation_matrix)(factor, factor)
        return bytes(self._page.get_pixmap(matrix=matrix, alpha=False).tobytes("png"))


def _strips(lines: list[TextLine]) -> Iterator[LineStrip]:
    for runs, (left, _, right, _), is_upright, _ in lines:
        if is_upright:
            lengths = [len(run.text) for run in runs]
            longest = runs[lengths.index(max(lengths))]
            yield LineStrip(0, longest.baseline, left, right, longest.font.size)


def _runs(spans: list[dict[str, Any]]) -> list[FontRun]:
    """Return the runs of a line, one if font and baseline are the same: MuPDF parts all words."""
    texts = [span["text"] for span in spans]
    fonts = list(map(font_of, spans))
    baselines = [span["origin"][1] for span in spans]
    count = len(spans)
    if fonts.count(fonts[0]) == count == baselines.count(baselines[0]):
        return [FontRun("".join(texts), fonts[0], baselines[0])]
    return list(map(FontRun, texts, fonts, baselines))


def _load() -> ModuleType:
    """Import PyMuPDF, which takes seconds; raises MissingExtraError."""
    try:
        import pymupdf
    except ImportError as error:
        raise MissingExtraError("PyMuPDF", "pdf") from error
    return pymupdf


@contextmanager
def _quiet(pymupdf: ModuleType) -> Iterator[None]:
    """Keep MuPDF from writing to stderr, and leave its switches as they were."""
    tools = pymupdf.TOOLS
    errors, warnings = tools.mupdf_display_errors(), tools.mupdf_display_warnings()
    tools.mupdf_display_errors(False)  # noqa: FBT003 - PyMuPDF's signature
    tools.mupdf_display_warnings(False)  # noqa: FBT003 - PyMuPDF's signature
    try:
        yield
    finally:
        tools.mupdf_display_errors(errors)
        tools.mupdf_display_warnings(warnings)


def _page_count(document: Any, path: Path) -> int:
    if not document.is_pdf:
        raise MisnamedFileError(path, "the content is not a PDF document")
    if document.needs_pass:
        raise EncryptedFileError(path)
    try:
        count = int(document.page_count)
    except Exception as error:
        raise _damaged(path, error) from error
    if count <= 0:
        raise NoPagesError(path)
    return count


@contextmanager
def _typed_errors(path: Path) -> Iterator[None]:
    """Raise UnreadableError or ReadMemoryError in place of the many classes that MuPDF raises."""
    try:
        yield
    except ReadError:
        raise
    except Exception as error:
        if _is_out_of_memory(error):
            raise ReadMemoryError(path) from error
        raise UnreadableError(_first_line(error)) from error


def _damaged(path: Path, error: Exception) -> ReadError:
    if _is_out_of_memory(error):
        return ReadMemoryError(path)
    return CorruptFileError(path, f"the file is damaged: {_first_line(error)}")


def _is_out_of_memory(error: Exception) -> bool:
    """Return True if an error says in the words of Python, MuPDF or C++ that no memory is left."""
    return isinstance(error, MemoryError) or _ALLOCATION.search(str(error)) is not None


def _first_line(error: Exception) -> str:
    """Return the first line of an error without MuPDF's code, 200 characters at most."""
    message = _CODE.sub("", str(error).strip()) or type(error).__name__
    return message.splitlines()[0][:200]
