"""How many sentences of PDFs get boxes, whether they are the right ones, and what that costs.

    python benchmarks/boxes.py FILE.pdf ... [--sheet sheet.png]

Sentences are drawn at random from each document. PyMuPDF's own search is the second opinion; rows
of tables are counted apart, because its rectangles also cover the gaps between cells. A sentence is
also looked for on another page that does not have it, where no box may be.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pymupdf
from measuring import markdown_table

from rag_nodes.core.errors import EncryptedFileError, NoTextLayerError
from rag_nodes.readers import Limits, locate
from rag_nodes.readers.locating import MARGIN
from rag_nodes.readers.pdf import read_pdf
from rag_nodes.readers.pdf.engines.mupdf import PyMuPDFPage
from rag_nodes.readers.pdf.places import page_glyphs
from rag_nodes.readers.pdf.quotes import PageQuote, PlacedBox, _kept, locate_quote
from rag_nodes.text.alignment import letters_of
from rag_nodes.text.sentences import sentence_bounds

SEED = 7
PER_DOCUMENT = 200
"""Sentences of each document."""
COVERED = 0.9
"""Share of the width of boxes that the other side must cover, to agree."""
NEARLY = 0.95
"""Likeness of letters above which a box counts as right."""
SHEET = 200
"""Sentences on the contact sheet."""
COLUMNS, ROWS, CELL, HEIGHT = 4, 50, 420, 150
"""Cells of the contact sheet, and their size in pixels."""
MIN_LETTERS = 12
"""Letters of a sentence that can be looked for on another page: shorter ones are anywhere."""
LIMITS = Limits()


@dataclass
class Sentence:
    """A sentence, the page it is on, and the text of that page."""

    path: Path
    page: int
    text: str
    start: int
    end: int
    boxes: list[PlacedBox] = field(default_factory=list)

    @property
    def quote(self) -> str:
        """The sentence itself."""
        return self.text[self.start : self.end]

    @property
    def is_row(self) -> bool:
        """True for a row of a table, ruled or not: its cells stand apart."""
        return "|" in self.quote or "  " in self.quote

    def located(self, page: int, *, alone: bool = False) -> list[PlacedBox]:
        """Return its boxes on a page, in this process."""
        first = self.start if alone else max(0, self.start - MARGIN)
        last = self.end if alone else self.end + MARGIN
        quote = PageQuote(self.text[first:last], self.start - first, self.end - first)
        return locate_quote(self.path, number=page, quote=quote, file_hash=None, limits=LIMITS)


def sentences_of(path: Path, chance: random.Random) -> tuple[list[Sentence], list[str]]:
    """Return sentences of a document in the order of its pages, and the texts of all its pages."""
    reading = read_pdf(path, LIMITS)
    starts = [*(reading.page_starts or ()), len(reading.text)]
    pages = [reading.text[a:b] for a, b in pairwise(starts)]
    sentences = [
        Sentence(path, number, text, start, end)
        for number, text in enumerate(pages, 1)
        for line in re.finditer(r"[^\n]+", text)
        for start, end in zip(*sentence_bounds(text, *line.span()), strict=True)
        if len(letters_of(text[start:end])) > 2  # noqa: PLR2004 - not a number of a list
    ]
    drawn = chance.sample(sentences, min(PER_DOCUMENT, len(sentences)))
    return sorted(drawn, key=lambda sentence: (sentence.page, sentence.start)), pages


def letters(text: str) -> str:
    """Return letters and digits, lower case."""
    return "".join(text[at] for at in letters_of(text)).lower()


def likeness(sentence: Sentence, glyphs: Any) -> float:
    """Return how alike the letters of a sentence are to those under its boxes, from 0 to 1."""
    under = Counter(
        letter.lower()
        for letter, (left, top, right, bottom) in zip(glyphs.text, glyphs.boxes, strict=True)
        if letter.isalnum()
        and any(
            box.left <= (left + right) / 2 <= box.right
            and box.top <= (top + bottom) / 2 <= box.bottom
            for box in sentence.boxes
        )
    )
    wanted = Counter(letters(sentence.quote))
    return 2 * (wanted & under).total() / max(1, wanted.total() + under.total())


def agrees(boxes: Sequence[PlacedBox], rectangles: Sequence[Any]) -> bool:
    """Return True if boxes and the rectangles of a search cover each other, but for a tenth."""
    mine = [(box.left, box.top, box.right, box.bottom) for box in boxes]
    theirs = [tuple(rectangle) for rectangle in rectangles]
    return all(covered(box, other) >= COVERED for box, other in ((mine, theirs), (theirs, mine)))


def covered(boxes: Sequence[Any], others: Sequence[Any]) -> float:
    """Return the share of the width of boxes over which others on the same line lie."""
    total = shared = 0.0
    for left, top, right, bottom in boxes:
        total += right - left
        pieces = sorted(
            (max(left, x), min(right, to))
            for x, y, to, low in others
            if min(bottom, low) - max(top, y) > 0.5 * min(bottom - top, low - y)
        )
        reached = left
        for start, end in pieces:
            shared += max(0.0, end - max(start, reached))
            reached = max(reached, end)
    return shared / total if total else 1.0


def elsewhere(sentence: Sentence, printed: Sequence[str]) -> Iterator[int]:
    """Yield the neighbouring pages that do not show the sentence."""
    wanted = letters(sentence.quote)
    if len(wanted) >= MIN_LETTERS:
        for number in (sentence.page + 1, sentence.page - 1):
            if 1 <= number <= len(printed) and wanted not in printed[number - 1]:
                yield number


class Times(NamedTuple):
    """Seconds of the first sentence of a document, of the first of a page, and of further ones."""

    first: list[float]
    page: list[float]
    further: list[float]

    def __str__(self) -> str:
        """Give the first, the medians and the longest of the last kind, in milliseconds."""
        longest = [max(self.further)] if self.further else []
        kinds = (self.first, self.page, self.further, longest)
        return " / ".join(f"{1000 * median(kind):.0f}" if kind else "-" for kind in kinds)


@dataclass
class Figures:
    """Counts of one document."""

    sentences: list[Sentence]
    exact: int = 0
    nearly: int = 0
    searched: int = 0
    agreed: int = 0
    rows: int = 0
    rows_agreed: int = 0
    strays: list[tuple[Sentence, int]] = field(default_factory=list)
    asked_elsewhere: int = 0
    disagreeing: list[Sentence] = field(default_factory=list)
    unlike: list[tuple[float, Sentence]] = field(default_factory=list)
    times: list[Times] = field(default_factory=list)


def measured(path: Path, chance: random.Random) -> Figures:
    """Look for the sentences of a document."""
    sentences, pages = sentences_of(path, chance)
    figures = Figures(sentences)
    with pymupdf.open(path) as document:
        for sentence in sentences:
            sentence.boxes = sentence.located(sentence.page)
            judge(figures, sentence, document[sentence.page - 1])
            search(figures, sentence, document[sentence.page - 1], pages[sentence.page - 1])
        printed = [letters(page.get_text()) for page in document]
    for sentence in sentences:
        for number in elsewhere(sentence, printed):
            for alone in (False, True):
                figures.asked_elsewhere += 1
                if sentence.located(number, alone=alone):
                    figures.strays.append((sentence, number))
    return figures


def judge(figures: Figures, sentence: Sentence, page: Any) -> None:
    """Compare the letters of a sentence with those under its boxes."""
    if sentence.boxes:
        alike = likeness(sentence, page_glyphs(PyMuPDFPage(page)))
        figures.exact += alike == 1
        figures.nearly += alike >= NEARLY
        if alike < NEARLY:
            figures.unlike.append((alike, sentence))


def search(figures: Figures, sentence: Sentence, page: Any, text: str) -> None:
    """Compare boxes with what PyMuPDF's search finds, if the page has the sentence once."""
    rectangles = [rectangle * page.rotation_matrix for rectangle in page.search_for(sentence.quote)]
    if rectangles and sentence.is_row:
        figures.rows += 1
        figures.rows_agreed += agrees(sentence.boxes, rectangles)
    elif rectangles and letters(text).count(letters(sentence.quote)) == 1:
        figures.searched += 1
        if agrees(sentence.boxes, rectangles):
            figures.agreed += 1
        else:
            figures.disagreeing.append(sentence)


