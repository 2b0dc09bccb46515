"""Right-to-left ligatures: PDFium has their letters in one order or the other."""

from __future__ import annotations

import ctypes
import unicodedata
from collections import defaultdict

from rag_nodes.readers.pdf.engines.pdfium.native import pdfium

_FORMS: dict[str, list[str]] = defaultdict(list)
for _form in map(chr, (*range(0xFB50, 0xFDFC), *range(0xFE70, 0xFEFD))):
    _FORMS[unicodedata.normalize("NFKC", _form)].append(_form)


def in_order(text: str, font: int) -> str:
    """Return the letters of a right-to-left ligature in the order in which they are read.

    PDFium turns the order of several letters that a file gives one glyph, as if they stood side by
    side. It leaves that of a presentation form, which it spells out itself.

    Args:
        text: letters of the glyph; a single one stays.
        font: handle of its font.
    """
    if len(text) == 1:
        return text
    width = ctypes.c_float()
    for form in _FORMS.get(text, ()):
        pdfium.FPDFFont_GetGlyphWidth(font, ord(form), 1.0, ctypes.addressof(width))
        if width.value > 0:
            return text
    return text[::-1]
