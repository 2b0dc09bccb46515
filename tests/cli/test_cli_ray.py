"""`ingest --ray-address`, as it is typed."""

import socket
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Command


def test_a_cluster_that_is_not_there_is_one_sentence_and_writes_nothing(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("# A\n\nTea.", "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    address = ["--ray-address", f"127.0.0.1:{port}"]
    ended = command("ingest", str(tmp_path), "--store", str(tmp_path / "store"), *address)
    assert ended.code == 5
    assert f"no Ray cluster answers at 127.0.0.1:{port}" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not [*(tmp_path / "store").glob("collections/*")]


def test_without_ray_installed_the_command_says_how_to_install_it(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    (tmp_path / "a.md").write_text("# A\n\nTea.", "utf-8")
    ended = command("ingest", tmp_path, "--store", tmp_path / "store", "--ray-address", "h:1")
    assert ended.code == 5
    assert "pip install 'rag-nodes[ray]'" in ended.stderr
    assert not (tmp_path / "store").exists()