def timed(figures: Figures) -> None:
    """Take the time of the first sentence of the document, of other pages and of known pages.

    That of the processor in this process, which others do not lengthen, and on the clock in a warm
    child.
    """
    for clock, ask in ((time.process_time, _here), (time.perf_counter, _in_child)):
        _kept.clear()
        last, times = 0, Times([], [], [])
        for sentence in figures.sentences:
            begun = clock()
            ask(sentence)
            kind = times.further if sentence.page == last else times.page
            (kind if last else times.first).append(clock() - begun)
            last = sentence.page
        figures.times.append(times)


def _here(sentence: Sentence) -> None:
    sentence.located(sentence.page)


def _in_child(sentence: Sentence) -> None:
    locate(sentence.path, sentence.page, sentence.quote, within=sentence.text)


def sheet(sentences: Sequence[Sentence], target: Path) -> None:
    """Draw the surroundings of sentences with their boxes, a cell each."""
    out = pymupdf.open()
    page = out.new_page(width=COLUMNS * CELL, height=ROWS * HEIGHT)
    for number, sentence in enumerate(sentences):
        x, y = number % COLUMNS * CELL, number // COLUMNS * HEIGHT
        cell = pymupdf.Rect(x + 4, y + 20, x + CELL - 4, y + HEIGHT - 4)
        words = f"{number} {sentence.path.stem[:14]} p{sentence.page}: {sentence.quote}"
        page.insert_text((x + 4, y + 14), words[:88].replace("\n", " "), fontsize=8)
        if not sentence.boxes:
            page.insert_text((x + 4, y + 40), "no boxes", fontsize=14, color=(1, 0, 0))
            continue
        with pymupdf.open(sentence.path) as document:
            shown = document[sentence.page - 1]
            back = shown.derotation_matrix
            for box in sentence.boxes:
                shown.draw_rect(
                    pymupdf.Rect(box.left, box.top, box.right, box.bottom) * back,
                    color=(1, 0.3, 0), fill=(1, 0.85, 0), fill_opacity=0.35, width=0.4,
                )  # fmt: skip
            top = min(box.top for box in sentence.boxes)
            left, right = 0, shown.rect.width
            height = (right - left) * cell.height / cell.width
            top = max(0, min(top - height / 4, shown.rect.height - height))
            clip = pymupdf.Rect(left, top, right, min(top + height, shown.rect.height))
            picture = shown.get_pixmap(dpi=110, clip=clip)
            page.insert_image(cell, pixmap=picture)
    out[0].get_pixmap(dpi=96).save(target)


