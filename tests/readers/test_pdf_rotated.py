"""Rotated pages read as the same pages without rotation, on both engines."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from rag_nodes.readers import locate, read

CASES = Path(__file__).parents[1] / "data" / "cases" / "pdf"
BODY = "Tea is kept dry in the larder, away from the stove."
ROTATIONS = [90, 180, 270]

Write = Callable[..., None]
"""Function that writes a text at a place, of a size."""

pytestmark = pytest.mark.usefixtures("pdf_engine")


def text(_page: Any, write: Write) -> None:
    write(72, 72, "Rotated heading", 18)
    write(72, 100, BODY)
    write(72, 114, "It follows on the second line.")


def columns(_page: Any, write: Write) -> None:
    for left in (50, 320):
        for number in range(8):
            write(left, 80 + 14 * number, f"Column {left}, line {number} goes on and")


def table(page: Any, write: Write) -> None:
    write(72, 60, "Prices of the ferry", 16)
    for row in range(4):
        for column in range(3):
            box = pymupdf.Rect(72, 80, 192, 110) + (120 * column, 30 * row) * 2
            page.draw_rect(box * page.derotation_matrix)
            write(80 + 120 * column, 100 + 30 * row, f"row {row} of {column}")


def margin(page: Any, write: Write) -> None:
    text(page, write)
    write(30, 500, "arXiv:1234 in the margin", 11, 90)


def link(page: Any, write: Write) -> None:
    text(page, write)
    area = pymupdf.Rect(72, 88, 150, 104) * page.derotation_matrix
    page.insert_link({"kind": pymupdf.LINK_URI, "from": area, "uri": "https://tea.test"})


PAGES = [text, columns, table, margin, link]


def stored_upright(path: Path, draw: Callable[[Any, Write], None], rotation: int) -> Path:
    """Write a page whose text is upright as the file stores it, and rotate it."""
    with pymupdf.open() as document:
        page = document.new_page()

        def write(x: float, y: float, line: str, size: float = 11, turn: int = 0) -> None:
            page.insert_text((x, y), line, fontsize=size, rotate=turn)

        draw(page, write)
        page.set_rotation(rotation)
        document.save(path)
    return path


def shown_upright(path: Path, draw: Callable[[Any, Write], None], rotation: int) -> Path:
    """Write a rotated page whose text is upright as it is shown, as wide tables are printed."""
    with pymupdf.open() as document:
        page = document.new_page(width=842, height=842)
        page.set_rotation(rotation)

        def write(x: float, y: float, line: str, size: float = 11, turn: int = 0) -> None:
            point = pymupdf.Point(x, y) * page.derotation_matrix
            page.insert_text(point, line, fontsize=size, rotate=(rotation + turn) % 360)

        draw(page, write)
        document.save(path)
    return path


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("draw", PAGES)
@pytest.mark.parametrize("make", [stored_upright, shown_upright])
def test_a_rotated_page_reads_as_it_does_without_rotation(
    tmp_path: Path, make: Callable[..., Path], draw: Any, rotation: int
) -> None:
    upright = read(make(tmp_path / "upright.pdf", draw, 0)).text
    assert read(make(tmp_path / "rotated.pdf", draw, rotation)).text == upright


def test_headings_tables_and_links_are_in_the_text_that_rotation_keeps(tmp_path: Path) -> None:
    texts = [read(stored_upright(tmp_path / "a.pdf", draw, 0)).text for draw in (table, link)]
    assert texts[0].startswith("# Prices of the ferry\n\n| row 0 of 0 | row 0 of 1 |")
    assert "[Tea is kept dry](https://tea.test) in the larder" in texts[1]


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_a_quote_of_a_page_that_is_upright_as_shown_has_its_box(
    tmp_path: Path, rotation: int
) -> None:
    (box,) = locate(shown_upright(tmp_path / "a.pdf", text, rotation), 1, BODY)
    assert (box.left, box.bottom) == pytest.approx((72, 102), abs=3)


def test_a_page_of_a_reported_kind_is_read_in_its_order() -> None:
    assert read(CASES / "page_rotated.pdf").text == (
        "# Rotated heading\n\n"
        "Body one. It is long enough to be a sentence. Body two follows on the second line."
    )
