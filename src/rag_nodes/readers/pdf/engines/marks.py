"""Combining marks, put behind the letters over which they are printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.engines.flow import RAISED
from rag_nodes.readers.pdf.nearby import ByHeight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.readers.pdf.engines.flow import GlyphRun

MARK = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1ab0-\u1aff"
    "\u1dc0-\u1dff\u20d0-\u20ff\u3099\u309a\ufe20-\ufe2f]"
)
"""Accents and vowel points of Latin, Greek, Cyrillic, Hebrew, Arabic and kana."""


def put_marks(runs: Sequence[GlyphRun]) -> list[GlyphRun]:
    """Return the runs of a page, each mark in the glyph of the letter that is under its middle.

    A mark over no letter goes to the nearest one. The runs change.
    """
    marks: list[tuple[str, float, GlyphRun]] = []
    for run in runs:
        if not MARK.search("".join(run.letters)):
            continue
        glyphs = list(run.glyphs)
        for values in (run.letters, run.starts, run.ends):
            values.clear()
        for letter, start, end in glyphs:
            if MARK.match(letter):
                marks.append((letter, (start + end) / 2, run))
            else:
                run.add(letter, start, end)
    shown = [run for run in runs if run.letters]
    by_height = ByHeight(run.baseline for run in shown)
    for mark, x, own in marks:
        reach = RAISED * own.font.size
        near = by_height.between(own.baseline - reach, own.baseline + reach)
        letters = [
            (not start < x <= end, abs(start + end - 2 * x), number, at)
            for number in near or range(len(shown))
            if (run := shown[number]).quarter == own.quarter
            for at, (letter, start, end) in enumerate(run.glyphs)
            if not letter.isspace()
        ]
        if letters:
            *_, number, at = min(letters)
            shown[number].letters[at] += mark
    return shown
