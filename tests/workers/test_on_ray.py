"""Ray itself, as rarely as possible: one start for each way in which a run can end."""

from __future__ import annotations

import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rag_nodes.cli.program import run as run_command
from rag_nodes.store import open_store

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEY = "sk-canary-" + "7" * 30
SPLITTER = "hostile_splitter:HostileSplitter"
PATIENCE = 30_000
"""Milliseconds in which what was started must be gone."""
STARTING = 120_000
"""Milliseconds in which Ray must have started and a worker have opened the last file."""
COLUMNS = ("-p", "heading", "-p", SPLITTER)


class Place(NamedTuple):
    """Where a run takes place, and what it may leave nothing of."""

    folder: Path
    docs: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if "RAY" not in name}
        here = str(self.folder)
        watched = {"RAY_TRAP": f"{here}/trap", "RAY_TRAP_KEY": KEY, "HOSTILE": f"{here}/said"}
        return {
            **kept,
            **watched,
            "HOME": f"{here}/home",
            "TMPDIR": f"{here}/t",
            "OPENAI_API_KEY": KEY,
            "PYTHONPATH": os.pathsep.join([str(HERE / "ray_trap"), str(HERE)]),
        }

    def command(self, *options: str) -> list[str]:
        ingest = ["ingest", str(self.docs), "--store", str(self.folder / "store"), *COLUMNS]
        engine = ["--engine", "ray", "--workers", "2", "--embedding", "lexical"]
        return [sys.executable, "-m", "rag_nodes.cli", *ingest, *engine, *options]

    def said(self, kind: str) -> list[str]:
        return [one.read_text("utf-8") for one in (self.folder / "said").glob(f"*-{kind}")]

    def processes(self) -> dict[int, str]:
        """Those that were started here, found by their environment, and what they are called."""
        mark = f"HOSTILE={self.folder}/said".encode()
        found = {}
        for one in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in one.read_bytes().split(b"\0"):
                    found[int(one.parent.name)] = one.with_name("cmdline").read_text("utf-8")
            except OSError:  # it ended meanwhile, or is somebody else's
                continue
        return found


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A short path, as Ray's sockets have names below it."""
    folder = Path(tempfile.mkdtemp(prefix="rn", dir="/tmp"))
    for name in ("home", "t", "said"):
        (folder / name).mkdir()
    shutil.copytree(ROOT / "examples" / "corpus", folder / "docs")
    monkeypatch.syspath_prepend(HERE)
    yield Place(folder, folder / "docs")
    shutil.rmtree(folder)


def points(store: Path) -> dict[str, Any]:
    """Everything in a folder: payloads and vectors by point and collection."""
    found = {}
    with open_store(store) as opened:
        for info in opened.collections():
            ids = [one for nodes in opened.documents(info.name).values() for one in nodes]
            vectors, nodes = opened.vectors(info.name, ids), opened.fetch(info.name, ids)
            found |= {
                (info.name, one): (nodes[one].to_dict() if one in nodes else None, vectors.get(one))
                for one in ids
            }
    return found


def rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [{k: v for k, v in one.items() if k != "seconds"} for one in report["files"]]


def single_run(place: Place, capsys: pytest.CaptureFixture[str], store: str) -> dict[str, Any]:
    """The same without workers, in this process."""
    capsys.readouterr()
    where = ["--store", str(place.folder / store), "--embedding", "lexical", "--json"]
    run_command(["ingest", str(place.docs), *where, *COLUMNS])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def wait_for_all(processes: dict[int, str]) -> None:
    """Return when these have ended."""
    for number, name in processes.items():
        try:
            handle = os.pidfd_open(number)
        except ProcessLookupError:
            continue
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        assert poll.poll(PATIENCE), f"{number} lives: {name}"
        os.close(handle)


def start_and_wait_for_the_gate(place: Place) -> subprocess.Popen[str]:
    """A run of which one worker stands still in a file, and has done others."""
    (place.docs / "zz.md").write_text("# Zz\n\nWAIT HERE", "utf-8")
    gate = place.folder / "said" / "gate"
    os.mkfifo(gate)
    run = subprocess.Popen(
        place.command(),
        env=place.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    arrived, ended = os.open(gate, os.O_RDONLY | os.O_NONBLOCK), os.pidfd_open(run.pid)
    poll = select.poll()
    poll.register(arrived, select.POLLIN)
    poll.register(ended, select.POLLIN)
    assert arrived in dict(poll.poll(STARTING)), run.communicate()[1]
    os.close(arrived)
    os.close(ended)
    return run


def test_a_run_on_ray_gives_what_a_run_alone_gives_and_leaves_nothing_behind(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (place.docs / "poison.md").write_text("# Poison\n\nKILL ME", "utf-8")
    run = subprocess.run(
        place.command("--json"), env=place.environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 3, run.stderr
    report = json.loads(run.stdout)

    # One bad file is one failed row, after two deaths.
    [bad] = [one for one in report["files"] if one["path"].endswith("poison.md")]
    assert bad["status"] == "failed"
    assert "the worker died twice" in bad["error"]
    assert len(place.said("died")) == 2

    # Workers know the key and the home folder, and nobody else gets to know the key.
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    assert set(place.said("saw")) == {f"{digest} {place.folder}/home"}
    trap = [json.loads(line) for line in (place.folder / "trap").read_text("utf-8").splitlines()]
    assert max(files for event, files in trap if event == "searched") > 20
    assert [one for one in trap if one[0] == "found"] == []
    assert KEY not in run.stdout + run.stderr

    # Nobody is asked or told anything but this machine.
    contacts = {str(host) for event, host in trap if event.startswith("socket.")}
    assert {one for one in contacts if not one.startswith("/")} == {"127.0.0.1"}

    # Nothing is left.
    assert list((place.folder / "t").glob("rag-*")) == []
    assert not (place.folder / "home" / ".ray").exists()
    wait_for_all(place.processes())

    # And all of it is what one process makes of the other files.
    (place.docs / "poison.md").unlink()
    monkeypatch.setenv("HOSTILE", str(place.folder / "said"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    alone = single_run(place, capsys, "alone")
    assert rows(alone) == [one for one in rows(report) if not one["path"].endswith("poison.md")]
    assert points(place.folder / "store") == points(place.folder / "alone")


def test_ctrl_c_ends_all_processes_and_says_how_to_go_on(place: Place) -> None:
    run = start_and_wait_for_the_gate(place)
    started = place.processes()
    assert len(started) > 5
    os.kill(run.pid, signal.SIGINT)
    _, errors = run.communicate()
    assert run.returncode == 130
    assert "again" in " ".join(errors.splitlines()[-2:])  # broken into two where it is long
    assert "Traceback" not in errors
    wait_for_all(started)
    assert list((place.folder / "t").glob("rag-*")) == []


def test_a_driver_that_is_killed_takes_its_workers_with_it_and_its_work_is_gone_on_with(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = start_and_wait_for_the_gate(place)
    # Two agents, which have neither files nor keys of ours in hand, live on for a minute.
    started = {one: name for one, name in place.processes().items() if "agent" not in name.lower()}
    run.kill()
    run.communicate()
    wait_for_all(started)
    (place.docs / "zz.md").write_text("# Zz\n\nGo on", "utf-8")
    monkeypatch.setenv("HOSTILE", str(place.folder / "said"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    single_run(place, capsys, "store")
    single_run(place, capsys, "alone")
    assert points(place.folder / "store") == points(place.folder / "alone")
