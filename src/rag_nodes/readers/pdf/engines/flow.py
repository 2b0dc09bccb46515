"""Runs of characters in, lines and blocks out, for engines that have neither.

This is where characters become lines: a wide gap is a break, a narrow one a blank. Lines stay in
the order of the file, and a block is a group of lines at one pitch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import sub
from statistics import median
from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.engines.geometry import TURNS, moved, moved_box, union
from rag_nodes.readers.pdf.engines.protocol import FontRun, Glyph, TextLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rag_nodes.readers.pdf.engines.protocol import Box, Font, Word

RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
"""Letters of Hebrew, Arabic, Syriac and their like, presentation forms included."""
BLANK = 0.15
"""Font sizes between two characters from which a blank is between them."""
BREAK = 0.8
"""Font sizes between two characters from which they are pieces of a row, two lines here."""
RTL_BREAK = 3.0
"""Font sizes between two words of right-to-left text up to which they are in one line."""
OVERLAP = 0.5
"""Font sizes that a character may reach back over the one before, as accents do."""
RAISED = 0.6
"""Font sizes between two baselines of one line: indices and exponents."""
LOOSE = 1.25
"""Pitches of the page between two lines from which they are two blocks."""
WIDEST = 1.5
"""Font sizes between two baselines from which they are two blocks on any page: rows, items."""
PITCH = 1.2
"""Distance of two baselines in font sizes, if a page has too few lines to measure it."""
RESIZED = 1.15
"""Factor between the font sizes of two lines from which they are two blocks."""
MARKER = 3
"""Characters of a bullet or number, which may have a size of its own."""
INDENT = 1.0
"""Font sizes by which the first line of a paragraph is indented at least."""
SOLID, DOUBLE = 0.9, 2.5
"""Distances of two baselines in font sizes between which they are lines of running text."""
LONG = 0.6
"""Share of the longest line of a page from which a line is one of running text."""


@dataclass(slots=True)
class GlyphRun:
    """Neighbouring characters of one font on one baseline, in the order in which they are read.

    Coordinates are those of a frame in which the text runs from left to right, y downwards.

    Attributes:
        letters: a character for each glyph, or the characters of a ligature.
        starts: left edge of each glyph.
        ends: right edge of each glyph.
        font: size and looks.
        baseline: y of the baseline.
        top: upper edge.
        bottom: lower edge.
        quarter: quarter turns, counterclockwise, from the text of the page to this one.
        is_straight: False for slanted text, whose run is a line with the blanks it has.
    """

    letters: list[str]
    starts: list[float]
    ends: list[float]
    font: Font
    baseline: float
    top: float
    bottom: float
    quarter: int = 0
    is_straight: bool = True

    @property
    def glyphs(self) -> Iterator[tuple[str, float, float]]:
        """Letter, left and right edge of each glyph."""
        return zip(self.letters, self.starts, self.ends, strict=True)

    def with_glyphs(self, glyphs: Sequence[tuple[str, float, float]]) -> GlyphRun:
        """Return a run that looks the same, with other glyphs."""
        letters, starts, ends = map(list, zip(*glyphs, strict=True)) if glyphs else ([], [], [])
        return replace(self, letters=letters, starts=starts, ends=ends)

    def add(self, letter: str, start: float, end: float) -> None:
        """Add a glyph at the end."""
        self.letters.append(letter)
        self.starts.append(start)
        self.ends.append(end)


@dataclass(slots=True)
class FlowLine:
    """Runs that stand in a line."""

    runs: list[GlyphRun] = field(default_factory=list)
    block: int = 0

    @property
    def quarter(self) -> int:
        """Quarter turns of the text."""
        return self.runs[0].quarter

    @property
    def main(self) -> GlyphRun:
        """The longest run, whose size and baseline are the line's."""
        return max(self.runs, key=lambda run: len(run.letters))

    @property
    def text(self) -> str:
        """All letters."""
        return "".join("".join(run.letters) for run in self.runs)

    @property
    def middle(self) -> float:
        """Height of the middle of its letters."""
        return self.main.baseline - self.main.font.size / 3

    @property
    def left(self) -> float:
        """Left edge of what is printed furthest to the left."""
        return min(min(run.starts) for run in self.runs)

    @property
    def right(self) -> float:
        """Right edge of what is printed furthest to the right."""
        return max(max(run.ends) for run in self.runs)

    @property
    def start(self) -> float:
        """Left edge of the first glyph."""
        return self.runs[0].starts[0]

    @property
    def end(self) -> float:
        """Right edge of the last glyph."""
        return self.runs[-1].ends[-1]


