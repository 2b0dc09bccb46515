"""Characters of a page of PyMuPDF where the file prints them, for pages with combining marks.

The lines of MuPDF move such marks to the end of what is printed before them.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rag_nodes.readers.pdf.engines.flow import RIGHT_TO_LEFT, GlyphRun
from rag_nodes.readers.pdf.engines.geometry import TURNS, moved, moved_box
from rag_nodes.readers.pdf.engines.marks import MARK, put_marks
from rag_nodes.readers.pdf.engines.mupdf_pieces import font_of, quarter_of, spelled_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_nodes.readers.pdf.engines.flow import FlowLine

NEAR = 0.35
"""Font sizes from a letter within which the glyph of its mark begins."""

UNKNOWN = "\ufffd"
"""Letter that PyMuPDF gives for a glyph whose font has no Unicode value of it."""

Blocks = Sequence[Mapping[str, Any]]
Glyph = tuple[GlyphRun, int]
"""A run, and the number of a glyph in it."""


def printed_runs(page: Any, letters: str, blocks: Blocks, printed: Blocks) -> list[GlyphRun]:
    """Return the runs of a page in the order of the file; marks have the middle of their letter.

    Args:
        page: page of PyMuPDF.
        letters: all letters of the page, as MuPDF gives them.
        blocks: what PyMuPDF gives as "rawdict", with the same letters.
        printed: the same, with the letters that are printed.

    Returns:
        No runs if letters are missing, which a glyph of several letters loses, or if text from
        right to left is not stored as it is printed.
    """
    widths, marks = _widths(printed), _marks(blocks)
    runs = [_run(span, widths, marks) for span in page.get_texttrace()]
    runs = [run for run in runs if run.letters]
    whole = "".join("".join(run.letters) for run in runs)
    if _letters(letters) - _letters(whole) or not _is_as_printed(runs):
        return []
    _place_marks([(run, at) for run in runs for at in range(len(run.letters))])
    return runs


def put_printed_marks(page: Any, lines: list[FlowLine]) -> list[FlowLine]:
    """Return lines of MuPDF, each mark behind the letter over which the page prints it.

    The lines are the same list if all marks follow their letters in the file.
    """
    glyphs = [
        (run, at)
        for span in page.get_texttrace()
        for run in [_run(span, {}, {})]
        for at in range(len(run.letters))
    ]
    printed = [(run, at) for run, at in glyphs if MARK.match(run.letters[at])]
    stored = [
        (run, at)
        for line in lines
        for run in line.runs
        for at, letter in enumerate(run.letters)
        if MARK.match(letter)
    ]
    apart = set(_apart(glyphs))
    if not apart or _texts(stored) != _texts(printed):
        return lines
    moved = []
    for (run, at), (own, place) in reversed(list(zip(stored, printed, strict=True))):
        if (id(own), place) in apart:
            x = own.starts[place]
            moved.append(own.with_glyphs([(run.letters[at], x, x)]))
            del run.letters[at], run.starts[at], run.ends[at]
    put_marks([*(run for line in lines for run in line.runs), *reversed(moved)])
    for line in lines:
        line.runs = [run for run in line.runs if run.letters]
    return [line for line in lines if line.runs]


def _apart(glyphs: Sequence[Glyph]) -> Iterator[tuple[int, int]]:
    """Yield the run, by its identity, and the number of each mark that follows another letter."""
    letter: Glyph | None = None
    for run, at in glyphs:
        if not MARK.match(run.letters[at]):
            letter = letter if run.letters[at].isspace() else (run, at)
        elif letter is None or not _is_near(run, run.starts[at], *letter):
            yield id(run), at


def _texts(glyphs: Sequence[Glyph]) -> list[str]:
    return [run.letters[at] for run, at in glyphs]


def _run(
    span: dict[str, Any],
    widths: Mapping[tuple[str, str], float],
    marks: Mapping[tuple[float, float], str],
) -> GlyphRun:
    quarter = quarter_of(span["dir"])
    matrix = TURNS[quarter]
    font = font_of(span)
    run = GlyphRun([], [], [], font, 0.0, 0.0, 0.0, quarter)
    for code, _, origin, box in span["chars"]:
        if code <= 0:
            continue
        x, run.baseline = moved(matrix, *origin)
        left, run.top, right, run.bottom = moved_box(matrix, box)
        letter = spelled_out(chr(code)).strip() or " "  # some forms are a blank with marks
        if letter == UNKNOWN:
            letter = marks.get(origin, letter)
        width = widths.get((span["font"], chr(code)))
        end = right if width is None else left + width * span["size"]
        run.add(letter, *((x, x) if MARK.match(letter) else (left, end)))
    return run


def _widths(blocks: Blocks) -> dict[tuple[str, str], float]:
    """Return the widths that the file gives glyphs, in font sizes, by font and letter."""
    return {
        (span["font"], char["c"]): (char["bbox"][2] - char["bbox"][0]) / span["size"]
        for block in blocks
        for line in block.get("lines", ())
        if line["dir"] == (1.0, 0.0)
        for span in line["spans"]
        for char in span["chars"]
        if not char["c"].isspace()
    }


def _marks(blocks: Blocks) -> dict[tuple[float, float], str]:
    """Return the marks that a file says to be printed at each place, which a font may not say."""
    marks: dict[tuple[float, float], str] = defaultdict(str)
    for block in blocks:
        for line in block.get("lines", ()):
            for span in line["spans"]:
                for char in span["chars"]:
                    if MARK.match(char["c"]):
                        marks[char["origin"]] += char["c"]
    return {place: unicodedata.normalize("NFC", text) for place, text in marks.items()}


def _letters(text: str) -> Counter[str]:
    return Counter("".join(unicodedata.normalize("NFKD", text).split()))


def _is_as_printed(runs: Sequence[GlyphRun]) -> bool:
    """Return True if letters from right to left follow each other from left to right."""
    steps = Counter(
        behind > before
        for run in runs
        for (letter, before), (other, behind) in pairwise(
            [pair for pair in zip(run.letters, run.starts, strict=True) if not MARK.match(pair[0])]
        )
        if RIGHT_TO_LEFT.match(letter) and RIGHT_TO_LEFT.match(other)
    )
    return steps[True] >= steps[False]


def _place_marks(glyphs: Sequence[Glyph]) -> None:
    """Put each mark at the middle of the letter beside it in the file, if it is near that.

    In text from right to left that is stored as it is printed, the letter follows its marks.
    """
    for at, (run, place) in enumerate(glyphs):
        if not MARK.match(run.letters[place]):
            continue
        is_behind = RIGHT_TO_LEFT.match(run.letters[place]) is not None
        others = glyphs[at + 1 : at + 6] if is_behind else glyphs[max(0, at - 5) : at][::-1]
        letter = next(_without_marks(others), None)
        if letter and _is_near(run, run.starts[place], *letter):
            other, number = letter
            run.starts[place] = run.ends[place] = (other.starts[number] + other.ends[number]) / 2


def _without_marks(glyphs: Sequence[Glyph]) -> Iterator[Glyph]:
    for run, at in glyphs:
        if not (MARK.match(run.letters[at]) or run.letters[at].isspace()):
            yield run, at


def _is_near(mark: GlyphRun, x: float, run: GlyphRun, at: int) -> bool:
    size = mark.font.size
    is_in_row = run.quarter == mark.quarter and abs(run.baseline - mark.baseline) <= size
    return is_in_row and run.starts[at] - NEAR * size <= x <= run.ends[at] + NEAR * size
