"""`--workers`, `--engine` and what Ray is told: who does an ingest."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

import pytest

from rag_nodes.cli.executors import executor_of
from rag_nodes.errors import ConfigurationError
from rag_nodes.executors import Pool, Ray

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended


def test_without_options_the_amount_that_is_due_decides() -> None:
    assert executor_of("auto", None, None) == "auto"


def test_one_worker_is_this_process() -> None:
    assert executor_of("1", None, None) is None


@pytest.mark.parametrize("workers", ["0", "-1", "two", "1.5", ""])
def test_what_is_no_number_of_workers_is_refused(workers: str) -> None:
    with pytest.raises(ConfigurationError, match="number from 1 on"):
        executor_of(workers, None, None)


def test_a_number_of_workers_means_processes_of_this_machine() -> None:
    executor = executor_of("3", None, None)
    assert isinstance(executor, Pool)
    assert executor.workers == 3


def test_ray_is_used_where_it_is_named_with_the_address_that_is_given() -> None:
    executor = executor_of("5", "ray", "10.0.0.5:6379", 0.5)
    assert isinstance(executor, Ray)
    assert (executor.workers, executor.address, executor.num_gpus) == (5, "10.0.0.5:6379", 0.5)


@pytest.mark.parametrize("engine", [None, "processes"])
def test_an_address_of_ray_for_something_else_is_refused(engine: None) -> None:
    with pytest.raises(ConfigurationError, match="--ray-address is for --engine ray"):
        executor_of("2", engine, "10.0.0.5:6379")


def test_what_only_ray_knows_is_refused_for_something_else() -> None:
    with pytest.raises(ConfigurationError, match="--num-gpus is for --engine ray"):
        executor_of("2", "processes", None, 0.5)


def test_an_engine_without_workers_or_with_less_than_no_card_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        Ray(0)
    with pytest.raises(ConfigurationError, match="num_gpus"):
        Ray(1, num_gpus=-0.5)


def test_a_cluster_that_is_not_there_is_one_sentence_and_writes_nothing(
    command: Callable[..., Ended], tmp_path: Path
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
    command: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    (tmp_path / "a.md").write_text("# A\n\nTea.", "utf-8")
    ended = command("ingest", tmp_path, "--store", tmp_path / "store", "--engine", "ray")
    assert ended.code == 5
    assert "pip install 'rag-nodes[ray]'" in ended.stderr
    assert not (tmp_path / "store").exists()
