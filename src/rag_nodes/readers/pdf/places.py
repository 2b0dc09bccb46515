"""The characters of a printed page with the boxes they cover, and the boxes of what a text says.

Which of them a text is shown by, `rag_nodes.text.alignment.align` finds.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.core.errors import CorruptFileError, PageMissingError
from rag_nodes.readers.pdf.engines import opened
from rag_nodes.readers.pdf.engines.geometry import union
from rag_nodes.readers.pdf.engines.protocol import UnreadableError
from rag_nodes.readers.pdf.lines import LIGATURES, SYMBOL_BULLETS
from rag_nodes.readers.pdf.scans import with_ocr

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rag_nodes.readers.base import Limits
    from rag_nodes.readers.pdf.engines.protocol import Box, EnginePage

SLACK = 0.25
"""Heights of a character by which others on its line may stand higher or lower in one box."""

_NOTHING = re.compile("[\x00-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd]")
"""Characters of no text: large brackets are built of them, in boxes that stand anywhere."""


class Glyphs(NamedTuple):
    """The characters of a page as `extract` orders them, their boxes, and the line of each."""

    text: str
    boxes: list[Box]
    lines: list[int]


class PrintedPage(NamedTuple):
    """A page as it is turned for reading: width and height in points, and its characters."""

    width: float
    height: float
    glyphs: Glyphs


@contextmanager
def opened_page(path: Path, number: int, limits: Limits) -> Iterator[EnginePage]:
    """Open a page of a PDF, counted from 1.

    Raises:
        ReadError: the file cannot be opened, has no such page, or the engine cannot read it.
    """
    with opened(path, limits) as document:
        if not 1 <= number <= document.page_count:
            raise PageMissingError(path, _pages_in_words(number, document.page_count))
        try:
            with document.page(number - 1) as page:
                yield with_ocr(page, path, limits)
        except UnreadableError as error:
            raise CorruptFileError(path, f"page {number}: {error}") from error


def _pages_in_words(number: int, count: int) -> str:
    pages = "only one page" if count == 1 else f"{count:,} pages"
    return f"it has no page {number:,}, as it has {pages}"


def printed_page(page: EnginePage) -> PrintedPage:
    """Return size and characters of a page."""
    return PrintedPage(page.width, page.height, page_glyphs(page))


def page_glyphs(page: EnginePage) -> Glyphs:
    """Return the characters of a page, with boxes on the page as it is turned for reading."""
    a, b, c, d, e, f = page.turn
    letters: list[str] = []
    boxes: list[Box] = []
    lines: list[int] = []
    for number, line in enumerate(page.glyph_lines()):
        for text, (left, top, right, bottom) in line:
            shown = _NOTHING.sub(" ", text.translate(SYMBOL_BULLETS)).translate(LIGATURES)
            width = (right - left) / len(shown)
            for step, letter in enumerate(shown):
                x, after = left + step * width, left + (step + 1) * width
                across = sorted((a * x + c * top + e, a * after + c * bottom + e))
                down = sorted((b * x + d * top + f, b * after + d * bottom + f))
                letters.append(letter)
                boxes.append((across[0], down[0], across[1], down[1]))
                lines.append(number)
    return Glyphs("".join(letters), boxes, lines)


def boxes_of(places: Sequence[int], glyphs: Glyphs) -> list[Box]:
    """Return the boxes of the characters at some positions, joined along lines; -1 is skipped."""
    boxes: list[Box] = []
    last = -1
    for at in sorted({place for place in places if place >= 0}):
        box = glyphs.boxes[at]
        between = glyphs.text[last + 1 : at]
        on_line = last >= 0 and glyphs.lines[at] == glyphs.lines[last]
        if on_line and _in_row(boxes[-1], box) and not any(map(str.isalnum, between)):
            boxes[-1] = union((boxes[-1], box))
        else:
            boxes.append(box)
        last = at
    return boxes


def _in_row(first: Box, other: Box) -> bool:
    """Return True if two characters of a line, across or down the page, are no index of another."""
    return any(
        abs(first[side] - other[side]) <= SLACK * min(first[side + 2] - first[side], high - low)
        and abs(first[side + 2] - other[side + 2]) <= SLACK * (high - low)
        for side, (low, high) in enumerate(((other[0], other[2]), (other[1], other[3])))
    )
