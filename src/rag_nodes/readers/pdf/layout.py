"""The lines of a PDF as plain data, and what can be measured on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rag_nodes.readers.pdf.engines.protocol import Box

DEFAULT_PITCH = 1.2
"""Distance of two baselines in font sizes, if a document has too few lines to measure it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a page, or one cell of a row. Lengths are in points, y grows downwards.

    `size` is the font's of most of its characters; `upright` text runs from left to right, not up
    or down the page. `block` is the number the PDF library gives its group, and `row` tells several
    cells with clear gaps between them. Each of `links` has its start and end in the text, and the
    address.

    `cells` are the rows of a ruled table that it stands for, all of the same columns, and `part`
    counts the parts of one that runs over page breaks from 1; 0 for a table on one page.
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

    @property
    def box(self) -> Box:
        """Left, top, right and bottom."""
        return self.left, self.top, self.right, self.bottom

    def as_table(self, box: Box, cells: tuple[tuple[str, ...], ...], block: int) -> Line:
        """Return the line that stands for a table in a box, of which this is the first."""
        left, top, right, bottom = box
        return replace(
            self,
            text=" ".join(cell for row in cells for cell in row if cell),
            left=left,
            top=top,
            right=right,
            bottom=bottom,
            baseline=bottom,
            bold=False,
            upright=True,
            block=block,
            row=True,
            links=(),
            cells=cells,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfPage:
    """One page and its lines in reading order, as the file gives them.

    They are never sorted, because sorting by position shuffles columns. If OCR has read them,
    their sizes say nothing.
    """

    height: float
    lines: tuple[Line, ...]
    is_ocr: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the outline; its page is counted from 0, -1 if it leads nowhere."""

    level: int
    title: str
    page: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """Pages, outline and title of a file: all pages, also empty ones and those that failed.

    `blank` are the numbers of pages without text and images, from 1.
    """

    pages: tuple[PdfPage, ...]
    outline: tuple[Entry, ...] = ()
    title: str = ""
    warnings: tuple[str, ...] = ()
    blank: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageHeading:
    """Lines `start` to `stop` of one page that are one heading of level 1 to 6."""

    start: int
    stop: int
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Measures of most of a document.

    The font size of most characters, the distance of baselines within a paragraph in font sizes,
    and whether most characters have a fixed width, which then marks no code.
    """

    size: float
    pitch: float
    mono: bool


def measure(pages: Sequence[PdfPage]) -> Measures:
    """Measure font size, line pitch and fixed width over all pages."""
    sizes: Counter[float] = Counter()
    mono = 0
    for line in (line for page in pages for line in page.lines):
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


def _pitches(pages: Iterable[PdfPage]) -> Iterator[float]:
    for page in pages:
        for above, below in zip(page.lines, page.lines[1:], strict=False):
            step = below.baseline - above.baseline
            if above.block == below.block and 0.5 * below.size < step < 4 * below.size:
                yield step / below.size
