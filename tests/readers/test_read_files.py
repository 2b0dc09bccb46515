"""Files of all kinds, good and bad, through `read` and `read_all`."""

import hashlib
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from docx_files import members, paragraph, write_docx
from llama_index.core.schema import Document, MetadataMode
from tests.readers.conftest import write

import rag_nodes.readers.html
from rag_nodes.core import errors
from rag_nodes.core import metadata as keys
from rag_nodes.parsers import get_parser
from rag_nodes.readers import COLLECTIONS, SUFFIXES, Limits, Reading, read, read_all

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
ZIP = b"PK\x03\x04\x14\x00\x00\x00\x08\x00" + bytes(range(256)) * 4
HTML = b"<!DOCTYPE html><html><body><p>Hello</p></body></html>"
GARBAGE = b"\x07\x01\xfe\xff\x9c\x00\x03\x80" * 200
PDF_START = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"


# --- good files ---------------------------------------------------------------------------------


def test_a_document_knows_its_file_and_hides_that_from_the_models(tmp_path: Path) -> None:
    path = write(tmp_path / "note.txt", b"The kettle is on.")
    document = read(path)
    assert document.text == "The kettle is on."
    assert document.metadata == {
        keys.SOURCE: str(path.resolve()),
        keys.FILE_NAME: "note.txt",
        keys.SOURCE_HASH: hashlib.sha256(b"The kettle is on.").hexdigest(),
        keys.TEXT_FORMAT: "plain",
    }
    assert document.get_content(MetadataMode.EMBED) == "The kettle is on."
    assert document.get_content(MetadataMode.LLM) == "The kettle is on."


def test_the_id_depends_on_the_canonical_path_and_not_on_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "note.txt", b"before")
    first = read(path)
    path.write_bytes(b"after")
    monkeypatch.chdir(tmp_path)
    second = read("note.txt")
    assert first.id_ == second.id_ == str(uuid.uuid5(uuid.NAMESPACE_URL, path.resolve().as_uri()))
    assert first.metadata[keys.SOURCE_HASH] != second.metadata[keys.SOURCE_HASH]


def test_suffixes_count_in_any_case(tmp_path: Path) -> None:
    assert read(write(tmp_path / "NOTE.TXT", b"loud")).text == "loud"


# --- bad files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("empty.txt", b"", errors.EmptyFileError),
        ("empty.md", b"", errors.EmptyFileError),
        ("blank.txt", b" \r\n\t\n", errors.EmptyFileError),
        ("blank.md", b"\n\n\n", errors.EmptyFileError),
        ("zeros.pdf", bytes(2000), errors.EmptyFileError),
        ("paper.txt", PDF_START, errors.MisnamedFileError),
        ("paper.md", PDF_START, errors.MisnamedFileError),
        ("image.txt", PNG, errors.MisnamedFileError),
        ("program.txt", GARBAGE, errors.MisnamedFileError),
        ("program.md", GARBAGE, errors.MisnamedFileError),
        ("header-only.pdf", PDF_START, errors.ReadError),
        ("table.xyz", b"a;b", errors.UnsupportedFileError),
        ("nosuffix", b"text", errors.UnsupportedFileError),
    ],
)
def test_each_kind_of_bad_file_has_its_error_with_file_and_remedy(
    tmp_path: Path, name: str, content: bytes, error: type[errors.ReadError]
) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(error) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert caught.value.reason
    assert caught.value.remedy


def test_the_message_says_what_the_file_really_is(tmp_path: Path) -> None:
    with pytest.raises(errors.MisnamedFileError, match="PNG image, not a PDF"):
        read(write(tmp_path / "image.pdf", PNG))
    with pytest.raises(errors.MisnamedFileError, match="PDF document, not text"):
        read(write(tmp_path / "paper.txt", PDF_START))


def test_a_missing_file_and_a_folder_are_distinguished(tmp_path: Path) -> None:
    with pytest.raises(errors.FileMissingError, match="no such file"):
        read(tmp_path / "nowhere.txt")
    with pytest.raises(errors.FileMissingError, match="name a file in it"):
        read(tmp_path)


def test_files_over_a_limit_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "long.txt", b"word " * 1000)
    with pytest.raises(errors.FileTooLargeError, match="bytes"):
        read(path, limits=Limits(file_bytes=4999))
    with pytest.raises(errors.FileTooLargeError, match="5,000 characters"):
        read(path, limits=Limits(characters=4999))
    assert len(read(path, limits=Limits(file_bytes=5000, characters=5000)).text) == 5000


