"""A disk that fills up, a folder that is read-only or in use: a sentence, and nothing is lost."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rag_nodes.store.edge import shards

if TYPE_CHECKING:
    from conftest import Command, Ended

_HOLD = """
import sys
from rag_nodes.store import open_store
with open_store(sys.argv[1]):
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    write(made, "former")
    return made


def write(folder: Path, version: str) -> None:
    for n in range(6):
        parts = [f"## Part {k}\n\nFile {n}, part {k}, {version} version." for k in range(9)]
        (folder / f"{n}.md").write_text(f"# File {n}\n\n" + "\n\n".join(parts))


@pytest.fixture
def ingest(command: Command, docs: Path) -> Command:
    def run(*more: str) -> Ended:
        parser = "heading:chunk_size=30,min_chunk_size=5"
        return command("ingest", docs, "--store", "kept", "-p", parser, *more)

    return run


def test_a_disk_that_fills_up_ends_in_a_sentence_and_the_next_run_completes(
    ingest: Command, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [before] = ingest("--json").json["columns"]
    write(docs, "latter")
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
    completed = ingest("--json").json
    assert completed["columns"][0]["error"] is None
    assert completed["columns"][0]["chunks"] == before["chunks"]
    assert {file["status"] for file in ingest("--json").json["files"]} == {"unchanged"}


def test_of_very_many_files_that_have_no_room_a_few_are_told_of_and_json_has_all(
    ingest: Command, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(40):
        (docs / f"more {n:02}.md").write_text(f"# More\n\nOf it there are {n}.")
    (docs / "000.pdf").write_bytes(b"no pdf")
    with monkeypatch.context() as full:
        full.setattr(shards.shutil, "disk_usage", _FillingUp(0))
        ended = ingest()
        assert len(ingest("--json").json["files"]) == 47
    lines = ended.stdout.splitlines()
    assert sum("nothing stored" in line for line in lines) == 29
    assert any(line.split()[:2] == ["000.pdf", "failed"] for line in lines)
    assert "and 17 more to be told of (17 incomplete): --json has all" in lines


class _FillingUp:
    """`disk_usage` of a disk that has space for so many questions about it."""

    def __init__(self, left: int) -> None:
        self._left, self._real = left, shutil.disk_usage

    def __call__(self, path: os.PathLike[str]) -> object:
        self._left -= 1
        found = self._real(path)
        return found if self._left > 0 else found._replace(free=1 << 20)


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


@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["ingest", "dry run"])
def test_a_folder_that_another_process_uses_is_named_and_left_alone(
    ingest: Command, tmp_path: Path, more: tuple[str, ...]
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path / "kept")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == b"open"
        ended = ingest(*more)
        other.communicate()
    assert ended.code == 5
    assert "another process" in ended.stderr
    assert ended.stdout == ""
    assert ingest(*more).code == 0
