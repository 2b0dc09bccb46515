"""Make the PDFs of the corpus of their texts: `python examples/corpus/build_pdf.py [NAME]`.

The text has `#` and `##` headings, `-` items, `|` table rows and paragraphs, one per line; `~`
marks where a word may be broken. The PDFs have what real ones have and readers must cope with: an
outline, running headers, page numbers, headings over two lines, words broken at line ends, and
tables without rules or with them, over several pages.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pymupdf

FOLDER = Path(__file__).parent
WIDTH, HEIGHT = 420.0, 595.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 372.0, 70.0, 540.0
BODY = 10.5
PITCH = 1.28
FIXED_DATE = "D:20260101000000Z"
REGULAR, BOLD = "helv", "hebo"


@dataclass(frozen=True)
class Book:
    """What differs between the documents.

    Attributes:
        name: of the files.
        title: in the running header.
        edition: beside it.
        columns: left edges of the columns of its tables.
        ruled: lines are drawn around cells, whose text may then have several.
    """

    name: str
    title: str
    edition: str
    columns: tuple[float, ...]
    ruled: bool = False


BOOKS = {
    book.name: book
    for book in (
        Book(
            "handbook",
            "Alderwick Fen Glasshouse Handbook",
            "Third edition",
            (48.0, 130.0, 215.0, 300.0),
        ),
        Book(
            "ferry",
            "Skerrow Sound Ferries: Operating Manual",
            "Sixth edition",
            (48.0, 88.0, 200.0, 232.0),
            ruled=True,
        ),
    )
}


@dataclass
class Layout:
    """Places lines on pages from top to bottom and remembers the headings."""

    book: Book
    document: Any = field(default_factory=pymupdf.open)
    outline: list[tuple[int, str, int]] = field(default_factory=list)
    y: float = BOTTOM
    page: Any = None

    def room(self, height: float) -> None:
        """Begin a new page where less than `height` points are left."""
        if self.page is None or self.y + height > BOTTOM:
            self.page = self.document.new_page(width=WIDTH, height=HEIGHT)
            self.y = TOP

    def line(self, text: str, *, size: float = BODY, font: str = REGULAR, x: float = LEFT) -> None:
        """Write one line and move down."""
        self.room(size * PITCH)
        self.y += size * PITCH
        self.page.insert_text((x, self.y), text, fontsize=size, fontname=font)

    def heading(self, text: str, level: int) -> None:
        """Write a heading, over two lines if it must be, and add it to the outline."""
        size = 16.0 if level == 1 else 12.5
        lines = list(wrapped(text, size=size, font=BOLD))
        self.room(size * PITCH * len(lines) + 4 * BODY * PITCH)
        self.y += 10 if self.y > TOP else 0
        self.outline.append((level, text, len(self.document)))
        for line in lines:
            self.line(line, size=size, font=BOLD)
        self.y += 5

    def paragraph(self, text: str) -> None:
        """Write running text."""
        for line in wrapped(text, size=BODY, font=REGULAR):
            self.line(line)
        self.y += 6

    def item(self, text: str) -> None:
        """Write a list item behind a bullet."""
        for number, line in enumerate(wrapped(text, size=BODY, font=REGULAR, indent=12)):
            if number == 0:
                self.line("\u2022")
                self.y -= BODY * PITCH
            self.line(line, x=LEFT + 12)
        self.y += 2

    def row(self, cells: list[str], *, head: bool) -> None:
        """Write one row of a table."""
        if self.book.ruled:
            self.ruled_row(cells, head=head)
            return
        self.room(BODY * PITCH)
        for x, cell in zip(self.book.columns, cells, strict=True):
            self.line(cell, x=x, font=BOLD if head else REGULAR)
            self.y -= BODY * PITCH
        self.y += BODY * PITCH + 2

    def ruled_row(self, cells: list[str], *, head: bool) -> None:
        """Write one row with a frame around each cell."""
        size, font = 9.0, BOLD if head else REGULAR
        columns = list(pairwise([*self.book.columns, RIGHT]))
        texts = [
            wrapped(cell, size=size, font=font, indent=RIGHT - LEFT - (right - left - 6))
            for cell, (left, right) in zip(cells, columns, strict=True)
        ]
        height = max(map(len, texts)) * size * PITCH + 5
        self.room(height)
        for lines, (left, right) in zip(texts, columns, strict=True):
            self.page.draw_rect((left, self.y, right, self.y + height), width=0.5)
            for number, line in enumerate(lines, start=1):
                place = (left + 3, self.y + number * size * PITCH)
                self.page.insert_text(place, line, fontsize=size, fontname=font)
        self.y += height

    def furniture(self) -> None:
        """Add header and footer to every page."""
        for number, page in enumerate(self.document, start=1):
            page.insert_text((LEFT, 40), self.book.title, fontsize=8, fontname=REGULAR)
            page.insert_text((RIGHT - 48, 40), self.book.edition, fontsize=8, fontname=REGULAR)
            footer = f"Page {number} of {len(self.document)}"
            page.insert_text((WIDTH / 2 - 25, 570), footer, fontsize=8, fontname=REGULAR)


def wrapped(text: str, *, size: float, font: str, indent: float = 0) -> list[str]:
    """Break text into lines, inside words only at `~` and after hyphens."""
    width = RIGHT - LEFT - indent
    lines, line = [], ""
    for word in text.split():
        pieces = re.split(r"(?<=-)(?=\w)|~", word)
        begin = f"{line} " if line else ""
        if fits(begin + "".join(pieces), width, size, font):
            line = begin + "".join(pieces)
            continue
        head = broken(begin, pieces, width, size=size, font=font)
        start = "".join(pieces[:head])
        if head:
            lines.append(begin + start + ("" if start.endswith("-") else "-"))
        else:
            lines.append(line)
        line = "".join(pieces[head:])
    return [*lines, line]


def broken(begin: str, pieces: list[str], width: float, *, size: float, font: str) -> int:
    """Count the pieces of a word that still fit on the line."""
    counts = range(len(pieces) - 1, 0, -1)
    return next(
        (n for n in counts if fits(begin + "".join(pieces[:n]) + "-", width, size, font)), 0
    )


def fits(text: str, width: float, size: float, font: str) -> bool:
    """Tell whether a line is short enough."""
    return bool(pymupdf.get_text_length(text, fontname=font, fontsize=size) <= width)


def place(layout: Layout, text: str) -> None:
    """Lay out the whole text."""
    head = True
    for line in filter(None, map(str.strip, text.splitlines())):
        mark, _, rest = line.partition(" ")
        if mark in {"#", "##"}:
            layout.heading(rest, len(mark))
        elif mark == "-":
            layout.item(rest)
        elif mark == "|":
            layout.row([cell.strip() for cell in line.strip("|").split("|")], head=head)
            head = False
            continue
        else:
            layout.paragraph(line)
        head = True


def build(book: Book) -> None:
    """Build one PDF next to this script."""
    layout = Layout(book)
    place(layout, (FOLDER / f"{book.name}.txt").read_text(encoding="utf-8"))
    layout.furniture()
    layout.document.set_toc([list(entry) for entry in layout.outline])
    layout.document.set_metadata(
        {"title": book.title, "creationDate": FIXED_DATE, "modDate": FIXED_DATE}
    )
    target = FOLDER / f"{book.name}.pdf"
    layout.document.save(target, garbage=4, deflate=True, no_new_id=True)
    print(f"{target.name}: {len(layout.document)} pages, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    for name in sys.argv[1:] or BOOKS:
        build(BOOKS[name])
