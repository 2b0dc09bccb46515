"""Pages that are pictures: their words by OCR, as an engine would give those of other pages."""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING

from rag_nodes.readers.ocr import read_words
from rag_nodes.readers.pdf.engines import flow
from rag_nodes.readers.pdf.engines.flow import FlowLine, GlyphRun
from rag_nodes.readers.pdf.engines.geometry import moved_box
from rag_nodes.readers.pdf.engines.protocol import Font
from rag_nodes.readers.pdf.lines import layout_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rag_nodes.readers.base import Limits
    from rag_nodes.readers.ocr import Ocr, OcrWord
    from rag_nodes.readers.pdf.engines.protocol import (
        Area,
        Box,
        EnginePage,
        Glyph,
        Matrix,
        TextLine,
        Word,
    )

DPI = 200
"""Pixels per inch of the pictures that are read."""
MAX_PIXELS = 6_000
"""Pixels of the longer side of a picture, whatever size the page has."""
SURE = 60.0
"""Mean confidence of the words of a page, of 100, below which it is perhaps upside down."""
POINTS = 72
"""Points per inch."""
_SHOWN: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
GAP = 1.5
"""Heights of a word between two words of a row from which they are two lines: cells, columns."""


class ScannedPage:
    """A page as `EnginePage`, with the words that OCR has read; only the scan is drawn on it.

    A page that OCR reads better upside down is a scan that was fed so: its lines have the
    coordinates of the page turned by half, and `turn` leads back to the page as it is shown.

    Args:
        page: the page without text.
        path: its file, for errors.
        ocr: what reads it.

    Raises:
        OcrError: the page cannot be read.
    """

    def __init__(self, page: EnginePage, path: Path, ocr: Ocr) -> None:
        self._page = page
        self.confidence, self.turn = 0.0, _SHOWN
        self.width, self.height = page_size = page.width, page.height
        scale = min(DPI / POINTS, MAX_PIXELS / max(self.width, self.height, 1.0))
        dpi = round(scale * POINTS)
        for is_turned in (False, True):
            size, words = read_words(path, page.png(scale, is_turned=is_turned), dpi, ocr)
            confidence = fmean([word.confidence for word in words] or [0.0])
            if not is_turned or confidence > self.confidence:
                self.confidence = confidence
                self.turn = (-1.0, 0.0, 0.0, -1.0, *page_size) if is_turned else _SHOWN
                self._lines = _lines_of(_scaled(words, size, page_size))
            if confidence >= SURE:
                break

    def lines(self) -> list[TextLine]:
        """Return the lines that OCR has read."""
        return flow.text_lines(self._lines)

    def words(self) -> list[Word]:
        """Return the words of the lines."""
        return list(flow.words(self._lines))

    def glyph_lines(self) -> Iterator[list[Glyph]]:
        """Yield the letters of each line; those of a word have equal shares of its box."""
        return flow.glyph_lines(self._lines)

    def edges(self) -> tuple[Box, ...]:
        """Return nothing, because rulings are part of the picture."""
        return ()

    def links(self) -> Iterator[Area]:
        """Yield the links of the page."""
        for *edges, address in self._page.links():
            left, top, right, bottom = edges
            box = moved_box(self._page.turn, (left, top, right, bottom))
            yield *moved_box(self.turn, box), address

    def has_images(self) -> bool:
        """Return True, as the page is a picture."""
        return True

    def is_marked(self) -> bool:
        """Return True, as the page is a picture."""
        return True

    def png(self, scale: float, *, is_turned: bool = False) -> bytes:
        """Draw the page."""
        return self._page.png(scale, is_turned=is_turned)


def with_ocr(page: EnginePage, path: Path, limits: Limits) -> EnginePage:
    """Return a page with the words that OCR reads if the page has pictures and no text.

    Raises:
        OcrError: the page cannot be read.
    """
    if limits.ocr is None or layout_lines(page.lines()) or not page.has_images():
        return page
    return ScannedPage(page, path, limits.ocr)


def _scaled(
    words: Iterable[OcrWord], pixels: tuple[float, float], points: tuple[float, float]
) -> Iterator[OcrWord]:
    """Yield words in points."""
    x, y = (length / max(count, 1) for length, count in zip(points, pixels, strict=True))
    for word in words:
        left, top, right, bottom = x * word.left, y * word.top, x * word.right, y * word.bottom
        yield word._replace(left=left, top=top, right=right, bottom=bottom)


def _lines_of(words: Iterable[OcrWord]) -> list[FlowLine]:
    """Make lines of words in their order.

    All have one font size, because the heights of words say more about their letters than about
    their font.
    """
    rows: list[list[OcrWord]] = []
    for word in words:
        if rows and _goes_on(rows[-1][-1], word):
            rows[-1].append(word)
        else:
            rows.append([word])
    heights = [max(w.bottom for w in row) - min(w.top for w in row) for row in rows]
    font = Font(float(max(1, round(median(heights or [1.0])))), bold=False, mono=False)
    numbers: dict[int, int] = {}
    return [
        FlowLine(_runs(row, font), numbers.setdefault(row[0].block, len(numbers))) for row in rows
    ]


def _goes_on(before: OcrWord, word: OcrWord) -> bool:
    """Return True if a word stands in the row of the word before."""
    height = max(before.bottom - before.top, word.bottom - word.top)
    shared = min(before.bottom, word.bottom) - max(before.top, word.top)
    lower = min(before.bottom - before.top, word.bottom - word.top)
    gap = max(word.left - before.right, before.left - word.right)
    return before.block == word.block and 2 * shared > lower and gap <= GAP * height


def _runs(row: Sequence[OcrWord], font: Font) -> list[GlyphRun]:
    """Return a run for each word, with a blank behind each but the last."""
    baseline = median(word.bottom for word in row)
    runs: list[GlyphRun] = []
    for word in row:
        if runs:
            end = runs[-1].ends[-1]
            runs[-1].add(" ", end, max(end, word.left))
        share = (word.right - word.left) / len(word.text)
        starts = [word.left + share * at for at in range(len(word.text) + 1)]
        letters = list(word.text)
        runs.append(
            GlyphRun(letters, starts[:-1], starts[1:], font, baseline, word.top, word.bottom)
        )
    return runs
