"""How many sentences of a PDF's text are found on its printed pages, and what that costs.

    python benchmarks/places.py FILE.pdf ...

Every sentence and line of a document is looked for; the letters whose centres lie under its boxes
are compared with its own, so text that is covered too much counts as much as text that is not.
"""

from __future__ import annotations

import re
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pymupdf
from measuring import markdown_table

from rag_nodes.readers import Limits
from rag_nodes.readers.pdf import read_pdf
from rag_nodes.readers.pdf.engines.mupdf import PyMuPDFPage
from rag_nodes.readers.pdf.engines.protocol import Box
from rag_nodes.readers.pdf.places import boxes_of, page_glyphs
from rag_nodes.text.alignment import align, letters_of
from rag_nodes.text.sentences import sentence_bounds

NEARLY = 0.95


class Found(NamedTuple):
    """What was found of one document.

    Attributes:
        spans: how many there are.
        exact: of which every letter is covered and no other one.
        nearly: likewise, but for one letter in twenty.
        seconds: of CPU for each page.
    """

    spans: int
    exact: int
    nearly: int
    seconds: list[float]


def found_in(path: Path) -> Found:
    """Look for every sentence of a PDF on its pages."""
    reading = read_pdf(path, Limits())
    starts = [*(reading.page_starts or ()), len(reading.text)]
    likeness: list[float] = []
    seconds = []
    with pymupdf.open(path) as document:
        for number, page in enumerate(document):
            text = reading.text[starts[number] : starts[number + 1]]
            begun = time.process_time()
            glyphs = page_glyphs(PyMuPDFPage(page))
            places = align(text, glyphs.text, glyphs.lines)
            seconds.append(time.process_time() - begun)
            letters = [
                (glyph, (box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
                for glyph, box in zip(glyphs.text, glyphs.boxes, strict=True)
                if glyph.isalnum()
            ]
            for start, end in _spans(text):
                wanted = Counter(_plain(text[start + at]) for at in letters_of(text[start:end]))
                covered = _under(boxes_of(places[start:end], glyphs), letters)
                both = (wanted & covered).total()
                if wanted:
                    likeness.append(2 * both / (wanted.total() + covered.total()))
    exact, nearly = (
        sum(share == 1 for share in likeness),
        sum(share >= NEARLY for share in likeness),
    )
    return Found(len(likeness), exact, nearly, seconds)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for line in re.finditer(r"[^\n]+", text):
        yield from zip(*sentence_bounds(text, *line.span()), strict=True)


def _plain(letter: str) -> str:
    """Return a letter as it is printed: the text has raised digits as characters of their own."""
    return unicodedata.normalize("NFKC", letter)


def _under(boxes: Iterable[Box], letters: Iterable[tuple[str, float, float]]) -> Counter[str]:
    areas = list(boxes)
    return Counter(
        _plain(letter)
        for letter, x, y in letters
        if any(left <= x <= right and top <= y <= bottom for left, top, right, bottom in areas)
    )


def main() -> None:
    """Print the table."""
    rows = []
    for path in map(Path, sys.argv[1:]):
        spans, exact, nearly, seconds = found_in(path)
        shares = f"{exact / spans:.2%}", f"{nearly / spans:.2%}"
        times = f"{1000 * median(seconds):.0f} / {1000 * max(seconds):.0f}"
        rows.append((path.name, f"{spans:,}", *shares, times))
    print(
        markdown_table(
            ("document", "spans", "exact", "≥ 95 %", "CPU ms a page, median / max"), rows
        )
    )


if __name__ == "__main__":
    main()