def test_an_unexpected_failure_becomes_a_read_error_that_keeps_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_to_read(path: Path, limits: Limits) -> None:
        raise LookupError(f"{path.name} {limits.pages}")

    monkeypatch.setitem(SUFFIXES, ".txt", fail_to_read)
    with pytest.raises(errors.ReadError, match="unexpected LookupError") as caught:
        read(write(tmp_path / "note.txt", b"text"))
    assert isinstance(caught.value.__cause__, LookupError)


# --- many files ---------------------------------------------------------------------------------


def test_one_bad_file_never_stops_the_rest(tmp_path: Path) -> None:
    good = write(tmp_path / "good.txt", b"good")
    bad = write(tmp_path / "bad.pdf", GARBAGE)
    late = write(tmp_path / "late.md", b"# Late")
    results = list(read_all([good, tmp_path / "gone.txt", bad, late]))
    assert [type(result.error) for result in results] == [
        type(None),
        errors.FileMissingError,
        errors.CorruptFileError,
        type(None),
    ]
    assert "# Late" not in repr(results[3])
    assert [result.document.text if result.document else None for result in results] == [
        "good",
        None,
        None,
        "# Late",
    ]
    assert all(result.seconds >= 0 for result in results)


def test_folders_are_walked_in_order_without_hidden_and_foreign_files(tmp_path: Path) -> None:
    for name in [
        "b.txt",
        "a.md",
        "deep/c.txt",
        ".hidden.txt",
        ".git/config.txt",
        "data.xyz",
        "package.json",
    ]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, name.encode())
    names = [result.path.relative_to(tmp_path).as_posix() for result in read_all([tmp_path])]
    assert names == ["a.md", "b.txt", "deep/c.txt"]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "note.txt", b"once")
    assert len(list(read_all([path, tmp_path, str(path)]))) == 1


def test_a_folder_without_readable_files_is_a_row_and_not_silence(tmp_path: Path) -> None:
    (result,) = read_all([tmp_path])
    assert isinstance(result.error, errors.UnsupportedFileError)


def test_a_crawl_alone_in_a_folder_is_to_be_named(tmp_path: Path) -> None:
    (tmp_path / "crawl.json").write_text("{}", encoding="utf-8")
    [row] = read_all([tmp_path])
    assert str(row.error).endswith(".xlsx, and source code; name a crawl (.json, .jsonl) as a file")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_that_lead_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret.txt", b"secret")
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder / "open.txt", b"open")
    (folder / "link.txt").symlink_to(secret)
    assert [result.path.name for result in read_all([folder])] == ["open.txt"]


def test_results_come_one_by_one(tmp_path: Path) -> None:
    path = write(tmp_path / "note.txt", b"first")
    results = read_all([path, tmp_path / "later.txt"])
    assert next(results).document is not None
    write(tmp_path / "later.txt", b"written after the first was read")
    assert next(results).error is None


