"""Commands and notebooks print what the documentation shows."""

import runpy
from pathlib import Path

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "docs" / "make_outputs.py"))


@pytest.mark.parametrize("page", SCRIPT["PAGES"], ids=lambda page: page.name)
def test_commands_print_what_the_page_shows(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "$ rag-nodes " in text
    assert SCRIPT["updated"](page) == text, "run scripts/docs/make_outputs.py"


@pytest.mark.parametrize("path", SCRIPT["NOTEBOOKS"], ids=lambda path: path.name)
def test_the_cells_of_a_notebook_print_what_it_shows(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert '"output_type": "stream"' in text
    assert SCRIPT["updated_notebook"](path) == text, "run scripts/docs/make_outputs.py"


def test_commands_of_a_shell_prepare_what_ours_are_shown_with(tmp_path: Path) -> None:
    page = "Before.\n\n```console\n$ printf 'a b' > made.txt\n$ cat made.txt\n{}\n```\n\nAfter.\n"
    assert SCRIPT["with_outputs"](page.format("old"), tmp_path) == page.format("a b")


def test_times_and_sizes_alone_change_nothing(tmp_path: Path) -> None:
    page = "```console\n$ echo 'took 12 ms at 2026-01-02 03:04,  1.5 MB'\n{}\n```\n"
    same = page.format("took 1.2 s at 2025-12-31 23:59, 3 KB")
    assert SCRIPT["with_outputs"](same, tmp_path) == same
    other = page.format("took 1.2 s at 2025-12-31 23:59, 3 files")
    assert SCRIPT["with_outputs"](other, tmp_path) != other
