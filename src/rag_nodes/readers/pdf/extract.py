"""A PDF file in, its lines as plain data out: the only module that knows PyMuPDF."""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from contextlib import contextmanager
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import (
    CorruptFileError,
    EmptyFileError,
    EncryptedFileError,
    MisnamedFileError,
    MissingExtraError,
    NoPagesError,
    NoTextLayerError,
    ReadError,
    ReadMemoryError,
)
from rag_nodes.core.processes import tell_share
from rag_nodes.readers.pdf.grids import find_grids
from rag_nodes.readers.pdf.inside_pymupdf import links_of
from rag_nodes.readers.pdf.layout import Entry, Extracted, Line, PdfPage
from rag_nodes.readers.pdf.links import with_links
from rag_nodes.readers.pdf.tables import with_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import ModuleType

    from rag_nodes.readers.base import Limits
    from rag_nodes.readers.pdf.links import Area

UNMAPPED_SHARE = 0.05
"""Share of characters without a Unicode value above which the reader warns."""
PAGES_LOOKED_AT = 50
"""Pages searched for images before a document without text is called blank."""
OUTLINE_ENTRIES = 20_000
"""Bookmarks that are looked at."""
LINKS = 500
"""Links of a page to other addresses that are looked at."""
EXTRACTING = 0.8
"""Of the time that a PDF takes to be read; the rest composes the text."""
SHARES = 50
"""How often it is told how far that is."""
NUMBERS_SHOWN = 12
"""Page numbers listed in one warning; the rest are counted."""

_MONOSPACED = 8
_BOLD = 16
_BOLD_NAME = re.compile(r"bold|black|heavy|demi", re.IGNORECASE)
_MONO_NAME = re.compile(r"mono|courier|consol|typewriter|cmtt", re.IGNORECASE)
_BLANKS = re.compile(r"[\s\u00a0]+")
_LEADERS = re.compile(r"(?:[ \u00a0]?[.\u2026\u00b7]){4,}[ \u00a0]*")
SYMBOL_BULLETS = str.maketrans(dict.fromkeys("\uf0b7\uf0a7\uf0d8\uf02d\uf0fc\uf076\uf06e", "•"))
LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)

_log = logging.getLogger(__name__)


def extract(path: Path, limits: Limits) -> Extracted:
    """Take lines, outline and title from a PDF.

    A page that fails becomes an empty page and a warning; the others are read.

    Raises:
        MissingExtraError: PyMuPDF is not installed.
        CorruptFileError: it cannot be opened, or no page can be read.
        MisnamedFileError: it opens as another kind of document.
        EncryptedFileError: it asks for a password.
        NoPagesError: it has no page.
        NoTextLayerError: its pages are images.
        EmptyFileError: its pages are blank.
        FileTooLargeError: over the limits.
        ReadMemoryError: no memory is left for a page.
    """
    with opened(path, limits) as document:
        return _extract(document, path, limits)


def text_flags() -> int:
    """What PyMuPDF is to give of a page, in this and in every other look at its characters."""
    pymupdf = load_pymupdf()
    # Images stay out: with them extraction is ten times slower. Ligatures are spelled out.
    return int(pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP)


def _extract(document: Any, path: Path, limits: Limits) -> Extracted:
    flags = text_flags()
    pages: list[PdfPage] = []
    failures: dict[int, str] = {}
    silent: list[int] = []
    blank: list[int] = []
    characters = 0
    for index in range(document.page_count):
        if index % ceil(document.page_count / SHARES) == 0:
            tell_share(EXTRACTING * index / document.page_count)
        try:
            page = document[index]
            lines = _with_structure(page, _page_lines(page.get_text("dict", flags=flags)), flags)
            if not lines:
                (silent if page.get_images() else blank).append(index + 1)
            pages.append(PdfPage(height=page.rect.height, lines=lines))
        except Exception as error:  # MuPDF raises classes of its own per page
            if is_out_of_memory(error):
                raise ReadMemoryError(path) from error
            failures[index + 1] = first_line(error)
            pages.append(PdfPage(height=0.0, lines=()))
        characters += sum(len(line.text) for line in pages[-1].lines)
        limits.check(path, characters, "characters")
    _check_text(document, path, characters, failures)
    return Extracted(
        pages=tuple(pages),
        outline=_outline(document),
        title=str((document.metadata or {}).get("title") or ""),
        warnings=tuple(_warnings(document, pages, failures, silent)),
        blank=tuple(blank),
    )


def _with_structure(page: Any, lines: tuple[Line, ...], flags: int) -> tuple[Line, ...]:
    """Add what is drawn and linked on a page: ruled tables, links to other places."""
    grids, areas = find_grids(page.get_cdrawings()), tuple(_areas(page))
    if not lines or not (grids or areas):
        return lines
    words = [word[:7] for word in page.get_text("words", flags=flags)]
    return with_tables(with_links(lines, areas, words), grids, words, _clean)


def _areas(page: Any) -> Iterator[Area]:
    external = (link for link in links_of(page) if link.is_external and link.uri)
    for link in islice(external, LINKS):
        yield *link.rect, link.uri


def _check_text(document: Any, path: Path, characters: int, failures: dict[int, str]) -> None:
    if characters:
        return
    if len(failures) == document.page_count:
        raise CorruptFileError(path, f"no page could be read: {next(iter(failures.values()))}")
    for index in range(min(document.page_count, PAGES_LOOKED_AT)):
        if index + 1 not in failures and document[index].get_bboxlog():
            raise NoTextLayerError(path)
    raise EmptyFileError(path, "its pages are blank")