def flow(runs: Iterable[GlyphRun]) -> list[FlowLine]:
    """Make lines of the runs of a page, in their order, and number their blocks."""
    pieces: list[FlowLine] = []
    for run in runs:
        for piece in _pieces(run):
            before = pieces[-1].runs[-1] if pieces else None
            if before is None or not _goes_on(before, piece):
                pieces.append(FlowLine())
            else:
                _put_blank(before, piece)
            pieces[-1].runs.append(piece)
    has_rtl = any(RIGHT_TO_LEFT.search(line.text) for line in pieces)
    lines = list(_rows(pieces)) if has_rtl else pieces
    _number_blocks(lines)
    return lines


def _rows(lines: Iterable[FlowLine]) -> Iterator[FlowLine]:
    """Join lines with right-to-left letters that follow each other on either side of a row."""
    row: FlowLine | None = None
    left = right = 0.0
    is_rtl = False
    for line in lines:
        is_rtl_line = RIGHT_TO_LEFT.search(line.text) is not None
        gap = max(line.left - right, left - line.right)
        if row and (is_rtl or is_rtl_line) and _is_beside(row.runs[-1], line.runs[0], gap):
            row.runs += line.runs
            left, right, is_rtl = min(left, line.left), max(right, line.right), True
            continue
        if row:
            yield row
        row, left, right, is_rtl = line, line.left, line.right, is_rtl_line
    if row:
        yield row


def _is_beside(before: GlyphRun, run: GlyphRun, gap: float) -> bool:
    size = max(before.font.size, run.font.size)
    return _is_in_row(before, run) and gap <= RTL_BREAK * size


def _pieces(run: GlyphRun) -> Iterator[GlyphRun]:
    """Yield the parts of a run between wide gaps, with blanks in the narrow ones."""
    narrow, wide = BLANK * run.font.size, BREAK * run.font.size
    gaps = map(sub, run.starts[1:], run.ends)
    if not run.is_straight or all(-wide <= gap <= narrow for gap in gaps):
        yield run
        return
    piece = run.with_glyphs(())
    for letter, start, end in run.glyphs:
        gap = start - piece.ends[-1] if piece.ends else 0.0
        if abs(gap) > wide:
            yield piece
            piece = run.with_glyphs(())
        elif gap > narrow and " " not in {letter, piece.letters[-1]}:
            piece.add(" ", piece.ends[-1], start)
        piece.add(letter, start, end)
    yield piece


def _goes_on(before: GlyphRun, run: GlyphRun) -> bool:
    """Return True if a run goes on in the line of the one before."""
    size = max(before.font.size, run.font.size)
    gap = run.starts[0] - before.ends[-1]
    return -OVERLAP * size <= gap <= BREAK * size and _is_in_row(before, run)


def _is_in_row(before: GlyphRun, run: GlyphRun) -> bool:
    size = max(before.font.size, run.font.size)
    step = run.baseline - before.baseline
    is_parallel = before.quarter == run.quarter and run.is_straight
    return is_parallel and abs(step) <= RAISED * size


def _put_blank(before: GlyphRun, run: GlyphRun) -> None:
    """Put a blank at the end of a run if there is one before the next run."""
    end, start = before.ends[-1], run.starts[0]
    is_wide = start - end > BLANK * max(before.font.size, run.font.size)
    if is_wide and " " not in {before.letters[-1], run.letters[0]}:
        before.add(" ", end, start)


