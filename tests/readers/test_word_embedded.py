"""Documents within Word files are read in place; what is not read is named."""

from io import BytesIO
from pathlib import Path

import pytest
from docx_files import members, paragraph, run, styled_paragraph, table, write_docx
from llama_index.core.schema import Document
from openpyxl import Workbook

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import EmptyFileError
from rag_nodes.readers import read

CHUNK = '<w:altChunk r:id="c1"/>'
KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
NOTE = '<w:footnote w:id="2"><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:footnote>'
ARCHIVE = """\
MIME-Version: 1.0
Content-Type: multipart/related; boundary="b"

--b
Content-Type: text/css

p {}
--b
Content-Type: text/html; charset="windows-1250"
Content-Transfer-Encoding: quoted-printable

<html><body><h2>=A3=F3d=9F</h2><p>Harbour.</p></body></html>
--b--
"""


def mht(encoding: str, body: str) -> str:
    """Return a page that is the whole archive."""
    return (
        "MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n"
        f"Content-Transfer-Encoding: {encoding}\n\n{body}\n"
    )


def docx(
    tmp_path: Path, body: str, related: dict[str, tuple[str, str | bytes]], **parts: str
) -> Path:
    """A file with further parts: by the id of the relation, its kind and name, and the content."""
    contents = members(body, **parts)
    relations = ""
    for number, (name, (kind, content)) in enumerate(related.items(), 1):
        contents[f"word/{name}"] = content
        relations += f'<Relationship Id="c{number}" Type="{KINDS}/{kind}" Target="{name}"/>'
    place = "word/_rels/document.xml.rels"
    contents[place] = str(contents[place]).replace(
        "</Relationships>", f"{relations}</Relationships>"
    )
    return write_docx(tmp_path / "outer.docx", contents)


def with_chunk(tmp_path: Path, name: str, content: str | bytes, body: str = CHUNK) -> Document:
    around = styled_paragraph("Report", "Heading1") + body + paragraph("After.")
    return read(docx(tmp_path, around, {name: ("aFChunk", content)}))


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.html", "<h2>Fees</h2><p>Seven crowns.", "## Fees\n\nSeven crowns."),
        ("a.dat", "<html><body><h2>Fees</h2></body></html>", "## Fees"),
        ("a.xhtml", "<html xmlns='http://www.w3.org/1999/xhtml'><p/><p>Fees</p></html>", "Fees"),
        ("a.mht", ARCHIVE, "## Łódź\n\nHarbour."),
        ("a.mht", mht("base64", "PGgyPkZlZXM8L2gyPg=="), "## Fees"),
        ("a.mht", mht("8bit", "<h2>Fées</h2>"), "## Fées"),
        ("a.mht", mht("quoted-printable", "<h2>Fe=\nes</h2>").replace("\n", "\r\n"), "## Fees"),
        ("a.mht", f"From: <Word>\n{ARCHIVE}", "## Łódź\n\nHarbour."),
        ("a.dat", ARCHIVE.replace("related;", "alternative;"), "## Łódź\n\nHarbour."),
        ("a.txt", "# 5 crowns\nfor adults\n", "\\# 5 crowns\nfor adults"),
        ("a.txt", "Überfahrt für zwölf Käufer".encode("cp1252"), "Überfahrt für zwölf Käufer"),
        ("a.md", "## Fees\n\nSeven.", "## Fees\n\nSeven."),
        ("a.csv", "age,fee\n5,7\n6,8\n", "age: 5\nfee: 7\n\nage: 6\nfee: 8"),
    ],
)
def test_formats_that_have_a_reader_are_read_in_place(
    tmp_path: Path, name: str, content: str | bytes, text: str
) -> None:
    assert with_chunk(tmp_path, name, content).text == f"# Report\n\n{text}\n\nAfter."


