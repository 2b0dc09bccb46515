"""Tables that run over page breaks: what goes on has no header of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.readers.pdf.layout import Line, Page

SAME = 3.0
"""Points within which two edges are the same."""
LOW = 0.6
"""Share of the page's height that a table must reach down to, to go on on the next page."""


def with_continued_tables(pages: Sequence[Page]) -> tuple[Page, ...]:
    """Mark the tables that go on from the end of the page before, and drop their repeated header.

    A table goes on where nothing but furniture stands between the two parts, both have the same
    edges and number of columns, and the first reaches far down its page.

    Args:
        pages: without running headers and footers.

    Returns:
        The pages; the parts of a table are numbered from 1, and all have the same columns, those
        in which any part has text.
    """
    done = list(pages)
    chain: list[int] = []
    for number, page in enumerate(done):
        if chain and _goes_on(done[chain[-1]], page):
            chain.append(number)
        else:
            _align(done, chain)
            chain = [number]
        if len(page.lines) > 1:  # what ends this page is not what began it
            _align(done, chain)
            chain = [number]
    _align(done, chain)
    return tuple(done)


def _goes_on(before: Page, page: Page) -> bool:
    if not before.lines or not page.lines:
        return False
    above, below = before.lines[-1], page.lines[0]
    if not (above.cells and below.cells and len(above.cells[0]) == len(below.cells[0])):
        return False
    edges = abs(above.left - below.left) <= SAME and abs(above.right - below.right) <= SAME
    return edges and above.bottom >= LOW * before.height


def _align(pages: list[Page], chain: Sequence[int]) -> None:
    """Give all parts of a table the same columns, and its header to the first alone."""
    if len(chain) < 2:  # noqa: PLR2004 - a table on one page
        return
    places = [len(pages[chain[0]].lines) - 1, *(0 for _ in chain[1:])]
    parts = [pages[number].lines[at] for number, at in zip(chain, places, strict=True)]
    used = sorted(
        {at for part in parts for row in part.cells for at, cell in enumerate(row) if cell}
    )
    head = parts[0].cells[0]
    for count, (number, at, part) in enumerate(zip(chain, places, parts, strict=True), start=1):
        body = part.cells[1:] if count > 1 and part.cells[0] == head else part.cells
        cells = tuple(tuple(row[column] for column in used) for row in body)
        pages[number] = _with_line(pages[number], at, replace(part, cells=cells, part=count))


def _with_line(page: Page, at: int, line: Line) -> Page:
    return replace(page, lines=(*page.lines[:at], line, *page.lines[at + 1 :]))