def _warnings(
    document: Any, pages: list[PdfPage], failures: dict[int, str], silent: list[int]
) -> Iterator[str]:
    if document.is_repaired:
        yield "the file was damaged and has been repaired; parts may be missing"
    for page, reason in list(failures.items())[:NUMBERS_SHOWN]:
        yield f"page {page} could not be read: {reason}"
    if len(failures) > NUMBERS_SHOWN:
        yield f"{len(failures) - NUMBERS_SHOWN} more pages could not be read"
    if silent:
        yield f"no text layer, only images, on {_listed(silent)}"
    counts = Counter[bool]()
    for line in (line for page in pages for line in page.lines):
        unmapped = line.text.count("\ufffd")
        counts[True] += unmapped
        counts[False] += len(line.text) - unmapped
    if counts[True] > UNMAPPED_SHARE * counts.total():
        share = counts[True] / counts.total()
        yield f"{share:.0%} of the characters have no Unicode value in this file's fonts"


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:NUMBERS_SHOWN]))
    more = len(numbers) - NUMBERS_SHOWN
    pages = "page" if len(numbers) == 1 else "pages"
    return f"{pages} {shown} and {more} more" if more > 0 else f"{pages} {shown}"


def _outline(document: Any) -> tuple[Entry, ...]:
    try:
        entries = document.get_toc()
    except Exception as error:  # noqa: BLE001 - a broken outline must not cost the text
        _log.warning("the outline of %s could not be read: %s", document.name, first_line(error))
        return ()
    return tuple(
        Entry(level=level, title=_BLANKS.sub(" ", title).strip(), page=page - 1)
        for level, title, page, *_ in entries[:OUTLINE_ENTRIES]
    )


def _page_lines(content: dict[str, Any]) -> tuple[Line, ...]:
    lines = (
        _line(line, number)
        for number, block in enumerate(content["blocks"])
        for line in block.get("lines", ())
    )
    return tuple(line for line in lines if line is not None)


def _line(raw: dict[str, Any], block: int) -> Line | None:
    spans = raw["spans"]
    text = _clean("".join(span["text"] for span in spans))
    if not text:
        return None
    weights = [(len(span["text"].strip()), span) for span in spans]
    left, top, right, bottom = raw["bbox"]
    return Line(
        text=text,
        left=left,
        top=top,
        right=right,
        bottom=bottom,
        baseline=max(weights, key=lambda pair: pair[0])[1]["origin"][1],
        size=_dominant_size(weights),
        bold=2 * sum(weight for weight, span in weights if _is_bold(span))
        > sum(weight for weight, _ in weights),
        mono=all(_is_mono(span) for weight, span in weights if weight),
        upright=raw["dir"][0] > 0.9,  # noqa: PLR2004 - cosine of a slight slant
        block=block,
    )


def _dominant_size(weights: Iterable[tuple[int, dict[str, Any]]]) -> float:
    sizes: Counter[float] = Counter()
    for weight, span in weights:
        sizes[span["size"]] += weight
    return max(sizes, key=lambda size: (sizes[size], size))


def _is_bold(span: dict[str, Any]) -> bool:
    return bool(span["flags"] & _BOLD) or _BOLD_NAME.search(span["font"]) is not None


def _is_mono(span: dict[str, Any]) -> bool:
    return bool(span["flags"] & _MONOSPACED) or _MONO_NAME.search(span["font"]) is not None


def _clean(text: str) -> str:
    """One kind of blank, spelled-out ligatures, real bullets, short dot leaders."""
    body = text.rstrip()
    ending = "\u00ad" if body.endswith("\u00ad") else ""  # a soft hyphen matters at the end only
    body = body.replace("\u00ad", "").translate(LIGATURES).translate(SYMBOL_BULLETS)
    return _BLANKS.sub(" ", _LEADERS.sub(" ... ", body)).strip() + ending


_CODE = re.compile(r"^code=\d+: ")
_ALLOCATION = re.compile(r"\b[mc]?(?:re)?alloc\b.*\bfailed|bad_alloc")

_lock = threading.Lock()
"""MuPDF has process-wide state and is not thread-safe."""


@contextmanager
def opened(path: Path, limits: Limits) -> Iterator[Any]:
    """Open a PDF whose pages can be read; errors are those of `extract`."""
    pymupdf = load_pymupdf()
    with _lock, _quiet(pymupdf):
        try:
            document = pymupdf.open(str(path), filetype="pdf")
        except Exception as error:
            raise _damaged(path, error) from error
        with document:
            _check(document, path, limits)
            yield document


def load_pymupdf() -> ModuleType:
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


def _check(document: Any, path: Path, limits: Limits) -> None:
    if not document.is_pdf:
        raise MisnamedFileError(path, "the content is not a PDF document")
    if document.needs_pass:
        raise EncryptedFileError(path)
    try:
        count = document.page_count
    except Exception as error:
        raise _damaged(path, error) from error
    if count <= 0:
        raise NoPagesError(path)
    limits.check(path, count, "pages")


def _damaged(path: Path, error: Exception) -> ReadError:
    if is_out_of_memory(error):
        return ReadMemoryError(path)
    return CorruptFileError(path, f"the file is damaged: {first_line(error)}")


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that no memory is left, in the words of Python, MuPDF or C++."""
    return isinstance(error, MemoryError) or _ALLOCATION.search(str(error)) is not None


def first_line(error: Exception) -> str:
    """The message of an error without MuPDF's code, on one line of at most 200 characters."""
    message = _CODE.sub("", str(error).strip()) or type(error).__name__
    return message.splitlines()[0][:200]