def test_a_word_file_within_a_word_file_goes_on_with_the_numbers_of_notes(tmp_path: Path) -> None:
    note = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    inner = write_docx(
        tmp_path / "inner.docx",
        members(f"<w:p>{run('Inner')}{note}</w:p>", footnotes=NOTE.format("In.")),
    ).read_bytes()
    body = f"<w:p>{run('First')}{note}</w:p>{CHUNK}"
    outer = docx(tmp_path, body, {"a.docx": ("aFChunk", inner)}, footnotes=NOTE.format("Out."))
    assert read(outer).text == "First[^1]\n\nInner[^2]\n\n[^2]: In.\n\n[^1]: Out."


def test_a_workbook_within_a_word_file_is_read_in_place(tmp_path: Path) -> None:
    book, content = Workbook(), BytesIO()
    for row in (("age", "fee"), (5, 7), (6, 8)):
        book.active.append(row)
    book.save(content)
    text = with_chunk(tmp_path, "a.xlsx", content.getvalue()).text
    assert "# Sheet\n\nage: 5\nfee: 7\n\nage: 6\nfee: 8\n\nAfter." in text


def test_a_document_in_a_cell_is_text_of_the_cell(tmp_path: Path) -> None:
    body = table([f"<w:p>{run('a')}</w:p>", f"<w:p>{run('b')}</w:p>"], [CHUNK, CHUNK])
    document = with_chunk(tmp_path, "a.html", "<p>x<p>y", body)
    assert "| x<br>y | x<br>y |" in document.text


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.rtf", "{\\rtf1 Fees}", "an RTF document"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Microsoft Office document"),
        ("a.xml", "<w:p/>", "no reader for .xml"),
        ("a.docx", b"PK\x03\x04", "the archive is cut off: it has no directory at its end"),
    ],
)
def test_a_document_that_cannot_be_read_is_named_in_a_warning(
    tmp_path: Path, name: str, content: str | bytes, reason: str
) -> None:
    document = with_chunk(tmp_path, name, content)
    assert document.text == "# Report\n\nAfter."
    assert document.metadata[keys.READ_WARNINGS] == [
        f"the embedded document word/{name} was left out: {reason}"
    ]


def test_a_file_that_holds_itself_is_read_to_a_depth(tmp_path: Path) -> None:
    inner = b""
    for depth in range(6):
        body = paragraph(f"Level {depth}") + (CHUNK if inner else "")
        path = docx(tmp_path, body, {"a.docx": ("aFChunk", inner)} if inner else {})
        inner = path.read_bytes()
    document = read(path)
    assert document.text == "Level 5\n\nLevel 4\n\nLevel 3\n\nLevel 2"
    [warning] = document.metadata[keys.READ_WARNINGS]
    assert warning.endswith("a.docx was left out: it is over 3 documents deep")


@pytest.mark.parametrize(
    ("related", "remedy"),
    [
        (
            {"comments.xml": ("comments", "Agreed.")},
            "put the text of its comments, which are not read, into the body",
        ),
        (
            {"header1.xml": ("header", "Ferries"), "footer1.xml": ("footer", "")},
            "put the text of its page headers, which are not read, into the body",
        ),
        (
            {"charts/chart1.xml": ("chart", ""), "media/a.png": ("image", "")},
            "put the text of its charts and images, which are not read, into the body",
        ),
        ({}, "check that the export or download finished"),
    ],
)
def test_the_remedy_names_where_the_text_of_an_empty_document_is(
    tmp_path: Path, related: dict[str, tuple[str, str]], remedy: str
) -> None:
    parts = {
        name: (kind, members(paragraph(text))["word/document.xml"])
        for name, (kind, text) in related.items()
    }
    with pytest.raises(EmptyFileError) as caught:
        read(docx(tmp_path, paragraph(""), parts))
    assert caught.value.remedy == remedy


def test_left_out_content_is_the_reason_of_an_empty_document(tmp_path: Path) -> None:
    with pytest.raises(EmptyFileError) as caught:
        read(docx(tmp_path, CHUNK, {"a.rtf": ("aFChunk", "{\\rtf1 Fees}")}))
    assert caught.value.reason == (
        "no text in the body of the document; the embedded document word/a.rtf was left out: an "
        "RTF document"
    )
