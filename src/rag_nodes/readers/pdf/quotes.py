"""Boxes of a quote on a printed page, found without reading the document again.

A page may be a bomb, so this runs in the child process that reads files, see `ReaderPool.locate`.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rag_nodes.core.errors import FileChangedError, NoTextLayerError
from rag_nodes.readers.pdf.engines import engine_name
from rag_nodes.readers.pdf.places import PrintedPage, opened_page, printed_page
from rag_nodes.readers.pdf.read import check_header, hash_of
from rag_nodes.readers.pdf.surface import PdfSurface
from rag_nodes.text.alignment import align, letters_of
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rag_nodes.readers.base import Limits

KEPT = 8
"""Pages that a process keeps, so that a further quote of a page costs its alignment only."""
MAX_KEPT_CHARACTERS = 50_000
"""Characters of a page above which it is not kept."""
MIN_IN_ORDER = 0.8
"""Share of a quote's words that stand on the page behind the word before them; below it the words
are those of other sentences."""

DECIMALS = 2
"""Digits of a point behind its dot."""

MIN_WHOLE = 0.9
"""Share of a quote's letters that stand behind the letter before them in their word; below it words
are put together of pieces."""

_kept: OrderedDict[tuple[Any, ...], PrintedPage] = OrderedDict()


class PageQuote(NamedTuple):
    """Characters `start:end` of a text; the rest is what stands around them on their page."""

    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Characters of the quote in its text."""
        return Span(self.start, self.end)


class PlacedBox(NamedTuple):
    """A box around one line of a quote, in PDF points.

    The origin is the upper left corner of the page as it is turned for reading, and y grows
    downwards.

    Attributes:
        page: number of the page, counted from 1 in the order of the file.
        left: left edge.
        top: upper edge.
        right: right edge.
        bottom: lower edge.
        page_width: width of the page.
        page_height: height of the page.
    """

    page: int
    left: float
    top: float
    right: float
    bottom: float
    page_width: float
    page_height: float

    @classmethod
    def unpack(cls, data: Sequence[Any]) -> Self:
        """Make a box of what JSON holds; raises ValueError if it is none."""
        try:
            number, *edges = data
            return cls(int(number), *map(float, edges))
        except TypeError as error:
            raise ValueError(f"not a box: {error}") from error


def locate_quote(
    path: Path, *, number: int, quote: PageQuote, file_hash: str | None, limits: Limits
) -> list[PlacedBox]:
    """Return a box for each printed line of a quote, in this process.

    Args:
        path: a PDF.
        number: page that holds the quote, counted from 1.
        quote: the quote and the text around it.
        file_hash: SHA-256 of the file that was read; None if nobody knows it.
        limits: size and pages that the file may have.

    Returns:
        Boxes in the order of the page; none if the page does not show the quote.

    Raises:
        FileChangedError: the file has another hash.
        NoTextLayerError: the page is scanned, and nothing is named that reads it.
        ReadError: the file cannot be opened, has no such page, or the engine cannot read it.
    """
    state = path.stat()
    key = (str(path.resolve()), state.st_ino, state.st_size, state.st_mtime_ns)
    if file_hash is not None and _hash_of(*key) != file_hash:
        raise FileChangedError(path)
    # The method of an object can be hashed even if the object cannot.
    ocr = getattr(limits.ocr, "__call__", limits.ocr)  # noqa: B004 - a text has none
    page = _page(path, number, limits, (*key, engine_name(limits.pdf_engine), ocr))
    places = align(quote.text, page.glyphs.text, page.glyphs.lines)
    surface = PdfSurface(page, places, quote.text)
    if not is_in_order(quote, places, page.glyphs.text):
        return []
    size = page.width, page.height
    return [
        PlacedBox(number, *(round(edge, DECIMALS) for edge in (*box, *size)))
        for box in surface.boxes(quote.span)
    ]


def is_in_order(quote: PageQuote, places: Sequence[int], shown: str) -> bool:
    """Return True if the words of a quote are whole on the page, most behind the word before them.

    Words of a quote that the page does not show can all be on it, in other sentences; a word that
    it does not show can be put together of pieces of others.
    """
    inside, words = _follows(quote, places, shown)
    return sum(inside) >= MIN_WHOLE * len(inside) and sum(words) >= MIN_IN_ORDER * len(words)


def _follows(quote: PageQuote, places: Sequence[int], shown: str) -> tuple[list[bool], list[bool]]:
    """Return for each letter of a word, and for each word of a cell, if it follows the last one."""
    inside: list[bool] = []
    words: list[bool] = []
    letters = [quote.start + at for at in letters_of(quote.span.of(quote.text))]
    for before, at in pairwise(letters):
        between = quote.text[before + 1 : at]
        if "|" in between:
            continue
        first, second = places[before], places[at]
        follows = 0 <= first < second and not any(map(str.isalnum, shown[first + 1 : second]))
        (words if between else inside).append(follows)
    return inside, words


def _page(path: Path, number: int, limits: Limits, key: tuple[Any, ...]) -> PrintedPage:
    """Return a page of a file, from those that this process keeps if it is among them."""
    if page := _kept.get((*key, number)):
        _kept.move_to_end((*key, number))
        return page
    check_header(path)
    with opened_page(path, number, limits) as opened:
        page = printed_page(opened)
        if not page.glyphs.text and limits.ocr is None and opened.has_images():
            raise NoTextLayerError(path, f"page {number} has no text layer, only images")
    if len(page.glyphs.text) <= MAX_KEPT_CHARACTERS:
        _kept[*key, number] = page
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return page


@lru_cache(maxsize=64)
def _hash_of(path: str, *_state: int) -> str:
    """Return the hash of a file; its state is part of the key, as a changed file has another."""
    return hash_of(path)
