"""A model refuses, a disk fills up, a folder is in use: a sentence, and nothing is lost."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from openai_server import TOO_LONG, Fault, OpenAIServer
from tests.cli.conftest import Command

from rag_nodes.operations.workspace import opening
from rag_nodes.store.edge import shards

PROBE = Fault()
"""The request before any work starts succeeds."""
PARSER = "heading:chunk_size=30,min_chunk_size=5"
_HOLD = """
import sys
from rag_nodes.store import open_store
with open_store(sys.argv[1]):
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    write(docs, "former")
    return docs


def write(folder: Path, version: str) -> None:
    for n in range(6):
        sections = [f"## Part {k}\n\nFile {n}, part {k}, {version} version." for k in range(9)]
        (folder / f"{n}.md").write_text(f"# File {n}\n\n" + "\n\n".join(sections) + "\n")


@pytest.fixture
def ingest(command: Command, folder: Path) -> Command:
    return lambda *more: command("ingest", folder, "--store", "kept", "-p", PARSER, *more)


@pytest.fixture
def served(ingest: Command, openai_server: OpenAIServer) -> Command:
    embedding = ("--embedding", "openai", "--embedding-model", "small")
    llm = ("--llm", "openai", "--llm-model", "big", "--api-base", openai_server.base)
    return lambda *more: ingest(*embedding, *llm, *more)


# --- models -------------------------------------------------------------------------------------


def test_one_refused_chunk_is_a_partial_success_that_the_next_run_completes(
    served: Command, folder: Path, openai_server: OpenAIServer
) -> None:
    chunks = served("--json").json["files"][0]["columns"][PARSER]["chunks"]
    assert not openai_server.asked("completions"), "nothing asks whether the chat model is there"
    write(folder, "latter")
    openai_server.faults.extend([PROBE, TOO_LONG, TOO_LONG])
    ended = served()
    assert ended.code == 3
    assert f"{chunks - 1} of {chunks}" in ended.stdout
    assert f"chunks stored, the {chunks} previous ones are kept" in " ".join(ended.stdout.split())
    assert "Not stored whole: 1 of 6 files; what was stored before is kept" in ended.stderr
    assert served().code == 0
    assert {file["status"] for file in served("--json").json["files"]} == {"unchanged"}


def test_a_dry_run_prices_what_is_due_and_asks_and_leaves_nothing(
    served: Command, folder: Path, openai_server: OpenAIServer
) -> None:
    planned = served("--dry-run", "--json").json
    assert not openai_server.requests
    assert not (folder.parent / "kept").exists(), "opening a store would make it"
    done = served("--json").json
    assert (planned["dry_run"], done["dry_run"]) == (True, False)
    assert planned["embedding_tokens"] == done["embedding_tokens"] > 0
    (folder / "0.md").write_text("# File 0\n\nNothing is left of it.\n")
    (folder / "torn.pdf").write_bytes(b"no PDF")
    openai_server.requests.clear()
    ended = served("--dry-run")
    assert not openai_server.requests
    shown = " ".join(ended.stdout.split())
    assert "no model was asked and nothing stored" in shown
    chunks = planned["columns"][0]["chunks"]
    numbers = f"1 {chunks * 5 // 6 + 1} 1 {chunks * 5 // 6}"
    assert f"heading:chunk_size=30, min_chunk_size=5 {numbers}" in shown
    [torn] = [line for line in ended.stdout.splitlines() if "torn.pdf" in line]
    assert torn.count("torn.pdf") == 1
    assert ": counting, " in ended.stderr
    assert "storing" not in ended.stderr


# --- disks and folders --------------------------------------------------------------------------


class _FillingUp:
    """`disk_usage` of a disk that has space for so many questions about it."""

    def __init__(self, left: int) -> None:
        self._left, self._real = left, shutil.disk_usage

    def __call__(self, path: os.PathLike[str]) -> object:
        self._left -= 1
        usage = self._real(path)
        return usage if self._left > 0 else usage._replace(free=1 << 20)


def test_a_disk_that_fills_up_ends_in_a_sentence_and_the_next_run_completes(
    ingest: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [before] = ingest("--json").json["columns"]
    write(folder, "latter")
    with monkeypatch.context() as full:
        full.setattr("rag_nodes.pipeline.run.MOST_FILES", 1)
        full.setattr(shards.shutil, "disk_usage", _FillingUp(5))
        ended = ingest("--json")
    assert ended.code in (1, 3)
    [broken] = ended.json["columns"]
    assert "1 MB are free" in broken["error"]
    assert "free some space" in broken["error"]
    assert 0 < broken["written"] < before["chunks"]
    for file in ended.json["files"]:
        [row] = file["columns"].values()
        assert row["stored"] == row["chunks"] > 0 or row["superseded"] == before["chunks"] // 6
    [completed] = ingest("--json").json["columns"]
    assert (completed["error"], completed["chunks"]) == (None, before["chunks"])


def test_a_full_disk_names_a_few_files_and_json_has_all(
    ingest: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(40):
        (folder / f"more {n:02}.md").write_text(f"# More\n\nOf it there are {n}.")
    (folder / "000.pdf").write_bytes(b"no pdf")
    monkeypatch.setattr(shards.shutil, "disk_usage", _FillingUp(0))
    lines = ingest().stdout.splitlines()
    assert sum("nothing stored" in line for line in lines) == 29
    assert any(line.split()[:2] == ["000.pdf", "failed"] for line in lines)
    assert "and 17 more with messages (17 incomplete): --json has all" in lines
    assert len(ingest("--json").json["files"]) == 47


def test_a_folder_on_a_read_only_disk_is_named(
    ingest: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    ended = ingest()
    assert ended.code == 1
    assert "kept: cannot be used as a storage folder (Read-only file system)" in ended.stderr
    assert "choose a folder you may write to" in ended.stderr


@contextmanager
def other_process_holding(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == b"open"
        yield other


@pytest.mark.parametrize(
    "words",
    [
        ("ingest", "docs", "-p", PARSER),
        ("ask", "Which version?", "-p", PARSER),
        ("status",),
        ("remove", "0.md"),
        ("clear", "--yes"),
        ("store", "push", "copy"),
    ],
    ids=lambda words: words[0],
)
def test_a_command_waits_for_a_folder_that_another_process_uses_for_a_short_time(
    words: tuple[str, ...], ingest: Command, command: Command, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    assert ingest().code == 0
    with other_process_holding(tmp_path / "kept") as other:
        monkeypatch.setattr(opening, "pause", lambda _: other.communicate())
        ended = command(*words, "--store", "kept")
    assert ended.code == 0, ended.stderr
    assert "waiting up to 10 seconds" in " ".join(ended.stderr.split())


def test_a_folder_that_another_process_uses_is_named_and_left_alone(
    ingest: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "LOCK_SECONDS", 0.0)
    with other_process_holding(tmp_path / "kept") as other:
        refused = ingest(), ingest("--dry-run")
        other.communicate()
    for ended in refused:
        assert (ended.code, ended.stdout) == (5, "")
        assert "another process" in ended.stderr
    assert ingest().code == 0
