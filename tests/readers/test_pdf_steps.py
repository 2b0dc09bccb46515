"""Twice the boxes, tables or links on a page of a PDF take about twice the steps."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from steps import lines_of

from rag_nodes.readers import Limits
from rag_nodes.readers.pdf import read_pdf

pytestmark = pytest.mark.usefixtures("pdf_engine")

MOST = 2.2
"""Times the steps that twice the boxes or links may take."""


def tax_form(rows: int) -> Any:
    """Two pages of rows of twenty boxes, most of which no line parts from the next."""
    document = pymupdf.open()
    for _ in range(2):
        page = document.new_page(width=700, height=20 * rows + 100)
        for row in range(rows + 1):
            page.draw_line((20, 40 + 20 * row), (620, 40 + 20 * row))
        page.draw_line((20, 40), (20, 40 + 20 * rows))
        for column in range(1, 21):
            top = 40 + 20 * (column % rows)
            page.draw_line((20 + 30 * column, top), (20 + 30 * column, top + 20))
        for row in range(rows):
            page.insert_text((22, 54 + 20 * row), f"Line {row}", fontsize=6)
    return document


def small_tables(rows: int) -> Any:
    """A page of tables of two rows and two columns, each with text."""
    document = pymupdf.open()
    page = document.new_page(height=100 * rows)
    for row in range(rows):
        for number in range(4):
            left, top = 50 + 60 * (number % 2), 100 * row + 20 * (number // 2)
            page.draw_rect(pymupdf.Rect(left, top, left + 60, top + 20))
            page.insert_text((left + 4, top + 14), f"Cell {row}", fontsize=8)
    return document


def page_of_links(count: int, target: dict[str, Any]) -> Any:
    """A page on which each line is a link."""
    document = pymupdf.open()
    page = document.new_page(height=20 * count + 100)
    for number in range(count):
        page.insert_text((50, 50 + 20 * number), f"Entry number {number}", fontsize=10)
        area = pymupdf.Rect(50, 38 + 20 * number, 200, 54 + 20 * number)
        page.insert_link({"from": area, **target})
    return document


def steps_of(document: Any, path: Path) -> int:
    document.save(path)
    return lines_of(lambda: read_pdf(path, Limits()))


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    warm = tmp_path / "warm.pdf"
    page_of_links(3, {"kind": pymupdf.LINK_GOTO, "page": 0}).save(warm)
    read_pdf(warm, Limits())  # imports and tables of the first reading are no steps of a page
    return tmp_path / "few.pdf", tmp_path / "many.pdf"


def test_twice_the_boxes_of_a_form_take_about_twice_the_steps(paths: tuple[Path, Path]) -> None:
    few, many = (steps_of(tax_form(n), path) for n, path in zip((40, 80), paths, strict=True))
    assert many <= MOST * few


def test_twice_the_tables_of_a_page_take_about_twice_the_steps(paths: tuple[Path, Path]) -> None:
    few, many = (steps_of(small_tables(n), path) for n, path in zip((20, 40), paths, strict=True))
    assert many <= MOST * few


@pytest.mark.parametrize(
    "target",
    [
        {"kind": pymupdf.LINK_GOTO, "page": 0, "to": pymupdf.Point(0, 0)},
        {"kind": pymupdf.LINK_URI, "uri": "https://e.org/page"},
    ],
    ids=["within the document", "to an address"],
)
def test_twice_the_links_of_a_page_take_about_twice_the_steps(
    paths: tuple[Path, Path], target: dict[str, Any]
) -> None:
    few, many = (
        steps_of(page_of_links(n, target), path) for n, path in zip((200, 400), paths, strict=True)
    )
    assert many <= MOST * few
