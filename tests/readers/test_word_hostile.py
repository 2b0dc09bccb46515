"""DOCX files made to harm: each is refused with its typed error before its XML is parsed."""

import io
import socket
import struct
import zipfile
from pathlib import Path
from typing import NoReturn

import pytest
from docx_files import members, paragraph, run, write_docx

from rag_nodes.core import errors
from rag_nodes.core import metadata as keys
from rag_nodes.readers import read, read_all
from rag_nodes.readers.word import package

GOOD = members(paragraph("text"))
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000)
BILLION_LAUGHS = (
    '<!DOCTYPE w:document [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>'
)


@pytest.fixture
def no_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is refused under this fixture was refused before any XML was parsed."""

    def fail_if_parsed(*_: object) -> NoReturn:
        pytest.fail("the file was parsed")

    monkeypatch.setattr(package, "_parsed", fail_if_parsed)


def zip_of(contents: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return data.getvalue()


def assert_refused(path: Path, error: type[errors.ReadError], match: str) -> None:
    with pytest.raises(error, match=match) as caught:
        read(path)
    assert type(caught.value) is error


@pytest.mark.usefixtures("no_parsing")
@pytest.mark.parametrize("name", ["word/document.xml", "word/media/image1.png"])
def test_a_member_that_unpacks_a_hundredfold_is_refused(tmp_path: Path, name: str) -> None:
    bomb = write_docx(tmp_path / "bomb.docx", {**GOOD, name: bytes(30_000_000)})
    assert_refused(bomb, errors.FileTooLargeError, "unpacks from .* as ZIP bombs do")


@pytest.mark.usefixtures("no_parsing")
def test_many_small_members_that_unpack_a_hundredfold_together_are_refused(tmp_path: Path) -> None:
    many = {f"word/media/{number}": bytes(500_000) for number in range(40)}
    bomb = write_docx(tmp_path / "bomb.docx", {**GOOD, **many})
    assert_refused(bomb, errors.FileTooLargeError, "the archive unpacks")


@pytest.mark.usefixtures("no_parsing")
def test_an_archive_of_ten_thousand_files_is_refused(tmp_path: Path) -> None:
    many = dict.fromkeys((f"x{number}" for number in range(10_001)), "")
    assert_refused(
        write_docx(tmp_path / "many.docx", many), errors.FileTooLargeError, "10,001 files"
    )


@pytest.mark.usefixtures("no_parsing")
def test_a_directory_that_lies_about_its_length_is_refused_unread(tmp_path: Path) -> None:
    many = dict.fromkeys((f"{number:0100}" for number in range(20_000)), "")
    path = write_docx(tmp_path / "lie.docx", many)
    data = bytearray(path.read_bytes())
    struct.pack_into("<HH", data, len(data) - 22 + 8, 3, 3)
    path.write_bytes(data)
    assert_refused(path, errors.FileTooLargeError, "an archive of 3 files")


def test_an_archive_within_is_refused_where_it_is_a_bomb_and_never_opened_where_not(
    tmp_path: Path,
) -> None:
    zeros = zip_of({str(number): bytes(10_000_000) for number in range(3)})
    bomb = write_docx(tmp_path / "bomb.docx", {**GOOD, "word/embeddings/a.zip": zeros * 500})
    assert_refused(bomb, errors.FileTooLargeError, "ZIP bombs")
    nested = write_docx(tmp_path / "nested.docx", {**GOOD, "word/embeddings/a.zip": zeros})
    assert read(nested).text == "text"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_xml_that_declares_entities_is_refused(tmp_path: Path, encoding: str) -> None:
    xml = BILLION_LAUGHS + str(GOOD["word/document.xml"]).replace("text", "&c;")
    parts = {**GOOD, "word/document.xml": xml.encode(encoding)}
    bomb = write_docx(tmp_path / "bomb.docx", parts)
    assert_refused(bomb, errors.CorruptFileError, "declares a document type")


def test_xml_nested_beyond_reason_is_a_typed_error(tmp_path: Path) -> None:
    body = "<w:tbl><w:tr><w:tc>" * 20_000 + "</w:tc></w:tr></w:tbl>" * 20_000
    assert_refused(
        write_docx(tmp_path / "deep.docx", members(body)), errors.CorruptFileError, "deep|nested"
    )


def test_a_member_is_not_unpacked_beyond_the_size_that_it_states(tmp_path: Path) -> None:
    path = write_docx(tmp_path / "lie.docx", {**GOOD, "word/document.xml": bytes(20_000_000)})
    data = path.read_bytes().replace(struct.pack("<L", 20_000_000), struct.pack("<L", 100))
    path.write_bytes(data)
    assert_refused(path, errors.CorruptFileError, "document.xml")


def test_nothing_outside_is_ever_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object, **__: object) -> NoReturn:
        pytest.fail("a network call")

    monkeypatch.setattr(socket, "getaddrinfo", connect)
    monkeypatch.setattr(socket.socket, "connect", connect)
    body = f'<w:p><w:hyperlink r:id="link">{run("go")}</w:hyperlink></w:p>'
    parts = members(body, {"link": "http://127.0.0.1:9/"})
    relations = str(parts["word/_rels/document.xml.rels"])
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    for kind in ("image", "styles", "attachedTemplate", "footnotes", "frame"):
        relations = relations.replace(
            "</Relationships>",
            f'<Relationship Id="{kind}" Type="{kinds}/{kind}" Target="http://127.0.0.1:9/{kind}" '
            'TargetMode="External"/></Relationships>',
        )
    parts["word/_rels/document.xml.rels"] = relations
    # In this process: no patch reaches a child.
    document = read(write_docx(tmp_path / "call.docx", parts), isolate=False)
    assert document.text == "[go](http://127.0.0.1:9/)"
    page = tmp_path / "call.html"
    called = ' src="http://127.0.0.1:9/"'
    page.write_text(
        '<!DOCTYPE html SYSTEM "http://127.0.0.1:9/x.dtd"><link rel="stylesheet" href="http://127.0'
        f'.0.1:9/"><base href="http://127.0.0.1:9/"><img alt="a view"{called}><iframe{called}>'
        f"</iframe><script{called}></script><p>text</p>"
    )
    assert "text" in read(page, isolate=False).text


def test_a_relation_cannot_lead_out_of_the_archive(tmp_path: Path) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_text("<x/>")
    relations = str(GOOD["_rels/.rels"]).replace("word/document.xml", f"../../..{secret}")
    path = write_docx(tmp_path / "out.docx", {**GOOD, "_rels/.rels": relations})
    assert_refused(path, errors.CorruptFileError, "the archive has no")


@pytest.mark.parametrize(
    ("content", "error", "match"),
    [
        (b"just text\n" * 20, errors.MisnamedFileError, "text, not a Word"),
        (b"%PDF-1.7\n" * 20, errors.MisnamedFileError, "PDF"),
        (OLE, errors.MisnamedFileError, "old Microsoft Office"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), errors.EncryptedFileError, "encrypted"),
        (b"\x07\x01\xfe\xff\x9c\x00" * 99, errors.CorruptFileError, "does not start"),
        (b"PK\x03\x04" + bytes(999), errors.CorruptFileError, "cut off"),
        (zip_of({"xl/workbook.xml": b"<x/>"}), errors.MisnamedFileError, "Excel"),
        (zip_of({"ppt/presentation.xml": b"<x/>"}), errors.MisnamedFileError, "PowerPoint"),
        (zip_of({"mimetype": b"x", "content.xml": b"x"}), errors.MisnamedFileError, "OpenDocument"),
        (zip_of({"notes.txt": b"x"}), errors.MisnamedFileError, "a ZIP archive"),
        (zip_of({"[Content_Types].xml": b"<x/>"}), errors.CorruptFileError, "has no word/document"),
    ],
)
def test_files_that_are_not_word_are_named(
    tmp_path: Path, content: bytes, error: type[errors.ReadError], match: str
) -> None:
    path = tmp_path / "file.docx"
    path.write_bytes(content)
    assert_refused(path, error, match)


def test_damaged_files_are_typed_errors_wherever_the_damage_is(tmp_path: Path) -> None:
    whole = write_docx(tmp_path / "whole.docx", GOOD).read_bytes()
    path = tmp_path / "cut.docx"
    for size in range(1, len(whole), 97):
        path.write_bytes(whole[:size])
        with pytest.raises(errors.ReadError) as caught:
            read(path)
        assert "unexpected" not in str(caught.value)
    for at in range(0, len(whole), 41):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        (row,) = read_all([path])
        assert "unexpected" not in str(row.error)


def test_xml_that_is_not_well_formed_names_its_part(tmp_path: Path) -> None:
    path = write_docx(tmp_path / "bad.docx", {**GOOD, "word/document.xml": "<w:document"})
    assert_refused(path, errors.CorruptFileError, "document.xml is not well-formed")


def test_a_reason_quotes_a_damaged_file_in_brief_and_on_one_line(tmp_path: Path) -> None:
    body = f'<w:document xmlns:w="http://[{"[" * 9_000}\n"/>'
    path = write_docx(tmp_path / "bad.docx", {**GOOD, "word/document.xml": body})
    with pytest.raises(errors.CorruptFileError, match="is not well-formed") as caught:
        read(path)
    assert len(caught.value.reason) <= errors.MAX_REASON_CHARACTERS
    assert "\n" not in caught.value.reason


def test_an_embedded_document_that_is_missing_is_reported(tmp_path: Path) -> None:
    document = read(write_docx(tmp_path / "a.docx", members(paragraph("x") + "<w:altChunk/>")))
    assert document.metadata[keys.READ_WARNINGS] == [
        "the embedded document without a name was left out: it is not in the file"
    ]
