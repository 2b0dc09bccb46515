"""Every bad PDF is one failed file with the error that says why, or text."""

import sys
import zlib
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pymupdf
import pytest
from bad_pdfs import (
    SHOWN,
    bomb,
    empty_pages,
    late_damage,
    mutations,
    page_with_content,
    pdf,
    text_page,
    tree_first,
)

from rag_nodes.core import errors
from rag_nodes.core import metadata as keys
from rag_nodes.readers import Limits, read, read_all
from rag_nodes.readers.pdf import extract
from rag_nodes.readers.pdf.layout import Line, PdfPage

pytestmark = pytest.mark.usefixtures("pdf_engine")

linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")


def zip_archive() -> bytes:
    memory = BytesIO()
    with ZipFile(memory, "w") as archive:
        archive.writestr("tea.txt", "tea")
    return memory.getvalue()


def drawn(text: str, pages: int = 3) -> bytes:
    document = pymupdf.open()
    for number in range(pages):
        document.new_page().insert_text((50, 100), f"{text} {number}", fontsize=10)
    document.set_toc([[1, f"{text} 0", 1]])
    content: bytes = document.tobytes(deflate=False)
    return content


def image() -> pymupdf.Pixmap:
    return pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 40, 40), False)


def scan_page() -> bytes:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_image(page.rect, pixmap=image())
    content: bytes = document.tobytes()
    return content


def encrypt_page() -> bytes:
    document = pymupdf.open()
    document.new_page().insert_text((50, 100), "secret")
    content: bytes = document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="tea")
    return content


