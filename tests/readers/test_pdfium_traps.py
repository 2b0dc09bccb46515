"""Peculiarities of PDFium, each on one small PDF; the numbers are those of its list of traps.

Text from right to left (13) and text printed over itself (18) are in `test_pdf_as_read.py`, limits
of time and memory (15, 16), files without pages and encrypted ones (17), and truncated files (19)
in `test_bad_pdfs.py`, which run on both engines.
"""

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from bad_pdfs import CATALOG, page_with_content, pdf, tree_first

from rag_nodes.core import metadata as keys
from rag_nodes.readers import Limits, read
from rag_nodes.readers.pdf.engines import opened
from rag_nodes.readers.pdf.engines.looks import is_bold_name
from rag_nodes.readers.pdf.engines.pdfium import objects
from rag_nodes.readers.pdf.engines.protocol import TextLine
from rag_nodes.readers.pdf.lines import layout_lines

PDFIUM = Limits(pdf_engine="pdfium")


def show_lines(path: Path, content: bytes) -> list[str]:
    """Return the lines of a page with this content, and Helvetica as /F."""
    path.write_bytes(page_with_content(zlib.compress(content)))
    return texts(path)


def drawn(path: Path, draw: Callable[[Any], None]) -> list[str]:
    """Return the lines of a page that PyMuPDF draws."""
    with pymupdf.open() as document:
        draw(document.new_page(width=400, height=300))
        document.save(path)
    return texts(path)


def texts(path: Path) -> list[str]:
    return [line.text for line in layout_lines(raw_lines(path))]


def raw_lines(path: Path, number: int = 0) -> Sequence[TextLine]:
    with opened(path, PDFIUM) as document, document.page(number) as page:
        return page.lines()


def test_01_text_is_in_the_order_of_the_file_and_not_along_the_line(path: Path) -> None:
    content = b"BT /F 10 Tf 50 700 Td (O) Tj 9 0 Td (guz) Tj -4 0 Td (x) Tj 30 0 Td (Tea) Tj ET"
    assert show_lines(path, content) == ["Oguz", "x", "Tea"]


def test_02_a_ligature_is_letters_that_share_its_width(path: Path) -> None:
    def draw(page: Any) -> None:
        writer = pymupdf.TextWriter(page.rect)
        writer.append((50, 72), "o\ufb03ce", font=pymupdf.Font("helv"))
        writer.write_text(page)

    assert drawn(path, draw) == ["office"]
    with opened(path, PDFIUM) as document, document.page(0) as page:
        (line,) = page.glyph_lines()
    lefts = [glyph.box[0] for glyph in line]
    widths = [glyph.box[2] - glyph.box[0] for glyph in line]
    assert lefts == sorted(set(lefts))
    assert widths[1:4] == pytest.approx([widths[1]] * 3, abs=0.01)


def test_03_what_the_clip_of_a_page_in_a_page_hides_is_not_read(path: Path) -> None:
    inner = pymupdf.open()
    page = inner.new_page(width=400, height=300)
    page.insert_text((50, 60), "For peer review only.")
    page.insert_text((50, 160), "Tea is kept in the larder.")

    def place(page: Any) -> None:
        page.show_pdf_page(pymupdf.Rect(50, 100, 350, 200), inner, clip=(0, 100, 400, 200))

    assert drawn(path, place) == ["Tea is kept in the larder."]


def test_04_form_fields_and_annotations_are_read(path: Path) -> None:
    def draw(page: Any) -> None:
        page.insert_text((50, 60), "Name:")
        field = pymupdf.Widget()
        field.field_name, field.field_value = "name", "Ada Lovelace"
        field.field_type = pymupdf.PDF_WIDGET_TYPE_TEXT
        field.rect = pymupdf.Rect(100, 45, 300, 65)
        page.add_widget(field)
        page.add_freetext_annot(pymupdf.Rect(50, 100, 300, 130), "See the note.")

    assert sorted(drawn(path, draw)) == ["Name: Ada Lovelace", "See the note."]


