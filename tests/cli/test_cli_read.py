"""`read` on small files."""

import sys
from pathlib import Path

import pymupdf
import pytest
from tests.cli.conftest import Command

from rag_nodes.operations import ExitCode


@pytest.fixture
def report(tmp_path: Path) -> Path:
    document = pymupdf.open()
    for number in range(1, 4):
        page = document.new_page()
        page.insert_text((50, 80), f"{number} Chapter of tea", fontsize=20)
        page.insert_text((50, 120), f"Tea number {number} is kept in the larder.", fontsize=10)
    document.set_toc([[1, f"{number} Chapter of tea", number] for number in range(1, 4)])
    document.save(tmp_path / "report.pdf")
    return tmp_path / "report.pdf"


def test_the_report_says_what_was_understood(command: Command, manual: Path, report: Path) -> None:
    ended = command("read", report, manual)
    assert ended.code == ExitCode.DONE
    assert "1 Chapter of tea  p. 1\n" in ended.stdout
    assert "3 Chapter of tea  p. 3\n" in ended.stdout
    assert "\n  Tea machine\n    Water\n    Cleaning\n" in ended.stdout
    assert "Pages     none" in ended.stdout


def test_tables_and_links_are_counted(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n[Tea](http://tea.example) [again](http://tea.example)\n",
        encoding="utf-8",
    )
    (row,) = command("read", path, "--json").json["documents"]
    assert row["tables"] == 1
    assert [link["text"] for link in row["links"]] == ["Tea", "again"]
    assert "Links     2, to 1 address\n" in command("read", path).stdout


def test_markdown_is_the_text_as_it_is(command: Command, manual: Path) -> None:
    ended = command("read", manual, "--markdown", "--quiet")
    assert ended.stdout == manual.read_text(encoding="utf-8")


def test_a_missing_extra_gives_code_5(
    command: Command, manual: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    ended = command("read", report, "--pdf-engine", "pdfium")
    assert ended.code == ExitCode.UNAVAILABLE
    assert "pip install 'rag-nodes[pdfium]'" in ended.stderr
    assert command("read", report, manual, "--pdf-engine", "pdfium").code == ExitCode.PARTIAL


def test_some_failures_give_code_3_and_all_give_code_1(
    command: Command, manual: Path, corrupt: Path, tmp_path: Path
) -> None:
    ended = command("read", manual, corrupt, tmp_path / "gone.pdf", "--json")
    assert ended.code == ExitCode.PARTIAL
    assert [row["error"] is None for row in ended.json["documents"]] == [True, False, False]
    assert "corrupt.pdf" in ended.stderr
    assert "gone.pdf: no such file; check the path" in ended.stderr
    assert command("read", corrupt).code == ExitCode.FAILURE


def test_terminal_control_sequences_are_not_printed(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    text = "# Tea \x1b[31mred\x1b[0m\n\n\x1b]0;title\x07text\n" + "tea " * 200
    path.write_text(text, encoding="utf-8")
    assert "\x1b" not in command("read", path).stdout
    assert "\x1b" in command("read", path, "--markdown").stdout


def test_limits_come_from_the_settings(
    command: Command, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_NODES_READ_CHARACTERS", "5")
    ended = command("read", report)
    assert ended.code == ExitCode.FAILURE
    assert "over the limit of 5 characters" in " ".join(ended.stderr.split())


def test_an_encoding_is_named_for_some_files(command: Command, tmp_path: Path) -> None:
    for name in ("a.csv", "a.txt"):
        (tmp_path / name).write_bytes(b"town\ncaf\xe9\n")
    ended = command("read", tmp_path, "--encoding", "*.csv=cp1251", "--markdown", "--quiet")
    assert ended.stdout == "town: cafй\ntown\ncafé\n"
    rows = command("read", tmp_path, "--encoding", "cp1251", "--json").json["documents"]
    assert [row["warnings"] for row in rows] == [[], []]


def test_an_unknown_encoding_is_refused(command: Command, manual: Path) -> None:
    ended = command("read", manual, "--encoding", "*.csv=cp1520")
    assert ended.code == ExitCode.USAGE
    assert "Python knows none called 'cp1520'" in ended.stderr
