"""Ctrl-C while processes of this machine ingest."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hostile_parsers import is_running, started_at_the_gate, wait_until_gone
from stored_points import points_of

from rag_nodes import ingest
from rag_nodes.parsers import ForeignNodeParser
from rag_nodes.store import open_store

SPLITTER = "hostile_splitter:HostileSplitter"


def descendants(parent: int) -> list[int]:
    """Processes that came of another one, and itself."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            facts = place.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        parents[int(place.parent.name)] = int(facts[1])
    pids = [parent]
    for item in pids:
        pids += [child for child, its_parent in parents.items() if its_parent == item]
    return pids


def hears_ctrl_c(process: int) -> bool:
    status = Path(f"/proc/{process}/status").read_text("ascii")
    facts = dict(line.split(":", 1) for line in status.splitlines())
    deaf = int(facts["SigIgn"], 16) | int(facts["SigBlk"], 16)
    return not deaf >> (signal.SIGINT - 1) & 1


def test_ctrl_c_ends_all_processes_and_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs, pid_folder, temporary = tmp_path / "docs", tmp_path / "said", tmp_path / "t"
    for child in (docs, pid_folder, temporary):
        child.mkdir()
    for number in range(3):
        (docs / f"{number}.md").write_text(f"# Machine {number}\n\nIt is heavy.", "utf-8")
    (docs / "zz.md").write_text("# Zz\n\nWAIT HERE", "utf-8")
    monkeypatch.setenv("HOSTILE", str(pid_folder))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("TMPDIR", str(temporary))
    command = ["ingest", str(docs), "--store", str(tmp_path / "store"), "-p", SPLITTER]
    options = ["--workers", "2", "--embedding", "lexical"]
    run = started_at_the_gate(
        [sys.executable, "-m", "rag_nodes.cli", *command, *options],
        {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    started = descendants(run.pid)
    assert len(started) > 1
    # Whether a terminal tells all of a group or somebody this process alone: nobody else hears it.
    assert [child for child in started if os.getpgid(child) == run.pid and hears_ctrl_c(child)] == [
        run.pid
    ]
    os.killpg(run.pid, signal.SIGINT)
    _, errors = run.communicate()
    assert run.returncode == 130
    assert "again" in " ".join(errors.splitlines()[-2:])  # broken into two where it is long
    assert "Traceback" not in errors
    for child in started:
        wait_until_gone(child)
    assert not is_running(run.pid)
    assert [*temporary.iterdir()] == []
    (docs / "zz.md").write_text("# Zz\n\nGo on", "utf-8")
    parsers = {"x": ForeignNodeParser(path=SPLITTER)}
    with open_store(tmp_path / "store") as store, open_store() as alone:
        ingest([docs], parsers, store, embed_model="lexical")
        expected = ingest([docs], parsers, alone, embed_model="lexical")
        (column,) = expected.columns
        assert points_of(store, column.collection) == points_of(alone, column.collection)
        assert len(store.collections()) == 1