def test_05_codes_without_a_letter_are_reported_and_drawn_fonts_are_read(path: Path) -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        writer = pymupdf.TextWriter(page.rect)
        writer.append((50, 72), "Tea is kept in the larder.", font=pymupdf.Font("cjk"))
        writer.write_text(page)
        for number in range(1, document.xref_length()):
            if document.xref_get_key(number, "ToUnicode")[0] != "null":
                document.xref_set_key(number, "ToUnicode", "null")
                document.xref_set_key(number, "Encoding", "/Identity-H")
        document.save(path)
    assert set("".join(texts(path))) <= set("\ufffd ")
    warnings = read(path, limits=PDFIUM).metadata[keys.READ_WARNINGS]
    assert any("have no Unicode value" in warning for warning in warnings)
    glyph = b"<< /Length 28 >>\nstream\n600 0 d0 0 0 500 700 re f   \nendstream"
    path.write_bytes(
        pdf(
            CATALOG,
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
            b" /Resources << /Font << /F 5 0 R >> >> >>",
            b"<< /Length 34 >>\nstream\nBT /F 10 Tf 50 700 Td (TEA) Tj ET  \nendstream",
            b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 600 700] /FirstChar 65 /LastChar 84"
            b" /FontMatrix [.001 0 0 .001 0 0] /Widths [%b] /CharProcs << /A 6 0 R /E 6 0 R"
            b" /T 6 0 R >> /Encoding << /Differences [65 /A 69 /E 84 /T] >> >>" % (b"600 " * 20),
            glyph,
        )
    )
    assert texts(path) == ["TEA"]


@pytest.mark.parametrize("size", [b"10", b"-10"])
def test_06_a_negative_size_in_a_mirrored_matrix_is_a_size(path: Path, size: bytes) -> None:
    sign = b"-1 0 0 -1" if size.startswith(b"-") else b"1 0 0 1"
    show_lines(path, b"BT /F %b Tf %b 50 700 Tm (Tea is kept.) Tj ET" % (size, sign))
    (line,) = raw_lines(path)
    assert line.is_upright
    assert [(run.text, run.font.size) for run in line.runs] == [("Tea is kept.", 10)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ABCDEF+CMBX12", True), ("SFBX1000", True), ("NimbusRomNo9L-Medi", True),
        ("Frutiger-Bd", True), ("Arial-BoldMT", True), ("CMR10", False),
        ("Roboto-Medium", False), ("Helvetica", False),
    ],
)  # fmt: skip
def test_07_the_name_of_a_font_says_that_it_is_bold(name: str, expected: bool) -> None:
    assert is_bold_name(name) is expected


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"[(Tea) -250 (is) -250 (kept.)] TJ", ["Tea is kept."]),
        (b"1.2 Tc (first) Tj", ["first"]),
        (b"[(w) -80 (i) -80 (d) -80 (e)] TJ", ["wide"]),
        (b"[(a) -140 (cup)] TJ", ["a cup"]),  # too narrow for the gap: PDFium supposes a blank
        (b"[(Tea) -900 (India)] TJ", ["Tea", "India"]),
        (b"(Tea) Tj 40 0 Td (India) Tj", ["Tea", "India"]),
        (b"(Tea) Tj 20 0 Td (India) Tj", ["Tea India"]),
    ],
)
def test_08_blanks_come_of_gaps(path: Path, content: bytes, lines: list[str]) -> None:
    assert show_lines(path, b"BT /F 10 Tf 50 700 Td %b ET" % content) == lines


def test_09_a_hyphen_at_the_end_of_a_line_is_one(path: Path) -> None:
    content = b"BT /F 10 Tf 12 TL 50 700 Td (kept in the lar-) Tj T* (der until winter.) Tj ET"
    assert show_lines(path, content) == ["kept in the lar-", "der until winter."]
    assert read(path, limits=PDFIUM).text == "kept in the larder until winter."


