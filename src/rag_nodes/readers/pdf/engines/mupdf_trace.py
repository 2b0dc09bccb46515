"""Characters of a page of PyMuPDF where the file prints them, for pages with combining marks.

The lines of MuPDF move such marks to the end of what is printed before them.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rag_nodes.readers.pdf.engines.bidi import RIGHT_TO_LEFT
from rag_nodes.readers.pdf.engines.flow import GlyphRun
from rag_nodes.readers.pdf.engines.geometry import TURNS, moved, moved_box
from rag_nodes.readers.pdf.engines.marks import MARK
from rag_nodes.readers.pdf.engines.mupdf_pieces import font_of, quarter_of, spelled_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NEAR = 0.35
"""Font sizes from a letter within which the glyph of its mark begins."""

Glyph = tuple[GlyphRun, int]
"""A run, and the number of a glyph in it."""


def printed_runs(page: Any, letters: str, blocks: Sequence[Mapping[str, Any]]) -> list[GlyphRun]:
    """Return the runs of a page in the order of the file; marks have the middle of their letter.

    Args:
        page: page of PyMuPDF.
        letters: all letters of the page, as MuPDF gives them.
        blocks: what PyMuPDF gives as "rawdict".

    Returns:
        No runs if letters are missing, which a glyph of several letters loses, or if text from
        right to left is not stored as it is printed.
    """
    widths = _widths(blocks)
    runs = [_run(span, widths) for span in page.get_texttrace()]
    runs = [run for run in runs if run.letters]
    whole = "".join("".join(run.letters) for run in runs)
    if _letters(letters) - _letters(whole) or not _is_as_printed(runs):
        return []
    _place_marks([(run, at) for run in runs for at in range(len(run.letters))])
    return runs


def _run(span: dict[str, Any], widths: Mapping[tuple[str, str], float]) -> GlyphRun:
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
        width = widths.get((span["font"], letter))
        end = right if width is None else left + width * span["size"]
        run.add(letter, *((x, x) if MARK.match(letter) else (left, end)))
    return run


def _widths(blocks: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
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
