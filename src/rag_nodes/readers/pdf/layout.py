"""The lines of a PDF as plain data, and what can be measured on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

DEFAULT_PITCH = 1.2
"""Distance of two baselines in font sizes, where a document has too few lines to measure it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a page, or one cell of a row. Lengths are in points, y grows downwards.

    Attributes:
        text: the characters, without blank space at the ends.
        left: x of the first character.
        top: y of the upper edge.
        right: x of the last character's end.
        bottom: y of the lower edge.
        baseline: y the characters stand on.
        size: font size of most of the characters.
        bold: most of the characters are bold.
        mono: all characters are of fixed width.
        upright: the text runs from left to right, not up or down the page.
        block: number of the text block on the page, as the PDF library groups lines.
        row: several cells with clear gaps between them, as in a table.
        links: start and end in the text, and the address, of each link to somewhere else.
        cells: this stands for a ruled table; its rows, of which all have the same columns. Lines
            within a cell are parted by line ends.
        part: number of this part of a table that runs over page breaks, counted from 1; 0 for a
            table on one page.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    baseline: float
    size: float
    bold: bool = False
    mono: bool = False
    upright: bool = True
    block: int = 0
    row: bool = False
    links: tuple[tuple[int, int, str], ...] = ()
    cells: tuple[tuple[str, ...], ...] = ()
    part: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfPage:
    """One page.

    Attributes:
        height: in points.
        lines: in reading order, as the file gives them; never sorted, because sorting by
            position shuffles columns.
    """

    height: float
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the outline (the bookmarks).

    Attributes:
        level: depth, counted from 1.
        title: as in the outline.
        page: index of the page it leads to, counted from 0; -1 where it leads nowhere.
    """

    level: int
    title: str
    page: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What was taken from a file.

    Attributes:
        pages: all pages, also empty ones and those that failed.
        outline: the bookmarks in order.
        title: title in the file's properties; "" where there is none.
        warnings: what could not be taken over.
    """

    pages: tuple[PdfPage, ...]
    outline: tuple[Entry, ...] = ()
    title: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageHeading:
    """Consecutive lines of one page that are one heading.

    Attributes:
        start: index of its first line on the page.
        stop: index one past its last line.
        level: 1 to 6.
    """

    start: int
    stop: int
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What is usual in a document.

    Attributes:
        size: font size of most of the characters.
        pitch: distance of two baselines within a paragraph, in font sizes.
        mono: most of the text is of fixed width, so that this says nothing.
    """

    size: float
    pitch: float
    mono: bool


def measure(pages: Sequence[PdfPage]) -> Measures:
    """Measure font size, line pitch and fixed width over all pages."""
    sizes: Counter[float] = Counter()
    mono = 0
    for line in _lines(pages):
        sizes[rounded(line.size)] += len(line.text)
        mono += len(line.text) * line.mono
    pitches = list(_pitches(pages))
    return Measures(
        size=max(sizes, key=lambda size: (sizes[size], size), default=10.0),
        pitch=median(pitches) if pitches else DEFAULT_PITCH,
        mono=2 * mono > sizes.total(),
    )


def rounded(size: float) -> float:
    """Font size to half a point: justified text is set in sizes that differ by hundredths."""
    return round(2 * size) / 2


def _lines(pages: Iterable[PdfPage]) -> Iterator[Line]:
    return (line for page in pages for line in page.lines)


def _pitches(pages: Iterable[PdfPage]) -> Iterator[float]:
    for page in pages:
        for above, below in zip(page.lines, page.lines[1:], strict=False):
            step = below.baseline - above.baseline
            if above.block == below.block and 0.5 * below.size < step < 4 * below.size:
                yield step / below.size
