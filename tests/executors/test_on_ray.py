"""Ray itself, as rarely as possible: one for most, and one that a command starts and ends."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import ray_data_child
from hostile_parsers import started_at_the_gate
from ray_places import KEY, SPLITTER, Place, Running, made_place, wait_for_all
from stored_points import points_of, without_seconds

from rag_nodes import ingest
from rag_nodes.executors import Ray
from rag_nodes.executors.ray import _LOCAL
from rag_nodes.models import Models
from rag_nodes.parsers import ForeignNodeParser, get_parser
from rag_nodes.store import open_store

LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_TOKEN": _LOCAL["RAY_AUTH_TOKEN"]}
"""What a driver has to know that joins a Ray which listens on the loopback only."""


@pytest.fixture
def place() -> Iterator[Place]:
    with made_place() as place:
        yield place


def started(place: Place, command: list[str], environment: dict[str, str]) -> Any:
    """A run of which one worker stands still in a file, and has done others."""
    (place.docs / "zz.md").write_text("# Zz\n\nWAIT HERE", "utf-8")
    return started_at_the_gate(command, environment)


def test_a_run_on_ray_gives_what_a_run_alone_gives_but_for_what_ends_its_workers(
    running: Running,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("HOSTILE", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    models = Models.of(embed_model="lexical")
    parsers = {"heading": get_parser("heading"), "hostile": ForeignNodeParser(path=SPLITTER)}
    docs = shutil.copytree(running.place.docs, tmp_path / "docs")
    with open_store() as alone, open_store() as store:
        expected = ingest([docs], parsers, alone, models=models)
        poison = docs / "zz poison.md"
        poison.write_text("# Poison\n\nKILL ME", "utf-8")
        Path(running.said, "no start").touch()
        caplog.clear()
        report = ingest([docs], parsers, store, models=models, executor=Ray(2))
        *rows, bad = report.files
        assert (bad.status, bad.path) == ("failed", str(poison))
        assert "the worker died twice" in str(bad.error)
        assert len(running.place.said("died")) >= 2
        logged = [one.getMessage() for one in caplog.records]
        assert {one for one in logged if one.startswith("cut")} == {"cut with ****"}
        assert without_seconds(replace(report, files=tuple(rows))) == without_seconds(expected)
        for column in expected.columns:
            assert points_of(store, column.collection) == points_of(alone, column.collection)


def test_the_ray_pipeline_of_llamaindex_gives_the_nodes_of_our_parsers(
    running: Running, tmp_path: Path
) -> None:
    # In a process of its own: threads of Ray Data go on until theirs ends.
    address = running.ray.get_runtime_context().gcs_address
    environment = {**running.place.environment, **LOOPBACK}
    script, found = Path(ray_data_child.__file__), tmp_path / "found.json"
    subprocess.run([sys.executable, script, address, found], env=environment, check=True)
    expected = {node.id_: node.to_dict() for node in ray_data_child.PARSER(ray_data_child.PAGES)}
    assert len(expected) > len(ray_data_child.PAGES)
    assert json.loads(found.read_text("utf-8")) == json.loads(json.dumps(expected))


def test_a_killed_driver_leaves_no_worker_on_a_cluster_and_its_work_is_gone_on_with(
    running: Running, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = running.ray.get_runtime_context().gcs_address
    run = started(
        place,
        place.command("--ray-address", address),
        {**place.environment, **LOOPBACK, "HOSTILE": running.said},
    )
    processes = running.place.processes().items()
    workers = {number: name for number, name in processes if name.startswith("ray::do")}
    assert workers
    run.kill()
    run.communicate()
    wait_for_all(workers)
    (place.docs / "zz.md").write_text("# Zz\n\nGo on", "utf-8")
    monkeypatch.setenv("HOSTILE", str(place.folder / "said"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    models = Models.of(embed_model="lexical")
    parsers = {"heading": get_parser("heading"), "hostile": ForeignNodeParser(path=SPLITTER)}
    with open_store(place.folder / "store") as store, open_store() as alone:
        expected = ingest([place.docs], parsers, alone, models=models)
        ingest([place.docs], parsers, store, models=models)
        for column in expected.columns:
            assert points_of(store, column.collection) == points_of(alone, column.collection)


def test_ctrl_c_ends_a_ray_of_our_own_which_nobody_heard_of_and_which_wrote_nothing_down(
    place: Place,
) -> None:
    # A cluster that nobody named to the command is none of its business.
    elsewhere = {**place.environment, "RAY_ADDRESS": "127.0.0.1:1"}
    run = started(place, place.command("--json"), elsewhere)
    processes = place.processes()
    assert len(processes) > 5
    os.kill(run.pid, signal.SIGINT)
    output, errors = run.communicate()
    assert run.returncode == 130
    assert "again" in " ".join(errors.splitlines()[-2:])  # broken into two where it is long
    assert "Traceback" not in errors

    # Workers know the key and the home folder, and nobody else gets to know the key.
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    assert set(place.said("saw")) == {f"{digest} {place.folder}/home"}
    assert max(files for event, files in place.trapped() if event == "searched") > 20
    assert [what for event, what in place.trapped() if event == "found"] == []
    assert KEY not in f"{output}{errors}"

    # Nobody is asked or told anything but this machine.
    contacts = {str(host) for event, host in place.trapped() if event.startswith("socket.")}
    assert {one for one in contacts if not one.startswith("/")} == {"127.0.0.1"}
    place.check_that_nothing_is_left_of(processes)