def _number_blocks(lines: Sequence[FlowLine]) -> None:
    """Give lines the same block that follow each other at the pitch of the page."""
    most = min(LOOSE * _pitch(lines), WIDEST)
    block, left, right = -1, 0.0, 0.0
    for above, line in zip((None, *lines), lines, strict=False):
        if above is None or not _is_same_block(above, line, left, right, most):
            block, left, right = block + 1, line.start, line.end
        line.block = block
        left, right = min(left, line.start), max(right, line.end)


def _pitch(lines: Sequence[FlowLine]) -> float:
    """Return the median distance of two baselines of running text, in font sizes.

    Short lines, as of lists and tables, say nothing if there are others.
    """
    longest = max((line.end - line.start for line in lines), default=0.0)
    steps = [
        (below.main.baseline - above.main.baseline) / below.main.font.size
        for above, below in pairwise(lines)
        if above.end - above.start > LONG * longest and above.quarter == below.quarter
    ]
    near = [step for step in steps if SOLID < step < DOUBLE]
    return median(near) if near else PITCH


def _is_same_block(above: FlowLine, line: FlowLine, left: float, right: float, most: float) -> bool:
    """Return True if a line goes on in the block of the line above, from `left` to `right`."""
    upper, lower = above.main, line.main
    small, large = sorted((upper.font.size, lower.font.size))
    step = lower.baseline - upper.baseline
    if above.quarter != line.quarter:
        return False
    if abs(step) <= RAISED * large:  # pieces of a row
        return line.start >= above.end - small
    is_marker = min(len(upper.letters), len(lower.letters)) <= MARKER
    if large >= RESIZED * small and not is_marker:
        return False
    if line.start - above.start > INDENT * small and line.end - above.end > INDENT * small:
        return False  # a paragraph below the short end of another, a description below its term
    return line.start < right and left < line.end and 0 < step <= most * small


def text_lines(lines: Iterable[FlowLine]) -> list[TextLine]:
    """Return the lines as an engine gives them."""
    return [
        TextLine(
            [FontRun("".join(run.letters), run.font, _height(run)) for run in line.runs],
            _around(line),
            line.quarter == 0,
            line.block,
        )
        for line in lines
    ]


def words(lines: Iterable[FlowLine]) -> Iterator[Word]:
    """Yield what stands between two blanks of each line."""
    for number, line in enumerate(lines):
        word: list[tuple[str, Box]] = []
        for letter, box in (*_glyphs(line), (" ", _around(line))):
            if not letter.isspace():
                word.append((letter, box))
            elif word:
                text = "".join(letter for letter, _ in word)
                yield *union(box for _, box in word), text, line.block, number
                word = []


def glyph_lines(lines: Iterable[FlowLine]) -> Iterator[list[Glyph]]:
    """Yield the glyphs of each line."""
    for line in lines:
        yield [Glyph(letter, box) for letter, box in _glyphs(line)]


def _height(run: GlyphRun) -> float:
    """Return y of the point on the page at which the baseline of a run begins."""
    return moved(TURNS[-run.quarter % 4], run.starts[0], run.baseline)[1]


def _glyphs(line: FlowLine) -> Iterator[tuple[str, Box]]:
    for run in line.runs:
        for letter, start, end in run.glyphs:
            yield letter, _turned((start, run.top, end, run.bottom), run.quarter)


def _around(line: FlowLine) -> Box:
    top, bottom = min(run.top for run in line.runs), max(run.bottom for run in line.runs)
    return _turned((line.left, top, line.right, bottom), line.quarter)


def _turned(box: Box, quarter: int) -> Box:
    """Return a box of the frame of a run on the page."""
    return box if quarter == 0 else moved_box(TURNS[-quarter % 4], box)
