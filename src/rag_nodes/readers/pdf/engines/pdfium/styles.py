"""Fonts of the texts of a page of PDFium, and the direction of these texts."""

from __future__ import annotations

import ctypes
from math import hypot
from typing import NamedTuple

from rag_nodes.readers.pdf.engines.looks import is_bold_name, is_mono_name
from rag_nodes.readers.pdf.engines.pdfium.native import matrix_from, pdfium, text_from
from rag_nodes.readers.pdf.engines.protocol import Font

SMALLEST = 0.1
"""Points of the smallest font: distances are measured in font sizes."""
BOLD_WEIGHT = 600
"""Weight of a font from which it is bold."""
STRAIGHT = 0.99
"""Cosine of the angle to a side of the page up to which text is straight."""

# Flags of fonts.
_FIXED_PITCH, _FORCE_BOLD = 1, 1 << 18


class FontLook(NamedTuple):
    """Looks of a font, and what is known of its characters.

    `is_drawn` is True for a font whose glyphs are drawings in the file (Type 3): PDFium flags all
    of its characters, and reads them right. `mapped` and `unmapped` are the others seen so far.
    """

    bold: bool
    mono: bool
    is_drawn: bool
    mapped: set[str]
    unmapped: set[str]


class TextStyle(NamedTuple):
    """Font, quarter turns and slant of a text object."""

    handle: int
    font: Font
    look: FontLook
    quarter: int
    is_straight: bool


def style_of(text_page: int, at: int, text: int, looks: dict[int, FontLook]) -> TextStyle:
    """Return the style of a text object.

    Args:
        text_page: handle of the text page.
        at: number of the first character of the text in it.
        text: handle of the object.
        looks: what is known of the fonts of the page, by their handles; it is added to.
    """
    handle = pdfium.FPDFTextObj_GetFont(text) or 0
    if handle not in looks:
        looks[handle] = _look(handle)
    look = looks[handle]
    a, b, c, d, *_ = matrix_from(pdfium.FPDFText_GetMatrix, text_page, at)
    size = pdfium.FPDFText_GetFontSize(text_page, at)
    if size < 0:  # a mirrored matrix with a mirrored size is neither
        a, b = -a, -b
    size = abs(size) * abs(a * d - b * c) ** 0.5
    is_across = abs(a) >= abs(b)
    quarter = (0 if a >= 0 else 2) if is_across else (1 if b > 0 else 3)
    is_straight = max(abs(a), abs(b)) >= STRAIGHT * hypot(a, b)
    font = Font(max(size, SMALLEST), look.bold, look.mono)
    return TextStyle(handle, font, look, quarter, is_straight)


def _look(font: int) -> FontLook:
    if not font:
        return FontLook(bold=False, mono=False, is_drawn=False, mapped=set(), unmapped=set())
    name = text_from(pdfium.FPDFFont_GetBaseFontName, font, encoding="utf-8")
    flags = max(0, pdfium.FPDFFont_GetFlags(font))
    is_heavy = bool(flags & _FORCE_BOLD) or pdfium.FPDFFont_GetWeight(font) >= BOLD_WEIGHT
    bold = is_heavy or is_bold_name(name)
    mono = bool(flags & _FIXED_PITCH) or is_mono_name(name)
    size = ctypes.c_size_t()
    pdfium.FPDFFont_GetFontData(font, None, 0, ctypes.addressof(size))
    return FontLook(bold, mono, not size.value, set(), set())