def test_without_an_engine_pdfs_fail_with_both_install_lines_and_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pymupdf", None)
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    pdf = write(tmp_path / "paper.pdf", PDF_START)
    with pytest.raises(errors.MissingPdfEngineError, match=r"\[pdfium\].*BSD.*\[pdf\].*AGPL"):
        read(pdf)
    first, second = read_all([pdf, write(tmp_path / "note.txt", b"text")])
    assert "rag-nodes[pdf]" in str(first.error)
    assert second.document is not None


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [
        ("lxml", "a.docx", "docx"),
        ("markdownify", "a.html", "html"),
        ("justhtml", "a.html", "html"),
        ("openpyxl", "a.xlsx", "xlsx"),
    ],
)
def test_without_a_library_its_files_fail_with_the_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str, extra: str
) -> None:
    for part in ("markdown", "page", "tree"):  # as if no page had been read before
        monkeypatch.delitem(sys.modules, f"rag_nodes.readers.html.{part}", raising=False)
        monkeypatch.delattr(rag_nodes.readers.html, part, raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / name
    if extra in {"docx", "xlsx"}:
        write_docx(path, members(paragraph("text")))
    else:
        path.write_bytes(HTML)
    with pytest.raises(errors.MissingExtraError, match=rf"rag-nodes\[{extra}\]"):
        read(path)


SOURCE = """\
# A comment, no heading
def first():
    return "ü"


# ## another
```
"""


@pytest.mark.parametrize("name", ["a.py", "a.sh", "a.RS", "a.tsx", "a.sql"])
def test_source_code_is_read_as_plain_text_character_by_character(
    tmp_path: Path, name: str
) -> None:
    write(tmp_path / name, SOURCE.encode())
    (row,) = read_all([tmp_path])
    assert row.document is not None
    assert row.document.text == SOURCE
    assert row.document.metadata[keys.TEXT_FORMAT] == "plain"
    assert "heading_path" not in get_parser("retrieval")([row.document])[0].metadata
    other = Document(text=SOURCE, metadata={"file_name": name})
    assert get_parser("retrieval")([other])[0].metadata[keys.TEXT_FORMAT] == "plain"


def test_every_suffix_is_lower_case_and_means_one_thing(tmp_path: Path) -> None:
    assert not SUFFIXES.keys() & COLLECTIONS.keys()
    for suffix in [*SUFFIXES, *COLLECTIONS]:
        assert suffix == suffix.lower()
        (row,) = read_all([write(tmp_path / f"file{suffix}", b"")])
        assert isinstance(row.error, errors.EmptyFileError)


# --- files that hold many documents -------------------------------------------------------------


def pages(path: Path, limits: Limits) -> Iterator[Reading | errors.ReadError]:
    """A crawl of two pages with a bad one between, which breaks off."""
    limits.check(path, 1, "pages")
    yield Reading(
        text="one",
        source="https://example.org/1",
        also_at=("https://example.org/one",),
        facts={"language": "en", keys.FILE_NAME: "not this"},
    )
    yield errors.ReadError(path, "data[1] has no text")
    yield Reading(text="three", source="https://example.org/3")
    raise errors.CorruptFileError(path, "cut off in data[3]")


def test_a_crawl_is_a_row_per_page_and_pages_go_by_their_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COLLECTIONS, ".json", pages)
    path = write(tmp_path / "crawl.json", b"{}")
    first, bad, third, end = read_all([path])
    assert [row.path for row in (first, bad, third, end)] == [path] * 4
    assert first.document is not None
    assert first.document.id_ == str(uuid.uuid5(uuid.NAMESPACE_URL, "https://example.org/1"))
    assert first.document.metadata == {
        "language": "en",
        keys.SOURCE: "https://example.org/1",
        keys.FILE_NAME: "crawl.json",
        keys.SOURCE_HASH: hashlib.sha256(b"one").hexdigest(),
        keys.TEXT_FORMAT: "plain",
        keys.ALSO_AT: ["https://example.org/one"],
    }
    assert first.document.get_content(MetadataMode.EMBED) == "one"
    assert third.document is not None
    assert "data[1]" in str(bad.error)
    assert isinstance(end.error, errors.CorruptFileError)


def test_a_crawl_cannot_be_read_as_one_document(tmp_path: Path) -> None:
    with pytest.raises(errors.UnsupportedFileError, match="rag-nodes docs"):
        read(write(tmp_path / "crawl.json", b"{}"))


# --- hostile file names -------------------------------------------------------------------------

HOSTILE_NAMES = [
    *(f"{'../' * depth}etc/passwd.txt" for depth in range(1, 9)),
    *(f"..{slash}..{slash}x.txt" for slash in ("\\", "%2f", "%5c", "\u2215", "\uff0f")),
    *(f"a{control}b.txt" for control in "\0\n\r\t\x1b\x7f"),
    *(f"a{mark}txt.md" for mark in "\u202e\u202d\u200f\u200b\ufeff\u2066"),
    *(f"{device}.txt" for device in ("CON", "PRN", "AUX", "NUL", "COM1", "LPT1")),
    *(f"/dev/{device}" for device in ("zero", "null", "stdin", "tty", "random")),
    *(f"{letter * 300}.txt" for letter in "aä尺"),
    *("~/x.txt", "$HOME/x.txt", "`id`.txt", "$(id).txt", "a;rm -rf x.txt", "-rf.txt", "|x.txt"),
    *("", ".", "..", " ", "/", "file:///etc/passwd.txt", "\\\\host\\share\\x.txt"),
]


def test_hostile_file_names_are_rows_and_nothing_is_written_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "outer" / "folder"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    kept = write(folder / "kept.txt", b"kept")
    assert len(set(HOSTILE_NAMES)) >= 50
    for name in HOSTILE_NAMES:
        for row in read_all([f"{name}.txt" if not name.strip("./ ") else name]):
            assert isinstance(row.error, errors.ReadError), name
            assert "unexpected" not in str(row.error), name
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [kept]


@pytest.mark.skipif(sys.platform == "win32", reason="such names cannot exist there")
def test_files_with_hostile_names_are_read_under_names_that_are_safe_text(tmp_path: Path) -> None:
    names = ["a\nb.txt", "\u202etxt.md", "<img src=x>.txt", "a\udcffb.txt", "..txt.txt", "-rf.txt"]
    for name in names:
        write(tmp_path / name, b"text")
    rows = list(read_all([tmp_path / name for name in names]))
    assert [row.document.text if row.document else row.error for row in rows] == ["text"] * 6
    assert all(str(row.document and row.document.metadata).encode() for row in rows)
