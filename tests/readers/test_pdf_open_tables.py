"""Tables that are not ruled at their sides, as LaTeX and DocBook make them."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_nodes.readers import Limits
from rag_nodes.readers.pdf import read_pdf

pytestmark = pytest.mark.usefixtures("pdf_engine")

LEFT, TOP, WIDTH, HEIGHT = 60, 120, 90, 20
TEAS = (("Tea", "Origin", "Price"), ("Assam", "India", "9"), ("Sencha", "Japan", "12"))
SIDES = frozenset({"left", "right", "top", "bottom"})

Cells = tuple[tuple[str, ...], ...]


def write_cells(page: Any, cells: Sequence[Sequence[str]], *, left: float = LEFT) -> None:
    """Write texts into cells of 90 x 20 points; each may have several lines."""
    for row, texts in enumerate(cells):
        for column, text in enumerate(texts):
            for number, line in enumerate(text.split("\n")):
                at = (left + column * WIDTH + 6, TOP + row * HEIGHT + 8 + 9 * number)
                page.insert_text(at, line, fontsize=8)


def across(page: Any, row: float, start: float = 0, stop: float = 3, *, left: float = LEFT) -> None:
    """Draw a line under so many rows, from one column border to another."""
    y = TOP + row * HEIGHT
    page.draw_line((left + start * WIDTH, y), (left + stop * WIDTH, y))


def down(page: Any, column: float, rows: float, *, left: float = LEFT, start: float = 0) -> None:
    """Draw a line right of so many columns."""
    x = left + column * WIDTH
    page.draw_line((x, TOP + start * HEIGHT), (x, TOP + rows * HEIGHT))


def rule_table(
    page: Any, cells: Sequence[Sequence[str]], *, closed: Iterable[str], left: float = LEFT
) -> None:
    """A table that is ruled inside, and at the sides that are closed."""
    rows, columns = len(cells), len(cells[0])
    write_cells(page, cells, left=left)
    for row in range("top" not in closed, rows + ("bottom" in closed)):
        across(page, row, 0, columns, left=left)
    for column in range("left" not in closed, columns + ("right" in closed)):
        down(page, column, rows, left=left)


def markdown(cells: Sequence[Sequence[str]]) -> str:
    rows = [f"| {' | '.join(text.replace(chr(10), ' ') for text in row)} |" for row in cells]
    return "\n".join([rows[0], f"| {' | '.join('---' for _ in cells[0])} |", *rows[1:]])


def text_of(document: Any, path: Path) -> str:
    document.save(path)
    return read_pdf(path, Limits()).text


@pytest.fixture
def document() -> Any:
    """One page with a sentence above the table."""
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((LEFT, 80), "Before the table there is a sentence.", fontsize=10)
    return document


def after_sentence(table: str) -> str:
    return f"Before the table there is a sentence.\n\n{table}"


# --- what is a table ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "closed",
    [
        SIDES - {"left", "right"},
        SIDES - {"left"},
        SIDES - {"right"},
        SIDES - {"top", "bottom"},
        SIDES - {"top"},
        SIDES - {"bottom"},
        set(),
        SIDES,
    ],
    ids=lambda closed: "+".join(sorted(closed)) or "no side",
)
def test_a_table_keeps_its_outer_cells_whichever_sides_are_ruled(
    document: Any, path: Path, closed: frozenset[str]
) -> None:
    rule_table(document[0], TEAS, closed=closed)
    assert text_of(document, path) == after_sentence(markdown(TEAS))


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_a_latex_table_with_rulings_between_columns_only_has_all_its_columns(
    document: Any, path: Path, columns: int
) -> None:
    cells = tuple(tuple(f"r{row}c{column}" for column in range(columns)) for row in range(5))
    rule_table(document[0], cells, closed={"top", "bottom"})
    assert text_of(document, path) == after_sentence(markdown(cells))


def test_rulings_may_be_short_pieces_whose_ends_differ_by_a_point_or_two(
    document: Any, path: Path
) -> None:
    page = document[0]
    write_cells(page, TEAS)
    for row, ends in enumerate([(0, 1.5), (1.5, 0), (0.5, 2), (2, 0.5)]):
        y = TOP + row * HEIGHT
        borders = [LEFT + ends[0], LEFT + WIDTH, LEFT + 2 * WIDTH, LEFT + 3 * WIDTH - ends[1]]
        for start, stop in pairwise(borders):
            page.draw_rect(pymupdf.Rect(start, y, stop, y + 0.4), color=None, fill=(0, 0, 0))
    for row in range(3):
        for column in (1, 2):
            x, y = LEFT + column * WIDTH, TOP + row * HEIGHT
            page.draw_rect(pymupdf.Rect(x, y, x + 0.4, y + HEIGHT), color=None, fill=(0, 0, 0))
    assert text_of(document, path) == after_sentence(markdown(TEAS))


def test_one_ruling_that_goes_on_further_does_not_move_the_edge(document: Any, path: Path) -> None:
    page = document[0]
    rule_table(page, TEAS, closed={"top", "bottom"})
    page.draw_line((20, TOP), (LEFT + 3 * WIDTH, TOP))
    page.insert_text((22, TOP + 30), "note", fontsize=8)  # in the margin, not in a cell
    assert markdown(TEAS) in text_of(document, path)


def test_a_cell_over_several_rows_in_an_open_column_is_one(document: Any, path: Path) -> None:
    page = document[0]
    cells = (
        ("Tea", "Harvest", "Price"),
        ("Assam", "first", "9"),
        ("", "second", "7"),
        ("Sencha", "first", "12"),
        ("", "second", "10"),
    )
    write_cells(page, cells)
    for row in (0, 1, 3, 5):
        across(page, row)
    for row in (2, 4):
        across(page, row, 1)
    for column in (1, 2):
        down(page, column, 5)
    assert text_of(document, path) == after_sentence(markdown(cells))


def test_two_open_tables_side_by_side_are_two(document: Any, path: Path) -> None:
    other = (("Cup", "Volume"), ("small", "15"), ("large", "40"))
    rule_table(document[0], TEAS, closed={"top", "bottom"})
    rule_table(document[0], other, closed={"top", "bottom"}, left=350)
    text = text_of(document, path)
    assert markdown(TEAS) in text
    assert markdown(other) in text


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_an_open_table_on_a_rotated_page_reads_as_a_closed_one_does(
    path: Path, rotation: int
) -> None:
    texts = []
    for closed in (SIDES, {"top", "bottom"}):
        document = pymupdf.open()
        rule_table(document.new_page(), TEAS, closed=closed)
        document[0].set_rotation(rotation)
        texts.append(text_of(document, path))
    assert texts[1] == texts[0]


def test_an_open_table_over_two_pages_is_one(path: Path) -> None:
    rows = tuple((f"Tea {number}", "India", str(number)) for number in range(50))
    document = pymupdf.open()
    for part in (rows[:25], rows[25:]):
        page = document.new_page()
        rule_table(page, (("Tea", "Origin", "Price"), *part), closed={"top", "bottom"})
    assert text_of(document, path) == markdown((("Tea", "Origin", "Price"), *rows))


# --- what is none -------------------------------------------------------------------------------


def test_rulings_that_jut_out_of_a_closed_table_make_no_empty_columns(
    document: Any, path: Path
) -> None:
    page = document[0]
    rule_table(page, TEAS, closed=SIDES)
    for row in range(4):
        across(page, row, -0.2, 3.2)
    for column in range(4):
        down(page, column, 3.6, start=-0.6)
    assert text_of(document, path) == after_sentence(markdown(TEAS))


def test_a_closed_table_between_page_rules_stays_apart_from_the_text_beside_it(path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    rule_table(page, TEAS, closed=SIDES, left=300)
    for number in range(8):
        line = f"{number} of the lines beside the table, which are long and run on and on and on"
        page.insert_text((LEFT, TOP + 6 + 7 * number), f"{line}. {line}.", fontsize=3)
    for row in (0, 3):
        across(page, row, 0, 6)
    assert markdown(TEAS) in text_of(document, path)


def test_a_table_with_rulings_below_its_rows_only_stays_text(document: Any, path: Path) -> None:
    """The booktabs style: nothing says where a column ends."""
    page = document[0]
    write_cells(page, TEAS)
    for row in (0, 1, 3):
        across(page, row)
    across(page, 0.5, 1.1, 1.9)
    across(page, 0.5, 2.1, 2.9)
    text = text_of(document, path)
    assert "|" not in text
    assert all(all(word in text for word in row) for row in TEAS)


@pytest.mark.parametrize("rows_ruled", [(1,), (0, 1, 5)])
def test_rows_that_nothing_is_drawn_between_stay_lines_of_text(
    document: Any, path: Path, rows_ruled: tuple[int, ...]
) -> None:
    """One cell for a whole column would part the figures of a row."""
    page = document[0]
    cells = (TEAS[0], *((f"Tea{number}", f"Land{number}", f"{number}") for number in range(4)))
    write_cells(page, cells)
    for row in rows_ruled:
        across(page, row)
    for column in (1, 2):
        down(page, column, 5)
    text = text_of(document, path)
    assert "|" not in text
    assert [text.index(f"Tea{n}") < text.index(f"Land{n}") for n in range(4)] == [True] * 4
    assert [text.index(f"Land{n}") < text.index(f"Tea{n + 1}") for n in range(3)] == [True] * 3


def test_page_rules_underlines_form_lines_and_boxes_are_no_tables(path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((60, 50), "The running header", fontsize=8)
    page.draw_line((60, 54), (500, 54))
    page.draw_line((60, 54), (60, 780))  # a change bar that touches both rules of the page
    page.draw_line((60, 780), (500, 780))
    for number in range(5):
        y = 150 + 30 * number
        page.insert_text((70, y), f"Field {number}", fontsize=10)
        page.draw_line((130, y + 2), (400, y + 2))
    page.insert_text((70, 400), "An underlined word stands in this sentence.", fontsize=10)
    page.draw_line((88, 402), (140, 402))
    page.draw_rect(pymupdf.Rect(70, 450, 480, 520))
    page.draw_line((70, 470), (480, 470))
    page.insert_text((76, 465), "Warning", fontsize=10)
    page.insert_text((76, 490), "A paragraph in a box with a title.", fontsize=10)
    assert "|" not in text_of(document, path)


def test_the_two_axes_of_a_chart_are_no_table(document: Any, path: Path) -> None:
    page = document[0]
    page.draw_line((200, 150), (200, 350))
    page.draw_line((100, 250), (300, 250))
    for at in ((120, 200), (240, 200), (120, 300), (240, 300)):
        page.insert_text(at, "quarter", fontsize=8)
    assert "|" not in text_of(document, path)


# --- any table ----------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn) -> Cells:
    rows, columns = draw(st.integers(3, 7)), draw(st.integers(3, 5))
    words = st.text("abcdefghxyz0123456789", min_size=1, max_size=12)
    row = st.tuples(*[words for _ in range(columns)])
    return tuple(draw(row) for _ in range(rows))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=tables(), closed=st.sets(st.sampled_from(sorted(SIDES))))
def test_every_text_is_in_its_row_and_column(path: Path, cells: Cells, closed: set[str]) -> None:
    document = pymupdf.open()
    rule_table(document.new_page(), cells, closed=closed)
    assert text_of(document, path) == markdown(cells)
