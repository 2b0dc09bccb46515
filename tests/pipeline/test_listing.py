"""The files of an ingest, listed as often as they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rag_nodes.pipeline import listing
from rag_nodes.pipeline.listing import FileListing

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    return tmp_path


def names(files: FileListing) -> list[str]:
    return [one.path.name for one in files]


def test_few_files_are_walked_once(folder: Path) -> None:
    files = FileListing([folder])
    assert files.documents() == 3
    (folder / "d.md").write_text("d", encoding="utf-8")
    assert names(files) == ["a.md", "b.md", "c.md"]


def test_what_was_walked_in_part_is_walked_again(folder: Path) -> None:
    files = FileListing([folder])
    next(iter(files))
    (folder / "d.md").write_text("d", encoding="utf-8")
    assert names(files) == ["a.md", "b.md", "c.md", "d.md"]


def test_many_files_are_walked_each_time_and_none_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_KEPT", 2)
    files = FileListing([folder])
    assert files.documents() == 3
    (folder / "d.md").write_text("d", encoding="utf-8")
    assert names(files) == ["a.md", "b.md", "c.md", "d.md"]


def test_how_many_documents_a_crawl_holds_only_reading_it_tells(folder: Path) -> None:
    assert FileListing([folder, folder / "crawl.json"]).documents() is None