def tell(name: str, figures: Figures) -> None:
    """Print the sentences to look at."""
    lines = [
        *(("no boxes", sentence) for sentence in figures.sentences if not sentence.boxes),
        *((f"likeness {alike:.2f}", sentence) for alike, sentence in figures.unlike),
        *(("search disagrees", sentence) for sentence in figures.disagreeing),
        *((f"boxes on page {number}", sentence) for sentence, number in figures.strays),
    ]
    for what, sentence in lines:
        print(f"{what}: {name}, p. {sentence.page}: {sentence.quote[:150]!r}")


def main() -> None:
    """Print the figures and write the contact sheet."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("files", nargs="+", type=Path)
    arguments.add_argument("--sheet", type=Path)
    given = arguments.parse_args()
    chance = random.Random(SEED)  # noqa: S311 - a sample
    locate(given.files[0], 1, "starts the child process")
    rows, everything, total = [], [], Counter[str]()
    for path in given.files:
        try:
            figures = measured(path, chance)
        except (EncryptedFileError, NoTextLayerError):
            continue
        timed(figures)
        everything += figures.sentences
        placed = sum(bool(sentence.boxes) for sentence in figures.sentences)
        counts = {
            "sentences": len(figures.sentences),
            "placed": placed,
            "exact": figures.exact,
            "nearly": figures.nearly,
            "searched": figures.searched,
            "agreed": figures.agreed,
            "rows": figures.rows,
            "rows_agreed": figures.rows_agreed,
            "asked": figures.asked_elsewhere,
            "strays": len(figures.strays),
        }
        total.update(counts)
        rows.append((path.name, *_row(counts), *map(str, figures.times)))
        tell(path.name, figures)
    rows.append(("all", *_row(total), "", ""))
    names = (
        "document", "sentences", "with boxes", "letters exact / ≥ 95 %", "agree with search",
        "rows agree", "boxes on another page", "CPU ms: first / page / further / longest",
        "ms in the child",
    )  # fmt: skip
    print(markdown_table(names, rows))
    if given.sheet:
        sheet(chance.sample(everything, min(SHEET, len(everything))), given.sheet)


def _row(counts: Any) -> tuple[str, ...]:
    return (
        f"{counts['sentences']:,}",
        f"{counts['placed'] / counts['sentences']:.2%}",
        " / ".join(f"{counts[count] / counts['sentences']:.1%}" for count in ("exact", "nearly")),
        f"{counts['agreed']} of {counts['searched']}",
        f"{counts['rows_agreed']} of {counts['rows']}",
        f"{counts['strays']} of {counts['asked']:,}",
    )


if __name__ == "__main__":
    main()
