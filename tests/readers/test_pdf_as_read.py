"""Text that PDF files print twice, from right to left or in form fields, on both engines."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from bad_pdfs import FONT, pdf
from printed_pdfs import print_pdf, stream

from rag_nodes.readers import read
from rag_nodes.readers.locating import locate

CASES = Path(__file__).parents[1] / "data" / "cases" / "pdf"

pytestmark = pytest.mark.usefixtures("pdf_engine")


def text_of(path: Path, *prints: tuple[float, float, Sequence[str]], content: bytes = b"") -> str:
    """Return the text of a page of 12 points, from its places and glyphs."""
    path.write_bytes(print_pdf(*((x, y, 12, words) for x, y, words in prints), content=content))
    return read(path).text


def backwards(text: str) -> str:
    """Return glyphs from left to right for letters from right to left."""
    return text[::-1]


def test_shadows_are_read_once_in_text_title_and_headings() -> None:
    document = read(CASES / "shadow_text.pdf")
    assert document.text == (
        "# Emergency exits\n\nThe exits are on deck four and deck seven.\n\n"
        "Drawn three times at one place."
    )
    assert document.metadata["title"] == "Emergency exits"


@pytest.mark.parametrize(
    ("prints", "text"),
    [
        ([(50, 700, "Deck plan"), (50.8, 699.2, "Deck plan")], "Deck plan"),
        ([(50, 700, "Deck"), (50.3, 700, "Deck"), (81, 700, "plan"), (81.3, 700, "plan")],
         "Deck plan"),
        ([(50 + 6 * at + by, 700, letter) for at, letter in enumerate("Deck") for by in (0, 0.4)],
         "Deck"),
        ([(50, 700, "Deck plan of the ferry"), (80, 700, "plan")], "Deck plan of the ferry"),
        ([(50, 700, "all ill"), (50, 680, "all ill")], "all ill all ill"),
    ],
)  # fmt: skip
def test_text_that_is_printed_over_itself(
    tmp_path: Path, prints: list[tuple[float, float, str]], text: str
) -> None:
    assert text_of(tmp_path / "a.pdf", *prints) == text


@pytest.mark.parametrize("actual", ["", "Hidden words.", "Tea is kept. Tea is kept."])
def test_printed_text_counts_and_not_what_it_stands_for(tmp_path: Path, actual: str) -> None:
    marked = b"/Span << /ActualText (%b) >> BDC\n" % actual.encode()
    prints = [(50.0, 700.0, "Tea is kept."), (50.0, 680.0, "Locked.")]
    assert text_of(tmp_path / "a.pdf", *prints, content=marked) == "Tea is kept.\n\nLocked."


def test_right_to_left_lines_of_chromium_with_numbers_and_latin_words() -> None:
    path = CASES / "hebrew_numbers_chromium.pdf"
    assert read(path).text == (
        "המעבורת יוצאת בשעה 21:40 ועולה 35 שקלים לנוסע.\n\n"
        "לפי סעיף 12 של החוק (2019) יש לדווח על ABC Pump עד 5 במאי."
    )
    (box,) = locate(path, 1, "ABC Pump")
    assert (box.left, box.right) == pytest.approx((239.4, 312.1), abs=1)


def test_each_line_of_a_page_is_read_in_its_own_direction() -> None:
    text = (CASES / "mixed_directions.txt").read_text(encoding="utf-8")
    assert read(CASES / "mixed_directions.pdf").text == text.rstrip()


def test_binding_at_the_right_changes_no_order(tmp_path: Path) -> None:
    for name in ("mixed_directions.pdf", "shadow_text.pdf"):
        with pymupdf.open(CASES / name) as document:
            preferences = "<< /Direction /R2L >>"
            document.xref_set_key(document.pdf_catalog(), "ViewerPreferences", preferences)
            document.save(tmp_path / name)
        assert read(tmp_path / name).text == read(CASES / name).text


def test_lam_stands_before_alef_in_ligatures() -> None:
    assert read(CASES / "arabic_ligature.pdf").text.split() == ["السلام", "الإعلام"]


@pytest.mark.parametrize(
    ("glyphs", "text"),
    [
        (backwards("עד") + " 35% " + backwards("מחיר"), "מחיר 35% עד"),
        (backwards("סוף") + " Windows 10 " + backwards("התקן את"), "התקן את Windows 10 סוף"),
        (backwards("פנויים") + " GB 25 " + backwards("יש"), "יש GB 25 פנויים"),
        (backwards("عكشا") + " 3 Python " + backwards("تبه"), "تبه 3 Python عكشا"),
        (backwards("سعر") + " USD 35 " + backwards("فقط"), "فقط USD 35 سعر"),
        ("050-1234567 " + backwards("טלפון"), "טלפון 050-1234567"),
        ("(" + backwards("שלום") + ") " + backwards("אמר"), "אמר (שלום)"),
        ("Exit is " + backwards("יציאה") + ", a word.", "Exit is יציאה, a word."),
        ("Exit: " + backwards("יציאה או פתח") + ".", "Exit: יציאה או פתח."),
        (".Debian Linux 12 " + backwards("התקן"), "התקן Debian Linux 12."),
        ("ABC Pump (UK) [2] " + backwards("משאבת המים"), "משאבת המים ABC Pump (UK) [2]"),
        ("(" + backwards("ראה") + " Smith) pump " + backwards("הסעיף של המשאבה"),
         "הסעיף של המשאבה pump (Smith ראה)"),
        ("Guide of harbours " + backwards("נמל") + ", (" + backwards("ראה") + " Smith).",
         "Guide of harbours נמל, (ראה Smith)."),
        (["م", "لا", "س"], "سلام"),
        (["م", "\ufefc", "س"], "سلام"),
        (["م", "لإ"], "لإم"),
        (["ن", "\ufef5"], "لآن"),
        (["ة", "\ufef8", "م"], "ملأة"),
        ("٪٢٣ " + backwards("خصم"), "خصم ٢٣٪"),
    ],
)  # fmt: skip
def test_right_to_left_lines(tmp_path: Path, glyphs: Sequence[str], text: str) -> None:
    assert text_of(tmp_path / "a.pdf", (50, 700, glyphs)) == text


def test_words_that_are_drawn_from_the_right_are_a_line(tmp_path: Path) -> None:
    words = [(120, "מעבורת"), (96, "ABC"), (72, "35"), (30, "שקלים")]
    prints = [(x, 700, word if word.isascii() else backwards(word)) for x, word in words]
    assert text_of(tmp_path / "a.pdf", *prints) == "מעבורת ABC 35 שקלים"


@pytest.mark.parametrize(
    ("other", "text"), [("Ferry guide", "Exit יציאה"), (backwards("מדריך"), "יציאה Exit")]
)
def test_a_line_with_as_much_of_both_directions_is_read_as_its_page(
    tmp_path: Path, other: str, text: str
) -> None:
    read_text = text_of(
        tmp_path / "a.pdf", (50, 700, other), (50, 600, "Exit " + backwards("יציאה"))
    )
    assert read_text.split("\n\n")[1] == text


def test_values_of_fields_stand_beside_their_labels() -> None:
    document = read(CASES / "form_fields.pdf")
    assert document.text == (
        "# Application form\n\nName: Ada Lovelace\n\nColour: green\n\nMember: [x]"
    )


Field = tuple[str, tuple[float, float, float, float], Any]
"""Kind of a field, its box, and its value."""


def form(path: Path, labels: Sequence[tuple[float, float, str]], fields: Sequence[Field]) -> str:
    """Return the text of a form."""
    kinds = {
        "text": pymupdf.PDF_WIDGET_TYPE_TEXT,
        "choice": pymupdf.PDF_WIDGET_TYPE_COMBOBOX,
        "box": pymupdf.PDF_WIDGET_TYPE_CHECKBOX,
        "radio": pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON,
    }
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=400)
        page.insert_text((50, 40), "This form is read by both engines alike.")
        for x, y, label in labels:
            page.insert_text((x, y), label, fontname="hebo")
        for number, (kind, box, value) in enumerate(fields):
            field = pymupdf.Widget()
            field.field_name, field.field_type, field.rect = (
                f"f{number}",
                kinds[kind],
                pymupdf.Rect(box),
            )
            if kind == "choice":
                field.choice_values = [("r", "red"), ("g", "green")]
            field.field_value = value
            page.add_widget(field)
        document.save(path)
    return read(path).text.removeprefix("This form is read by both engines alike.\n\n")


@pytest.mark.parametrize(
    ("labels", "fields", "text"),
    [
        ([(50, 100, "Town:")], [("text", (200, 88, 300, 104), "Paris")], "Town: Paris"),
        ([(50, 100, "Town")], [("text", (50, 106, 200, 126), "Paris")], "Town Paris"),
        ([(70, 100, "Smoker")], [("box", (50, 90, 62, 102), False)], "[ ] Smoker"),
        ([(50, 100, "Colour")], [("choice", (110, 88, 200, 104), "g")], "Colour green"),
        ([], [("text", (50, 88, 300, 104), "Nobody says what this is")],
         "Nobody says what this is"),
        ([(50, 100, "I, ______________ agree.")], [("text", (61, 86, 150, 104), "Ada")],
         "I, Ada agree."),
        ([(50, 100, "Town:")], [("text", (200, 88, 300, 104), "")], "Town:"),
    ],
)  # fmt: skip
def test_forms(
    tmp_path: Path, labels: Sequence[tuple[float, float, str]], fields: Sequence[Field], text: str
) -> None:
    assert form(tmp_path / "a.pdf", labels, fields) == text


def test_fields_with_a_description_in_a_row_and_with_a_password(tmp_path: Path) -> None:
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=400)
        page.insert_text((50, 100), "Date")
        page.insert_text((50, 200), "Pass word")
        for number, (x, y, value, label) in enumerate(
            [(90, 88, "9", ""), (120, 88, "May", ""), (50, 300, "Ada", "Your name:")]
        ):
            field = pymupdf.Widget()
            field.field_name, field.field_type = f"f{number}", pymupdf.PDF_WIDGET_TYPE_TEXT
            field.rect = pymupdf.Rect(x, y, x + 28, y + 15)
            field.field_value, field.field_label = value, label
            page.add_widget(field)
        field = pymupdf.Widget()
        field.field_name, field.field_type = "p", pymupdf.PDF_WIDGET_TYPE_TEXT
        field.field_flags = pymupdf.PDF_TX_FIELD_IS_PASSWORD
        field.rect, field.field_value = pymupdf.Rect(120, 188, 200, 204), "secret"
        page.add_widget(field)
        document.save(tmp_path / "a.pdf")
    text = read(tmp_path / "a.pdf").text
    assert "Date 9 May" in text
    assert "Your name: Ada" in text
    assert "Pass word ***" in text
    assert "secret" not in text


def test_one_of_two_radio_buttons_is_ticked(tmp_path: Path) -> None:
    kids = b"/Type /Annot /Subtype /Widget /Parent 7 0 R"
    off = b"/AP << /N << /on 10 0 R >> >>"
    (tmp_path / "a.pdf").write_bytes(
        pdf(
            b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [7 0 R] >> >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
            b" /Annots [8 0 R 9 0 R] /Resources << /Font << /F 5 0 R >> >> >>",
            stream(b"BT /F 12 Tf 70 700 Td (Tea) Tj 0 -40 Td (Coffee) Tj ET"),
            FONT,
            b"<< >>",
            b"<< /FT /Btn /Ff 32768 /T (drink) /V /on /Kids [8 0 R 9 0 R] >>",
            b"<< %b /Rect [50 698 62 710] /AS /on %b >>" % (kids, off),
            b"<< %b /Rect [50 658 62 670] /AS /Off %b >>" % (kids, off),
            stream(b""),
        )
    )
    assert read(tmp_path / "a.pdf").text == "[x] Tea\n\n[ ] Coffee"
