"""Tables of PDF files without rulings between their columns, on both engines."""

from collections.abc import Sequence
from pathlib import Path

import pymupdf
import pytest

from rag_nodes.readers import read
from rag_nodes.readers.locating import locate

CASES = Path(__file__).parents[1] / "data" / "cases" / "pdf"
DOCS = Path(__file__).parents[3] / "shared" / "docs"

pytestmark = pytest.mark.usefixtures("pdf_engine")

STEEL = [["Steel", "Use", "Note"], ["A2", "hulls", "cheap"], ["A4", "masts", "dear"]]
MARKDOWN = (
    "| Steel | Use | Note |\n| --- | --- | --- |\n| A2 | hulls | cheap |\n| A4 | masts | dear |"
)


def drawn(
    path: Path,
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    rules: Sequence[float] = (),
    font: str = "helv",
    left: float = 72,
    frame: bool = False,
) -> str:
    """Return the text of a page with rows of pieces, 100 points apart, from y = 100 on."""
    with pymupdf.open() as document:
        page = document.new_page()
        if caption:
            page.insert_text((left, 80), caption)
        for y, row in enumerate(rows):
            for x, piece in enumerate(row):
                if piece:
                    page.insert_text((left + 100 * x, 100 + 15 * y), piece, fontname=font)
        for rule in rules:
            page.draw_line((left - 4, rule), (left + 260, rule))
        if frame:
            page.draw_rect((left - 4, 88, left + 400, 140))
        document.save(path)
    return read(path).text


def test_figures_below_a_row_of_words() -> None:
    path = CASES / "borderless_table.pdf"
    assert read(path).text == (
        "| Zone | Day | Night |\n| --- | --- | --- |\n| A | 1.20 | 0.80 |\n| B | 2.40 |  |\n"
        "| C |  | 1.10 |"
    )
    (box,) = locate(path, 1, "2.40")
    assert (box.left, box.right) == pytest.approx((172, 193.4), abs=1)


@pytest.mark.parametrize(
    ("caption", "rules"),
    [
        ("Table 3: Steel on board", ()),
        ("Tabelle 3. Stahl an Bord", ()),
        ("Table A.1", ()),
        ("", (88, 104, 135)),
        ("", (88, 135)),
    ],
)
def test_a_caption_or_rules_are_evidence(
    tmp_path: Path, caption: str, rules: Sequence[float]
) -> None:
    text = drawn(tmp_path / "a.pdf", STEEL, caption=caption, rules=rules)
    assert text.removeprefix(f"{caption}\n\n") == MARKDOWN


def test_a_label_in_the_middle_of_two_rows_is_part_of_the_upper_one(tmp_path: Path) -> None:
    rows = [["Hull", "Steel", "Litres"], ["", "A2", "12"], ["", "A4", "14"]]
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_text((72, 80), "Table 1")
        for y, row in enumerate(rows):
            for x, piece in enumerate(row):
                page.insert_text((72 + 100 * x, 100 + 14 * y), piece)
        page.insert_text((72, 121), "Both")
        document.save(tmp_path / "a.pdf")
    assert read(tmp_path / "a.pdf").text.endswith("| Both | A2 | 12 |\n|  | A4 | 14 |")


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (STEEL, {}),
        ([["Tank", "12"], ["Hull", "14"], ["Mast", "15"]], {"caption": "Table 1"}),
        ([["Hull", "....... steel", "4"], ["Mast", "....... wood", "9"],
          ["Keel", "....... lead", "11"]], {"caption": "Table of contents"}),
        (STEEL, {"caption": "Table 1", "font": "cour"}),
        (STEEL, {"frame": True}),
        (STEEL, {"rules": (60, 70, 80, 88, 104, 119, 135, 140)}),
        ([["The hull is of steel and", "the mast is of wood, as", "all of it was before it"],
          ["was built in the yard of", "a harbour in the north,", "where there was no wood"],
          ["at all, and so the keel", "was cast of lead in the", "yard of the town beside"]],
         {"caption": "Tables are laid."}),
    ],
)  # fmt: skip
def test_rows_without_evidence_are_no_table(
    tmp_path: Path, rows: Sequence[Sequence[str]], options: dict[str, object]
) -> None:
    assert "|" not in drawn(tmp_path / "a.pdf", rows, **options)  # type: ignore[arg-type]


@pytest.mark.skipif(not DOCS.is_dir(), reason="the shared documents are not here")
def test_the_tables_of_a_paper_in_two_columns_and_none_in_others() -> None:
    text = read(DOCS / "paper_two_column_dpr.pdf").text
    assert text.count("\n| --- ") == 7  # 6 tables, the fourth in two parts
    assert "| Single | DPR | 78.4 | 79.4 | 73.2 | 79.8 | 63.2 | 85.4 | 85.0 | 81.4 |" in text
    assert "| TriviaQA | 78,785 | 60,413 | 8,837 | 11,313 |" in text
    for name in ("essay_5p.pdf", "paper_ki67_ccby.pdf", "report_nist_sp800-223.pdf", "r_data.pdf"):
        assert "| --- |" not in read(DOCS / name).text, name