def without_pages() -> bytes:
    return pdf(b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>")


def endless_tree() -> bytes:
    return pdf(b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>")


BAD = {
    "empty": (b"", errors.EmptyFileError),
    "blank": (b" \n" * 50, errors.EmptyFileError),
    "garbage": (bytes(range(128, 256)) * 9, errors.CorruptFileError),
    "garbage with a header": (b"%PDF-1.7\n" + b"garbage " * 50, errors.CorruptFileError),
    "text": (b"Tea is kept in the larder.\n" * 9, errors.MisnamedFileError),
    "zip": (zip_archive(), errors.MisnamedFileError),
    "html": (b"<!doctype html><html><p>Tea.</p></html>", errors.MisnamedFileError),
    "png": (image().tobytes("png"), errors.MisnamedFileError),
    "encrypted": (encrypt_page(), errors.EncryptedFileError),
    "scanned": (scan_page(), errors.NoTextLayerError),
    "no pages": (without_pages(), errors.NoPagesError),
    "blank pages": (empty_pages(3), errors.EmptyFileError),
    "a page tree that holds itself": (endless_tree(), errors.CorruptFileError),
    "100,000 empty pages": (empty_pages(100_000), errors.FileTooLargeError),
}


@pytest.mark.parametrize("name", BAD)
def test_each_kind_of_bad_file_has_its_error(tmp_path: Path, name: str) -> None:
    content, expected = BAD[name]
    path = tmp_path / "a.pdf"
    path.write_bytes(content)
    with pytest.raises(errors.ReadError) as caught:
        read(path)
    assert type(caught.value) is expected
    assert caught.value.path == path
    assert caught.value.remedy


def test_a_file_that_claims_two_thousand_million_pages_is_refused_or_has_those_it_has(
    tmp_path: Path, pdf_engine: str
) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(page_with_content(zlib.compress(SHOWN), count=2_000_000_000))
    if pdf_engine == "pdfium":
        assert read(path).metadata[keys.TOTAL_PAGES] == 1
    else:
        with pytest.raises(errors.CorruptFileError):
            read(path)


# --- repaired -----------------------------------------------------------------------------------


@pytest.mark.parametrize("last", [b"Tea number 11", b"startxref"])
def test_what_is_left_of_a_truncated_file_is_read_with_a_warning(
    tmp_path: Path, last: bytes, pdf_engine: str
) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(tree_first(20).partition(last)[0] + last)
    if pdf_engine == "pdfium" and last != b"startxref":
        with pytest.raises(errors.CorruptFileError, match=r"rag-nodes\[pdf\].*pdf-engine pymupdf"):
            read(path)
        return
    document = read(path)
    assert "Tea number 3 is kept" in document.text
    assert "repaired" in document.metadata[keys.READ_WARNINGS][0]


def test_a_file_truncated_within_a_dictionary_cannot_be_repaired(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(tree_first(20).partition(b"/Contents 27")[0])
    with pytest.raises(errors.CorruptFileError):
        read(path)


def test_zeros_in_place_of_the_page_tree_leave_no_pages(tmp_path: Path) -> None:
    whole = text_page()
    start = whole.index(b"2 0 obj")
    path = tmp_path / "a.pdf"
    path.write_bytes(whole[:start] + bytes(60) + whole[start + 60 :])
    with pytest.raises((errors.NoPagesError, errors.CorruptFileError)):
        read(path)


def test_pages_that_are_gone_once_a_file_is_repaired_are_named(
    tmp_path: Path, pdf_engine: str
) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(late_damage(3 if pdf_engine == "pymupdf" else 4))
    document = read(path)
    warnings = document.metadata[keys.READ_WARNINGS]
    unread = [line.split()[1] for line in warnings if line.startswith("page ")]
    assert unread == (["2", "3"] if pdf_engine == "pymupdf" else ["1"])
    assert document.text.count("Tea number") == 3 - len(unread)


@pytest.mark.parametrize("number", [2, 4])
def test_no_page_that_can_be_read_is_no_unforeseen_error(
    tmp_path: Path, number: int, pdf_engine: str
) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(late_damage(number))
    if (number, pdf_engine) == (4, "pdfium"):
        return  # it finds the other pages, see above
    with pytest.raises((errors.CorruptFileError, errors.NoPagesError), match="no page"):
        read(path)


def test_two_hundred_damaged_files_are_text_or_typed_errors(tmp_path: Path) -> None:
    paths = []
    for number, content in enumerate(mutations(drawn("Tea"), 200)):
        paths.append(tmp_path / f"{number:03}.pdf")
        paths[-1].write_bytes(content)
    results = list(read_all(paths, limits=Limits(seconds=20)))
    assert len(results) == 200
    strange = [row.error for row in results if row.error and "unexpected" in row.error.reason]
    assert strange == []
    read_well = sum(row.document is not None for row in results)
    assert 50 < read_well < 200


# --- bombs --------------------------------------------------------------------------------------


def test_text_over_the_limit_of_characters_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    # PDFium drops text that is printed over itself.
    path.write_bytes(bomb(b"1 0 0 1 0 -12 cm " + SHOWN, 50))
    with pytest.raises(errors.FileTooLargeError, match="characters"):
        read(path, limits=Limits(characters=999))


@pytest.mark.parametrize(("unmapped", "warned"), [(5, False), (6, True)])
def test_fonts_without_unicode_values_are_told_of_above_a_twentieth_of_the_text(
    unmapped: int, warned: bool
) -> None:
    text = "\ufffd" * unmapped + "a" * (100 - unmapped)
    line = Line(text=text, left=0, top=0, right=9, bottom=9, baseline=9, size=9)
    pages = [PdfPage(height=99, lines=(line,))]
    warnings = [*extract._warnings(pages, extract._Findings(), is_repaired=False, has_ocr=False)]
    expected = f"{unmapped}% of the characters have no Unicode value in this file's fonts"
    assert warnings == ([expected] if warned else [])


def test_a_small_file_that_becomes_a_gigabyte_is_ended_in_time(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(bomb(b" " * 1024**2, 1024))
    assert path.stat().st_size < 2 * 1024**2
    # PDFium asks for all of the memory at once.
    with pytest.raises((errors.ReadTimeoutError, errors.ReadMemoryError)):
        read(path, limits=Limits(seconds=0.5))


@linux
def test_text_operators_that_eat_memory_are_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(bomb(SHOWN * 20_000, 100))
    assert path.stat().st_size < 1024**2
    with pytest.raises(errors.ReadMemoryError):
        read(path, limits=Limits(memory_bytes=128 * 1024**2))
