"""Ray itself: ingests and LlamaIndex's own pipeline on a cluster of one machine."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import ray_data_child
from hostile_parsers import started_at_the_gate
from ray_places import KEY, SPLITTER, Place, Running, make_place, wait_for_all
from stored_points import points_of, without_seconds

from rag_nodes import ingest
from rag_nodes.models import Models
from rag_nodes.models.executors import Ray
from rag_nodes.parsers import ForeignNodeParser, get_parser
from rag_nodes.store import open_store


@pytest.fixture
def place() -> Iterator[Place]:
    with make_place() as place:
        yield place


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
        Path(running.pid_folder, "no start").touch()
        caplog.clear()
        ray = Ray(2, address=running.address)
        report = ingest([docs], parsers, store, models=models, executor=ray)
        *rows, bad = report.files
        assert (bad.status, bad.path) == ("failed", str(poison))
        assert "the worker died twice" in str(bad.error)
        assert len(running.place.messages("died")) >= 2
        logged = [record.getMessage() for record in caplog.records]
        assert {line for line in logged if line.startswith("cut")} == {"cut with ****"}
        assert without_seconds(replace(report, files=tuple(rows))) == without_seconds(expected)
        for column in expected.columns:
            assert points_of(store, column.collection) == points_of(alone, column.collection)
    # Workers know the key, and nobody else gets to know it.
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    assert {line.split()[0] for line in running.place.messages("saw")} == {digest}
    written = [path for path in running.place.cluster.rglob("*") if path.is_file()]
    assert len(written) > 20
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []


def test_the_ray_pipeline_of_llamaindex_gives_the_nodes_of_our_parsers(
    running: Running, tmp_path: Path
) -> None:
    # In a process of its own: threads of Ray Data go on until theirs ends.
    environment = running.place.environment
    script, output = Path(ray_data_child.__file__), tmp_path / "found.json"
    subprocess.run([sys.executable, script, running.address, output], env=environment, check=True)
    expected = {node.id_: node.to_dict() for node in ray_data_child.PARSER(ray_data_child.PAGES)}
    assert len(expected) > len(ray_data_child.PAGES)
    assert json.loads(output.read_text("utf-8")) == json.loads(json.dumps(expected))


def test_a_killed_driver_leaves_no_worker_on_a_cluster_and_its_work_is_gone_on_with(
    running: Running, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.docs / "zz.md").write_text("# Zz\n\nWAIT HERE", "utf-8")
    environment = {**place.environment, "HOSTILE": running.pid_folder}
    run = started_at_the_gate(place.command(running.address), environment)
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
