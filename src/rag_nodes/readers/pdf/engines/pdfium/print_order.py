"""The order of print, which PDFium replaces by the order of reading in right-to-left text.

PDFium judges from each line as a whole, and takes all lines of a document that is bound at the
right for right-to-left text, so that its order has to be undone before lines are judged.
"""

from __future__ import annotations

import ctypes
import unicodedata
from collections import defaultdict
from itertools import groupby

from rag_nodes.readers.pdf.engines.bidi import MIRRORED
from rag_nodes.readers.pdf.engines.pdfium.native import pdfium

_LINE_END = "\r\n"
_LEFT, _RIGHT, _WEAK, _NEUTRAL = "LRwn"
_KINDS = {"L": _LEFT, "R": _RIGHT, "AL": _RIGHT}
_KINDS |= dict.fromkeys(("AN", "EN", "NSM", "CS", "ES", "ET", "BN"), _WEAK)

_FORMS: dict[str, list[str]] = defaultdict(list)
for _form in map(chr, (*range(0xFB50, 0xFDFC), *range(0xFE70, 0xFEFD))):
    _FORMS[unicodedata.normalize("NFKC", _form)].append(_form)


def in_print_order(letters: list[str], *, is_bound_right: bool) -> tuple[list[int], list[str]]:
    """Return the numbers of characters and the characters, from left to right in each line.

    Args:
        letters: characters in PDFium's order; "" for the second half of one.
        is_bound_right: True for a document that says that it is read from right to left.
    """
    numbers: list[int] = []
    shown = list(letters)
    for is_end, group in groupby(range(len(letters)), lambda at: letters[at] in _LINE_END):
        line = list(group)
        if not is_end:
            pieces = [(kind, list(same)) for kind, same in groupby(line, _kinds(letters, line).get)]
            kinds = [kind for kind, _ in pieces]
            is_rtl = is_bound_right or kinds.count(_RIGHT) > kinds.count(_LEFT)
            is_turned = is_rtl
            for kind, piece in pieces:
                if kind in {_LEFT, _RIGHT}:
                    is_turned = kind == _RIGHT
                if is_turned and kind != _WEAK:
                    piece.reverse()
                    for at in piece:
                        shown[at] = shown[at].translate(MIRRORED)
            line = [at for _, piece in (pieces[::-1] if is_rtl else pieces) for at in piece]
        numbers += line
    return numbers, [shown[at] for at in numbers]


def _kinds(letters: list[str], line: list[int]) -> dict[int, str]:
    """Return PDFium's kind of each character of a line; half a character has that of the other."""
    kinds: dict[int, str] = {}
    kind = _NEUTRAL
    for at in line:
        if letters[at]:
            kind = _KINDS.get(unicodedata.bidirectional(letters[at]), _NEUTRAL)
        kinds[at] = kind
    return kinds


def in_order(text: str, font: int) -> str:
    """Return the letters of a right-to-left ligature in the order in which they are read.

    PDFium spells out a presentation form after it put the line in its order, so that its letters
    alone were in the order of reading before.

    Args:
        text: letters of the glyph; a single one stays.
        font: handle of its font.
    """
    if len(text) == 1:
        return text
    width = ctypes.c_float()
    for form in _FORMS.get(text[::-1], ()):
        pdfium.FPDFFont_GetGlyphWidth(font, ord(form), 1.0, ctypes.addressof(width))
        if width.value > 0:
            return text[::-1]
    return text
