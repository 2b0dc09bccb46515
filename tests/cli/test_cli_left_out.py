"""Files that are skipped or excluded are said by every command that walks a folder."""

from pathlib import Path

import pymupdf
import pytest
from tests.cli.conftest import MANUAL, Command

from rag_nodes.operations import ExitCode

SKIPPED = {".adoc": 2, ".pptx": 1}
LINE = "kipped 3 files: 2 .adoc, 1 .pptx"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "drafts").mkdir(parents=True)
    for name in ("manual.md", "drafts/new.md", "a.adoc", "b.adoc", "c.pptx", ".hidden"):
        (folder / name).write_text(MANUAL, encoding="utf-8")
    return folder


def test_ingest_says_what_it_skips_and_ends_well(
    command: Command, docs: Path, tmp_path: Path
) -> None:
    place = ("--store", tmp_path / "store")
    first = command("ingest", docs, *place, "--quiet")
    assert first.code == 0
    assert LINE in first.stdout
    again = command("ingest", docs, *place, "--json").json
    assert again["skipped"] == SKIPPED
    assert again["skipped_files"] == [str(docs / name) for name in ("a.adoc", "b.adoc", "c.pptx")]
    assert (again["excluded"], again["failed"], again["documents"]) == (0, 0, 2)
    assert LINE in command("ingest", docs, *place, "--dry-run").stdout


def test_ingest_leaves_out_what_is_excluded_and_prune_removes_it(
    command: Command, docs: Path, tmp_path: Path
) -> None:
    place = ("--store", tmp_path / "store")
    command("ingest", docs, *place)
    patterns = ("--exclude", "drafts/*", "--exclude", "*.adoc")
    kept = " ".join(command("ingest", docs, *place, *patterns).stdout.split())
    assert "Skipped 1 file: 1 .pptx; excluded 3 files or folders." in kept
    assert "1 stored document has no file any more or is excluded; --prune removes them." in kept
    pruned = command("ingest", docs, *place, *patterns, "--prune")
    assert pruned.code == 0
    assert "Removed, as they are gone or excluded: new.md (1 chunk)." in pruned.stdout
    listed = command("list", *place, "--json").json["documents"]
    assert [entry["name"] for entry in listed] == ["manual.md"]


def test_files_of_the_same_name_are_shown_with_their_folders(
    command: Command, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "drafts" / "manual.md").write_text(MANUAL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    output = command("ingest", "docs", "--store", tmp_path / "store").stdout
    rows = [
        words[0] for line in output.splitlines() if (words := line.split()) and ".md" in words[0]
    ]
    assert rows == ["docs/manual.md", "docs/drafts/manual.md", "new.md"]


def test_the_json_of_ingest_counts_files_that_failed(
    command: Command, docs: Path, corrupt: Path, tmp_path: Path
) -> None:
    ended = command("ingest", docs, corrupt, "--store", tmp_path / "store", "--json")
    assert ended.code == ExitCode.PARTIAL
    assert (ended.json["failed"], ended.json["incomplete"]) == (1, 0)
    assert ended.json["documents"] == 3


def test_read_and_compare_say_what_they_skip(command: Command, docs: Path) -> None:
    read = command("read", docs, "--exclude", "drafts")
    assert (read.code, read.stdout.count("manual.md")) == (0, 1)
    assert LINE in read.stderr
    assert command("read", docs, "--json").json["skipped"] == SKIPPED
    compared = command(
        "compare", docs, "-p", "fixed", "--ask", "How much does the tank hold?", "--json"
    )
    assert compared.code == 0
    assert LINE in compared.stderr
    assert compared.json["skipped"] == SKIPPED


def test_evaluate_says_what_it_skips_and_cannot_read(
    command: Command, docs: Path, corrupt: Path, tmp_path: Path
) -> None:
    questions = tmp_path / "questions.csv"
    questions.write_text(
        "question,quote,file\nHow much?,The tank holds nine litres of water.,manual.md\n",
        encoding="utf-8",
    )
    corrupt.rename(docs / corrupt.name)
    options = ("--questions", questions, "-p", "fixed", "--sizes", "0", "--equal-size", "0")
    ended = command("evaluate", docs, *options, "--exclude", "drafts", "--json")
    assert ended.code == ExitCode.PARTIAL
    assert LINE in ended.stderr
    assert ended.json["skipped"] == SKIPPED
    assert [corrupt.name in reason for reason in ended.json["unread"]] == [True]


def test_patterns_come_from_environment_and_file_and_an_option_replaces_them(
    command: Command, docs: Path, no_configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def names(*options: str) -> list[str]:
        documents = command("read", docs, "--json", *options).json["documents"]
        return [document["name"] for document in documents]

    (no_configuration / "rag_nodes.toml").write_text('exclude = ["manual.*"]\n', encoding="utf-8")
    assert names() == ["new.md"]
    monkeypatch.setenv("RAG_NODES_EXCLUDE", "drafts, *.adoc")
    assert names() == ["manual.md"]
    assert names("--exclude", "x") == ["manual.md", "new.md"]


def test_blank_pages_are_named_and_end_well(
    command: Command, tmp_path: Path, no_configuration: Path
) -> None:
    text = "The quiet hours of the ferry last from ten in the evening until six."
    with pymupdf.open() as pdf:
        for words in (text, "", text, ""):
            pdf.new_page().insert_text((72, 72), words)
        pdf.save(tmp_path / "ferry.pdf")
    ended = command("ingest", tmp_path / "ferry.pdf", "--store", no_configuration / "store")
    assert ended.code == 0
    assert "2 blank pages left out: ferry.pdf, page 2; ferry.pdf, page 4." in ended.stdout
    read = " ".join(command("read", tmp_path / "ferry.pdf").stdout.split())
    assert "Pages 4 Blank pages 2, 4 " in read
    [shown] = command("read", tmp_path / "ferry.pdf", "--json").json["documents"]
    assert shown["blank_pages"] == [2, 4]


def test_a_pattern_without_a_meaning_ends_with_2(command: Command, docs: Path) -> None:
    ended = command("ingest", docs, "--exclude", "!manual.md")
    assert ended.code == ExitCode.USAGE
    assert "exclude '!manual.md': a pattern cannot begin with '!'" in ended.stderr
