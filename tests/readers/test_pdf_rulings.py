"""Pages with many rulings take work in proportion to what is drawn on them."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from rag_nodes.readers import Limits, read
from rag_nodes.readers.base import Reading
from rag_nodes.readers.pdf import read_pdf

CASES = Path(__file__).parents[1] / "data" / "cases" / "pdf"
WIDTH, HEIGHT = 1200, 1600
SMALL, LARGE = 15, 30
PROPORTIONAL = 1.25 * (LARGE / SMALL) ** 2
"""Factor of the calls for twice as many rows and columns, with some leeway."""


def crossing(shape: Any, count: int) -> None:
    """Draw a form of crossing lines."""
    for at in range(count):
        shape.draw_line((50, 50 + 1500 * at / count), (1150, 50 + 1500 * at / count))
        shape.draw_line((50 + 1100 * at / count, 50), (50 + 1100 * at / count, 1550))


def draw_lines(shape: Any, count: int) -> None:
    """Draw lined paper."""
    for at in range(4 * count):
        shape.draw_line((50, 50 + 375 * at / count), (1150, 50 + 375 * at / count))


def boxes(shape: Any, count: int) -> None:
    """Draw boxes apart from each other, as for letters of a form."""
    for row in range(count):
        for column in range(count):
            x, y = 50 + 1100 * column / count, 50 + 1500 * row / count
            shape.draw_rect((x, y, x + 770 / count, y + 1050 / count))


def dashes(shape: Any, count: int) -> None:
    """Draw lines of dashes."""
    for row in range(count):
        for column in range(count):
            x, y = 50 + 1100 * column / count, 50 + 1500 * row / count
            shape.draw_line((x, y), (x + 880 / count, y))


def frames(shape: Any, count: int) -> None:
    """Draw frames within frames."""
    for at in range(count):
        by = 550 * at / count
        shape.draw_rect((50 + by, 50 + by, 1150 - 0.9 * by, 1550 - 0.9 * by))


def calls(path: Path, engine: Any) -> tuple[int, Reading]:
    """Return how many functions are called to read a file, and the reading."""
    count = 0

    def count_call(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        reading = read_pdf(path, Limits(pdf_engine=engine))
    finally:
        sys.setprofile(before)
    return count, reading


@pytest.mark.parametrize("draw", [crossing, draw_lines, boxes, dashes, frames])
def test_twice_the_rulings_take_work_in_proportion(
    tmp_path: Path, pdf_engine: str, draw: Callable[[Any, int], None]
) -> None:
    work = []
    for count in (SMALL, SMALL, LARGE):  # the first also fills caches
        with pymupdf.open() as document:
            page = document.new_page(width=WIDTH, height=HEIGHT)
            shape = page.new_shape()
            draw(shape, count)
            shape.finish(width=0.5)
            shape.commit()
            for at in range(count):
                page.insert_text((60, 60 + 1500 * at / count), f"Line {at}.", fontsize=6)
            document.save(tmp_path / "a.pdf")
        number, reading = calls(tmp_path / "a.pdf", pdf_engine)
        work.append(number)
        assert reading.text.split("\n\n") == [f"Line {at}." for at in range(count)]
    assert work[2] <= PROPORTIONAL * work[1]


@pytest.mark.usefixtures("pdf_engine")
def test_a_form_of_ninety_lines_is_read_line_by_line() -> None:
    lines = [f"Line {number} of the form" for number in range(90)]
    assert read(CASES / "slow_form_90.pdf").text.split("\n\n") == lines
