"""`ingest --shard I/N` and `--engine ray`, as a scheduler's script would use them."""

import socket
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Command

NAMES = [f"{number}.md" for number in range(8)]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text(f"# {name}\n\nThe tank of {name} holds water.\n", "utf-8")
    return folder


def test_each_file_is_ingested_by_one_shard(command: Command, docs: Path, tmp_path: Path) -> None:
    found = []
    for number in (1, 2):
        store = ["--store", str(tmp_path / f"part-{number}")]
        ended = command("ingest", str(docs), *store, "--shard", f"{number}/2", "--json")
        assert ended.code == 0, ended.stderr
        found += [file["name"] for file in ended.json["files"]]
    assert sorted(found) == NAMES


def test_what_is_no_shard_is_a_usage_error(command: Command, docs: Path) -> None:
    ended = command("ingest", str(docs), "--shard", "3/2")
    assert ended.code == 2
    assert "from 1/8 to 8/8" in ended.stderr


def test_a_cluster_that_is_not_there_is_one_sentence_and_writes_nothing(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("# A\n\nTea.", "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    there = ["--engine", "ray", "--ray-address", f"127.0.0.1:{port}"]
    ended = command("ingest", str(tmp_path), "--store", str(tmp_path / "store"), *there)
    assert ended.code == 1
    assert f"no Ray cluster answers at 127.0.0.1:{port}" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not [*(tmp_path / "store").glob("collections/*")]


def test_without_ray_installed_the_command_says_how_to_install_it(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    (tmp_path / "a.md").write_text("# A\n\nTea.", "utf-8")
    ended = command("ingest", tmp_path, "--store", tmp_path / "store", "--engine", "ray")
    assert ended.code == 5
    assert "pip install 'rag-nodes[ray]'" in ended.stderr
    assert not (tmp_path / "store").exists()
