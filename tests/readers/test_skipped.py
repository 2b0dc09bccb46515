"""Files that a walk of folders leaves out are counted and named."""

import logging
import os
from collections import Counter
from pathlib import Path

import pytest

from rag_nodes.core.errors import ReadError
from rag_nodes.readers import Exclusion, Skipped, listed, read, read_all

OTHERS = ("a.adoc", "b.ipynb", "c.docm", "d.DOC", "e.pptx", "f.pptx", "Makefile")
UNNAMED = (".git/config", ".env", "Thumbs.db", "~$report.docx", "old.md~", "sub/__pycache__/m.pyc")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("read.md", "page.mdx", *OTHERS, *UNNAMED):
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# Title\n\nSome text.\n", encoding="utf-8")
    return tmp_path / "docs"


def test_files_of_other_types_are_counted_by_suffix_and_leftovers_are_not(folder: Path) -> None:
    skipped = Skipped()
    rows = [*read_all([folder], skipped=skipped)]
    assert [row.path.name for row in rows if row.document] == ["page.mdx", "read.md"]
    assert list(skipped.by_type().items()) == [
        (".pptx", 2),
        ("(no suffix)", 1),
        (".adoc", 1),
        (".doc", 1),
        (".docm", 1),
        (".ipynb", 1),
    ]
    assert str(skipped) == (
        "skipped 7 files: 2 .pptx, 1 (no suffix), 1 .adoc, 1 .doc, 1 .docm, 1 .ipynb"
    )


def test_skipped_files_are_logged_if_no_counter_is_given(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert len([*read_all([folder], exclude="*.pptx")]) == 2
    assert "skipped 5 files: 1 (no suffix), 1 .adoc" in caplog.text
    assert "excluded 2 files or folders" in caplog.text


def test_a_file_reached_twice_is_counted_once(folder: Path) -> None:
    skipped = Skipped()
    assert len([*listed([folder, folder, folder / "sub"], skipped=skipped)]) == 3
    assert skipped.types.total() == len(OTHERS)


def test_a_crawl_or_folder_that_is_named_too_is_not_counted_as_left_out(folder: Path) -> None:
    skipped, named = Skipped(), (folder / "crawl.json", folder / "sub")
    for path in (named[0], folder / "other.json", named[1] / "a.md"):
        path.write_text("[]", encoding="utf-8")
    files = [*listed([folder, *named], exclude=Exclusion("sub"), skipped=skipped)]
    assert {file.path for file in files} >= {named[0], named[1] / "a.md"}
    assert (skipped.types[".json"], skipped.excluded) == (1, 0)


def test_a_link_out_of_the_folder_is_counted(folder: Path, tmp_path: Path) -> None:
    outside, skipped = tmp_path / "outside", Skipped()
    outside.mkdir()
    (outside / "x.md").write_text("Some text.", encoding="utf-8")
    (folder / "sub" / "folder").symlink_to(outside)
    (folder / "sub" / "file.md").symlink_to(outside / "x.md")
    (folder / "sub" / "inside").symlink_to(folder)
    assert [file.path.name for file in listed([folder / "sub"], skipped=skipped)] == ["sub"]
    assert skipped.by_type() == {"(link out of the folder)": 3}


def test_many_types_are_one_line_and_a_crawl_is_to_be_named() -> None:
    types = Counter({f".t{number}": 20 - number for number in range(10)} | {".json": 1})
    assert str(Skipped(types)) == (
        "skipped 156 files: 20 .t0, 19 .t1, 18 .t2, 17 .t3, 16 .t4, 15 .t5, 14 .t6, 13 .t7, "
        "24 of other types (name a crawl to read it)"
    )
    assert str(Skipped()) == ""


def test_a_folder_that_cannot_be_listed_is_an_error_and_not_silence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse_folder(path: str | Path) -> object:
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse_folder)
    rows = [*read_all([folder])]
    errors = [row.error for row in rows if row.error]
    assert len(rows) == 3
    assert [type(error) for error in errors] == [ReadError]
    assert "sub: the system refused to read it: Permission denied" in str(errors[0])


def test_mdx_is_read_as_markdown(folder: Path) -> None:
    document = read(folder / "page.mdx")
    assert document.metadata["text_format"] == "markdown"
    assert document.metadata["title"] == "Title"
