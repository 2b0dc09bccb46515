"""Patterns of `--exclude` mean what they mean in a .gitignore."""

from pathlib import Path

import pytest

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.readers import Exclusion, Skipped, listed

FILES = (
    "a.md",
    "a.tmp.md",
    "drafts/b.md",
    "drafts/deep/c.md",
    "notes/drafts/d.md",
    "notes/e.md",
    "notes/x/f.md",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    for name in FILES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Some text.", encoding="utf-8")
    return root


def left(folder: Path, *patterns: str) -> set[str]:
    files = listed([folder], exclude=Exclusion(patterns))
    return {file.path.relative_to(folder).as_posix() for file in files}


@pytest.mark.parametrize(
    ("pattern", "excluded"),
    [
        ("*.tmp.md", {"a.tmp.md"}),
        ("?.md", {*FILES} - {"a.tmp.md"}),
        ("[ab].md", {"a.md", "drafts/b.md"}),
        ("[!a-e].md", {"notes/x/f.md"}),
        ("drafts", {"drafts/b.md", "drafts/deep/c.md", "notes/drafts/d.md"}),
        ("drafts/", {"drafts/b.md", "drafts/deep/c.md", "notes/drafts/d.md"}),
        ("/drafts", {"drafts/b.md", "drafts/deep/c.md"}),
        ("drafts/*", {"drafts/b.md", "drafts/deep/c.md"}),
        ("./drafts/*.md", {"drafts/b.md"}),
        ("notes/drafts", {"notes/drafts/d.md"}),
        ("**/drafts/*.md", {"drafts/b.md", "notes/drafts/d.md"}),
        ("notes/**", {"notes/drafts/d.md", "notes/e.md", "notes/x/f.md"}),
        ("notes/**/*.md", {"notes/drafts/d.md", "notes/e.md", "notes/x/f.md"}),
        ("**/x/**", {"notes/x/f.md"}),
        ("e.md/", set()),
        ("notes/*.md", {"notes/e.md"}),
        ("DRAFTS", set()),
        ("docs", set()),
    ],
)
def test_a_pattern_leaves_out_what_it_would_in_gitignore(
    folder: Path, pattern: str, excluded: set[str]
) -> None:
    assert {*FILES} - left(folder, pattern) == excluded


def test_several_patterns_leave_out_what_any_of_them_does(folder: Path) -> None:
    assert left(folder, "drafts", "*.tmp.md", "x") == {"a.md", "notes/e.md"}


@pytest.mark.parametrize("pattern", ["", " ", "/", "!a.md"])
def test_a_pattern_without_a_meaning_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigurationError, match="exclude"):
        Exclusion([pattern])


def test_a_single_text_is_one_pattern(folder: Path) -> None:
    files = listed([folder], exclude=Exclusion("drafts"))
    assert [file.path.name for file in files] == ["a.md", "a.tmp.md", "e.md", "f.md"]


def test_a_file_that_was_named_is_left_out_by_its_name(folder: Path) -> None:
    skipped = Skipped()
    named = [folder / "a.md", folder / "a.tmp.md"]
    files = [*listed(named, exclude=Exclusion("*.tmp.md"), skipped=skipped)]
    assert [file.path.name for file in files] == ["a.md"]
    assert skipped.excluded == 1


def test_a_folder_that_was_named_itself_is_read_though_another_leaves_it_out(folder: Path) -> None:
    files = listed([folder, folder / "drafts"], exclude=Exclusion("drafts"))
    names = [file.path.name for file in files]
    assert names == ["a.md", "a.tmp.md", "e.md", "f.md", "b.md", "c.md"]


def test_a_link_to_a_file_that_is_left_out_is_left_out(folder: Path) -> None:
    (folder / "link.md").symlink_to(folder / "drafts" / "b.md")
    assert "link.md" in left(folder)
    assert "link.md" not in left(folder, "drafts")
