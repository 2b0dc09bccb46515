"""Ruled tables and links of PDFs made in the test."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from rag_nodes.readers import Limits
from rag_nodes.readers.pdf import read_pdf

pytestmark = pytest.mark.usefixtures("pdf_engine")

COLUMNS = (50, 150, 250, 350)
PRICES = (("Tea", "Origin", "Price"), ("Assam", "India", "9"), ("Sencha", "Japan", "12"))


def rule_table(
    page: Any, cells: Sequence[Sequence[str]], *, top: float = 200, by: str = "lines"
) -> None:
    """Draw a table of 100 x 20 points a cell; each text may have several lines."""
    columns = COLUMNS[: len(cells[0]) + 1]
    bottom = top + 20 * len(cells)
    for row, texts in enumerate(cells):
        for column, text in enumerate(texts):
            left, upper = columns[column], top + 20 * row
            if by == "boxes":
                page.draw_rect(pymupdf.Rect(left, upper, left + 100, upper + 20))
            for number, line in enumerate(text.split("\n")):
                page.insert_text((left + 4, upper + 8 + 9 * number), line, fontsize=8)
    if by == "lines":
        for x in columns:
            page.draw_line((x, top), (x, bottom))
        for row in range(len(cells) + 1):
            page.draw_line((columns[0], top + 20 * row), (columns[-1], top + 20 * row))


def text_of(document: Any, path: Path) -> str:
    document.save(path)
    return read_pdf(path, Limits()).text


@pytest.mark.parametrize("by", ["lines", "boxes"])
def test_a_ruled_table_stands_as_markdown_where_it_stood(path: Path, by: str) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((50, 150), "Before the table there is a sentence.", fontsize=10)
    rule_table(page, PRICES, by=by)
    page.insert_text((50, 330), "After the table there is one more.", fontsize=10)
    assert text_of(document, path) == (
        "Before the table there is a sentence.\n\n"
        "| Tea | Origin | Price |\n| --- | --- | --- |\n"
        "| Assam | India | 9 |\n| Sencha | Japan | 12 |\n\n"
        "After the table there is one more."
    )


def test_words_broken_in_a_cell_are_rejoined_and_pipes_escaped(path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    rule_table(page, [("Name", "a|b"), ("broken at the sen-\ntence end", "token-\noverlap")])
    page.insert_text((50, 400), "A sentence with token-overlap in it.", fontsize=10)
    text = text_of(document, path)
    assert "| Name | a\\|b |" in text
    assert "| broken at the sentence end | token-overlap |" in text


def test_cells_without_a_line_between_them_are_one(path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    rule_table(page, PRICES)
    note = "All prices are for one hundred grammes of tea leaves, packed"
    page.draw_rect(pymupdf.Rect(50, 260, 350, 280))
    page.insert_text((54, 272), note, fontsize=8)
    assert f"| {note} |" in text_of(document, path)


@pytest.mark.parametrize("cells", [[("", "", ""), ("", "x", ""), ("", "", "")], [("a", "b")]])
def test_empty_forms_and_single_rows_are_no_tables(
    path: Path, cells: list[tuple[str, ...]]
) -> None:
    document = pymupdf.open()
    rule_table(document.new_page(), cells)
    assert "|" not in text_of(document, path)


LONG = [(f"Tea {number}", "India", "" if number < 20 else str(number)) for number in range(60)]


@pytest.mark.parametrize("repeated", [True, False])
def test_a_ruled_table_over_several_pages_is_one_table_with_its_own_header(
    path: Path, repeated: bool
) -> None:
    document = pymupdf.open()
    for start in (0, 20, 40):
        head = [("Tea", "Origin", "Price")] if start == 0 or repeated else []
        page = document.new_page()
        page.insert_text((50, 40), "The running header", fontsize=8)
        rule_table(page, [*head, *LONG[start : start + 20]], top=200)
    page.insert_text((50, 700), "After the table there is a sentence.", fontsize=10)
    text = text_of(document, path)
    rows = "\n".join(f"| {' | '.join(row)} |" for row in LONG)
    assert f"| Tea | Origin | Price |\n| --- | --- | --- |\n{rows}\n\nAfter the table" in text
    reading = read_pdf(path, Limits())
    starts = reading.page_starts or ()
    assert [text[start:].split(" |")[0] for start in starts[1:]] == ["| Tea 20", "| Tea 40"]


@pytest.mark.parametrize(
    ("top", "columns", "between"), [(60, 3, ""), (450, 2, ""), (450, 3, "Another table follows.")]
)
def test_another_table_at_the_start_of_a_page_keeps_its_header(
    path: Path, top: float, columns: int, between: str
) -> None:
    """The one before ends far up, is of another shape, or is followed by text."""
    document = pymupdf.open()
    rule_table(document.new_page(), LONG[:15], top=top)
    page = document.new_page()
    if between:
        page.insert_text((50, 150), between, fontsize=10)
    rule_table(page, [row[:columns] for row in PRICES])
    rows = [f"| {' | '.join(row[:columns])} |" for row in PRICES]
    assert f"{rows[0]}\n| ---" in text_of(document, path)


def test_the_page_map_is_exact_with_tables_on_every_page(path: Path) -> None:
    document = pymupdf.open()
    for number in range(3):
        rule_table(document.new_page(), [("Page", "Word"), (f"{number}", f"word{number}")])
    document.save(path)
    reading = read_pdf(path, Limits())
    assert reading.page_starts is not None
    pages = [reading.text[a:b] for a, b in pairwise([*reading.page_starts, len(reading.text)])]
    assert [page.count("| Page | Word |") for page in pages] == [1, 1, 1]
    assert [f"word{number}" in page for number, page in enumerate(pages)] == [True] * 3


# --- links --------------------------------------------------------------------------------------


def linked_page(texts: Sequence[str], words: Sequence[str], uri: str) -> Any:
    document = pymupdf.open()
    page = document.new_page()
    for number, text in enumerate(texts):
        page.insert_text((50, 100 + 13 * number), text, fontsize=10)
    for phrase in words:
        page.insert_link({"kind": pymupdf.LINK_URI, "from": page.search_for(phrase)[0], "uri": uri})
    return document


def test_a_link_covers_the_words_it_covers_on_the_page(path: Path) -> None:
    document = linked_page(["Read our tea guide today."], ["tea guide"], "https://tea.example/a(b)")
    assert text_of(document, path) == "Read our [tea guide](https://tea.example/a%28b%29) today."


def test_a_link_over_two_lines_is_one(path: Path) -> None:
    lines = ["You should always read the long and winding tea", "guide before you buy."]
    document = linked_page(lines, ["winding tea", "guide"], "https://tea.example/")
    assert "long and [winding tea guide](https://tea.example/) before" in text_of(document, path)


def test_an_address_that_is_shown_stays_as_it_is(path: Path) -> None:
    document = linked_page(
        ["See https://tea.example/guide."], ["https"], "https://tea.example/guide"
    )
    assert text_of(document, path) == "See https://tea.example/guide."


@pytest.mark.parametrize("uri", ["javascript:alert(1)", "file:///etc/passwd"])
def test_an_address_nobody_should_follow_is_dropped(path: Path, uri: str) -> None:
    document = linked_page(["Read our tea guide today."], ["tea guide"], uri)
    assert text_of(document, path) == "Read our tea guide today."


def test_links_within_the_document_are_dropped(path: Path) -> None:
    document = linked_page(["Read our tea guide today."], [], "")
    document.new_page()
    page = document[0]
    where = page.search_for("tea guide")[0]
    page.insert_link({"kind": pymupdf.LINK_GOTO, "from": where, "page": 1})
    assert text_of(document, path) == "Read our tea guide today."


def test_a_line_end_hyphen_of_a_compound_stays(path: Path) -> None:
    lines = ["We compare token-overlap with others and find that token-", "overlap is enough."]
    assert "find that token-overlap is enough." in text_of(linked_page(lines, [], ""), path)
