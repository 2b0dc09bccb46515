"""Pages of PDFs that PyMuPDF has written, as the engine of the test reads them."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rag_nodes.readers import Limits
from rag_nodes.readers.pdf.places import Glyphs, opened_page, page_glyphs


def glyphs_on(path: Path, number: int = 1) -> Glyphs:
    """Return the characters of a page, counted from 1."""
    with opened_page(path, number, Limits()) as page:
        return page_glyphs(page)


def glyphs_of(document: Any, number: int = 1) -> Glyphs:
    """Return the characters of a page of a document of PyMuPDF."""
    with TemporaryDirectory() as folder:
        document.save(path := Path(folder) / "made.pdf")
        return glyphs_on(path, number)


def under(glyphs: Glyphs, box: Sequence[float]) -> str:
    """Return what stands under a box."""
    left, top, right, bottom = box
    return "".join(
        character
        for character, (x, y, to, low) in zip(glyphs.text, glyphs.boxes, strict=True)
        if left <= (x + to) / 2 <= right and top <= (y + low) / 2 <= bottom
    )