def test_10_lines_at_one_pitch_are_a_block(path: Path) -> None:
    def draw(page: Any) -> None:
        page.insert_text((50, 40), "A heading", fontsize=14)
        for y in (60, 72, 84, 102, 114):  # the fourth begins a paragraph
            page.insert_text((50, y), "The kettle stands on the iron stove.", fontsize=10)
        page.insert_text((250, 60), "The next column.", fontsize=10)

    drawn(path, draw)
    assert [line.block for line in raw_lines(path)] == [0, 1, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_11_a_turned_page_is_read_as_it_is_shown(path: Path, turned: int) -> None:
    def draw(page: Any) -> None:
        # The text is turned against the page, so that it is upright as shown.
        page.set_rotation(turned)
        point = pymupdf.Point(60, 80) * page.derotation_matrix
        page.insert_text(point, "Tea is kept in the larder.", rotate=turned)

    assert drawn(path, draw) == ["Tea is kept in the larder."]
    with opened(path, PDFIUM) as document, document.page(0) as page:
        (line,) = page.lines()
        assert (page.width, page.height) == ((400, 300) if turned % 180 == 0 else (300, 400))
        assert page.turn == pytest.approx((1, 0, 0, 1, 0, 0))
    assert line.is_upright
    assert line.box[0] == pytest.approx(60, abs=1)
    assert line.runs[0].baseline == pytest.approx(80, abs=1)


def test_11_text_up_the_margin_is_not_upright(path: Path) -> None:
    def draw(page: Any) -> None:
        page.insert_text((50, 60), "Tea is kept in the larder.")
        page.insert_text((30, 200), "arXiv", rotate=90)

    assert drawn(path, draw) == ["Tea is kept in the larder.", "arXiv"]
    assert [line.is_upright for line in raw_lines(path)] == [True, False]


@pytest.mark.parametrize("degrees", [10, 45, 100])
def test_11_a_slanted_text_is_a_line(path: Path, degrees: int) -> None:
    def draw(page: Any) -> None:
        page.insert_text((60, 60), "Upright words of a page.")
        turned = (pymupdf.Point(100, 250), pymupdf.Matrix(degrees))
        page.insert_text((100, 250), "Draft of the report", morph=turned)

    assert drawn(path, draw) == ["Upright words of a page.", "Draft of the report"]


@pytest.mark.parametrize(
    ("damage", "is_repaired"),
    [
        (lambda whole: whole, False),
        (lambda whole: b"junk\n" * 9 + whole, False),
        (lambda whole: whole[: whole.rindex(b"startxref")] + b"startxref\n99\n%%EOF", True),
    ],
)
def test_12_a_repair_is_reported_and_junk_before_the_header_is_none(
    path: Path, damage: Callable[[bytes], bytes], is_repaired: bool
) -> None:
    path.write_bytes(damage(tree_first(3)))
    warnings = read(path, limits=PDFIUM).metadata.get(keys.READ_WARNINGS, [])
    assert any("repaired" in warning for warning in warnings) is is_repaired


def test_14_a_letter_beyond_the_basic_plane_is_one_glyph(path: Path) -> None:
    codes = (
        b"1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfchar <42> <d840dc89> endbfchar"
    )
    path.write_bytes(
        pdf(
            CATALOG,
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
            b" /Resources << /Font << /F 5 0 R >> >> >>",
            b"<< /Length 34 >>\nstream\nBT /F 10 Tf 50 700 Td (ABC) Tj ET  \nendstream",
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(codes), codes),
        )
    )
    assert texts(path) == ["A\U00020089C"]
    with opened(path, PDFIUM) as document, document.page(0) as page:
        (line,) = page.glyph_lines()
    assert [glyph.text for glyph in line] == ["A", "\U00020089", "C"]


def test_14_bookmarks_that_lead_back_end(path: Path) -> None:
    item = b"<< /Title (Tea) /Parent 3 0 R /Next %d 0 R /First 4 0 R /Dest [6 0 R /Fit] >>"
    path.write_bytes(
        pdf(
            b"<< /Type /Catalog /Pages 2 0 R /Outlines 3 0 R >>",
            b"<< /Type /Pages /Kids [6 0 R] /Count 1 >>",
            b"<< /Type /Outlines /First 4 0 R /Last 5 0 R /Count 2 >>",
            item % 5,
            item % 4,
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] >>",
        )
    )
    with opened(path, PDFIUM) as document:
        assert document.outline() == [(1, "Tea", 0), (1, "Tea", 0)]


def test_14_objects_and_segments_of_a_page_are_bounded(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"50 50 100 100 re S 50 90 100 100 re S BT /F 10 Tf 50 700 Td (Tea) Tj ET"
    show_lines(path, content)
    with opened(path, PDFIUM) as document, document.page(0) as page:
        assert len(list(page.edges())) == 2
    monkeypatch.setattr(objects, "MAX_SEGMENTS", 5)
    with opened(path, PDFIUM) as document, document.page(0) as page:
        assert len(list(page.edges())) == 1
    monkeypatch.setattr(objects, "MAX_OBJECTS", 2)
    assert texts(path) == []


def test_14_tiny_text_is_read(path: Path) -> None:
    assert show_lines(path, b"BT /F .01 Tf 50 700 Td (Tea) Tj ET") == ["Tea"]
