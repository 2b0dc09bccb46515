"""A model refuses while files are ingested: nothing is lost, and the run says what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from openai_server import TOO_LONG, UNKNOWN_MODEL, Fault

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command, Ended
    from openai_server import OpenAIServer

PROBE = Fault()
"""The request before any work starts succeeds."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    write(made, "former")
    return made


def write(folder: Path, version: str) -> None:
    for n in range(6):
        sections = [f"## Part {k}\n\nFile {n}, part {k}, {version} version." for k in range(9)]
        (folder / f"{n}.md").write_text(f"# File {n}\n\n" + "\n\n".join(sections) + "\n")


@pytest.fixture
def ingest(command: Command, folder: Path, openai_server: OpenAIServer) -> Command:
    def run(*more: str) -> Ended:
        arguments = (
            *("ingest", folder, "--store", "kept", "-p", "heading:chunk_size=30,min_chunk_size=5"),
            *("--embedding", "openai", "--embedding-model", "small"),
            *("--llm", "openai", "--llm-model", "big", "--api-base", openai_server.base),
        )
        return command(*arguments, *more)

    return run


@pytest.mark.parametrize("fault", [UNKNOWN_MODEL, TOO_LONG], ids=["404 to all", "400 to chunks"])
def test_six_changed_files_keep_their_chunks_when_the_model_refuses(
    ingest: Command, folder: Path, openai_server: OpenAIServer, fault: Fault
) -> None:
    [before] = ingest("--json").json["columns"]
    write(folder, "latter")
    openai_server.requests.clear()
    openai_server.faults.extend([PROBE, *[fault] * 999])
    ended = ingest("--json")
    assert ended.code == 1
    [column] = ended.json["columns"]
    assert (column["written"], column["deleted"]) == (0, 0)
    for file in ended.json["files"]:
        row = file["columns"]["heading:chunk_size=30,min_chunk_size=5"]
        assert (file["status"], row["status"]) == ("incomplete", "incomplete")
        assert row["superseded"] == before["chunks"] // 6
        assert row["stored"] == 0
        assert row["error"]
    assert "Not stored whole: 6 of 6 files; what was stored before is kept" in ended.stderr
    if fault is UNKNOWN_MODEL:
        assert len(openai_server.asked("embeddings")) == 2, "the probe and one more"

    openai_server.faults.clear()
    completed = ingest("--json")
    assert completed.code == 0
    assert [file["status"] for file in completed.json["files"]] == ["read"] * 6
    assert completed.json["columns"][0]["deleted"] == before["chunks"]
    assert [file["status"] for file in ingest("--json").json["files"]] == ["unchanged"] * 6


def test_one_refused_chunk_is_a_partial_success_that_the_table_shows(
    ingest: Command, folder: Path, openai_server: OpenAIServer
) -> None:
    chunks = ingest("--json").json["files"][0]["columns"].popitem()[1]["chunks"]
    write(folder, "latter")
    openai_server.faults.extend([PROBE, TOO_LONG, TOO_LONG])
    ended = ingest()
    assert ended.code == 3
    assert f"{chunks - 1} of {chunks}" in ended.stdout
    assert f"chunks stored, the {chunks} former ones are kept" in " ".join(ended.stdout.split())
    assert "Not stored whole: 1 of 6 files" in ended.stderr


def test_ingesting_asks_no_chat_model_whether_it_is_there(
    ingest: Command, openai_server: OpenAIServer
) -> None:
    assert ingest().code == 0
    assert openai_server.asked("embeddings")
    assert not openai_server.asked("completions")


def test_a_dry_run_prices_what_is_due_and_asks_and_leaves_nothing(
    ingest: Command, folder: Path, openai_server: OpenAIServer
) -> None:
    said = ingest("--dry-run", "--json").json
    assert not openai_server.requests
    assert not (folder.parent / "kept").exists(), "opening a store would make it"
    assert said["dry_run"] is True
    done = ingest("--json").json
    assert done["dry_run"] is False
    assert said["embedding_tokens"] == done["embedding_tokens"] > 0
    assert said["columns"][0]["written"] == done["columns"][0]["written"]
    (folder / "0.md").write_text("# File 0\n\nNothing is left of it.\n")
    openai_server.requests.clear()
    ended = ingest("--dry-run")
    assert not openai_server.requests
    assert ended.code == 0
    shown = " ".join(ended.stdout.split())
    assert "no model was asked and nothing stored" in shown
    chunks = said["columns"][0]["chunks"]
    numbers = f"1 {chunks * 5 // 6 + 1} 1 {chunks * 5 // 6} {chunks // 6}"
    assert f"heading:chunk_size=30, {numbers}" in shown


def test_a_dry_run_names_a_file_that_fails_once_and_says_of_nothing_that_it_is_stored(
    ingest: Command, folder: Path
) -> None:
    (folder / "torn.pdf").write_bytes(b"no PDF")
    ended = ingest("--dry-run")
    [said] = [line for line in ended.stdout.splitlines() if "torn.pdf" in line]
    assert said.count("torn.pdf") == 1
    assert ": counting, " in ended.stderr
    assert "storing" not in ended.stderr
