"""Superscripts of PDF files are read as raised characters, on both engines."""

from collections.abc import Sequence
from pathlib import Path

import pymupdf
import pytest

from rag_nodes.readers import read
from rag_nodes.readers.locating import locate

CASES = Path(__file__).parents[1] / "data" / "cases" / "pdf"

pytestmark = pytest.mark.usefixtures("pdf_engine")

Piece = tuple[str, float, float]
"""Text, font size, and points above the baseline."""


def test_figures_units_and_notes_of_a_page() -> None:
    path = CASES / "superscript.pdf"
    assert read(path).text == (
        "The tank holds 10³ litres and 2⁸ states; see the note¹².\n\n"
        "Water is H2O and the area is 40 m²."
    )
    boxes = locate(path, 1, "holds 10³ litres")
    assert boxes == locate(path, 1, "holds 103 litres")
    assert "".join(f"{box.bottom - box.top > 10:d}" for box in boxes) == "101"  # the 3 is small


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([("It was 10", 11, 0), ("-3", 7, 4), (" kg of tea.", 11, 0)], "It was 10⁻³ kg of tea."),
        ([("We mean x", 11, 0), ("n+1", 7, 4), (" of them.", 11, 0)], "We mean xⁿ⁺¹ of them."),
        ([("On the 4", 11, 0), ("th", 7, 4), (" of May.", 11, 0)], "On the 4th of May."),
        ([("So it is.", 11, 0), ("3,4", 7, 4), (" And on it goes.", 11, 0)],
         "So it is.³,⁴ And on it goes."),
        ([("Atoms of CO", 11, 0), ("2", 7, -2), (" in air.", 11, 0)], "Atoms of CO2 in air."),
        ([("A small 3", 11, 0), (" on the", 8, 0), (" baseline.", 11, 0)],
         "A small 3 on the baseline."),
    ],
)  # fmt: skip
def test_lines_with_smaller_pieces(tmp_path: Path, pieces: Sequence[Piece], text: str) -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        x = 72.0
        for piece, size, above in pieces:
            page.insert_text((x, 100 - above), piece, fontsize=size)
            x += pymupdf.get_text_length(piece, fontsize=size)
        document.save(tmp_path / "a.pdf")
    assert read(tmp_path / "a.pdf").text == text


def test_cells_of_ruled_tables_and_links_keep_superscripts(tmp_path: Path) -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        for x, y, text in [(75, 95, "Tank"), (175, 95, "Volume"), (75, 115, "A"), (175, 115, "10")]:
            page.insert_text((x, y), text)
        page.insert_text((175 + pymupdf.get_text_length("10", fontsize=11), 111), "3", fontsize=7)
        for y in (80, 100, 120):
            page.draw_line((70, y), (270, y))
        for x in (70, 170, 270):
            page.draw_line((x, 80), (x, 120))
        page.insert_text((72, 196), "9", fontsize=7)
        page.insert_text((72 + pymupdf.get_text_length("9", fontsize=7), 200), "Lucene is used.")
        area = pymupdf.Rect(70, 185, 72 + 45, 204)
        page.insert_link({"kind": pymupdf.LINK_URI, "from": area, "uri": "https://e.org/"})
        document.save(tmp_path / "a.pdf")
    assert read(tmp_path / "a.pdf").text == (
        "| Tank | Volume |\n| --- | --- |\n| A | 10³ |\n\n[⁹Lucene](https://e.org/) is used."
    )
