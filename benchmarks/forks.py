"""`rag-nodes` as a fork of this process, which has imported everything and started nothing (Linux).

So a moment after its start is one of its work and not of starting Python.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import relatives

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a thread would not survive the fork

Points = dict[tuple[str, str], str]
"""By collection and id, payload and vectors as JSON."""


class Difference(NamedTuple):
    """What a store has otherwise than it should."""

    lost: int
    extra: int
    changed: int

    @classmethod
    def between(cls, points: Points, wanted: Points) -> Difference:
        """Between two stores."""
        both = points.keys() & wanted.keys()
        return cls(
            lost=len(wanted.keys() - points.keys()),
            extra=len(points.keys() - wanted.keys()),
            changed=sum(points[key] != wanted[key] for key in both),
        )


def started(
    arguments: Sequence[str], output: Path, errors: Path, *, part: int | None = None
) -> relatives.Process:
    """Start `rag-nodes` with these arguments.

    Args:
        arguments: as typed.
        output: gets what it prints.
        errors: gets the rest.
        part: points after which a folder seals them.
    """
    sys.stdout.flush()  # or the child would say it again, in its report
    child = os.fork()
    if child:
        return relatives.Process.read(child)
    code = 1
    try:
        with output.open("w") as stdout, errors.open("w") as stderr:
            os.dup2(stdout.fileno(), 1)
            os.dup2(stderr.fileno(), 2)
        code = _run(part, arguments)
    finally:
        os._exit(code)


def _run(part: int | None, arguments: Sequence[str]) -> int:
    from rag_nodes.cli.program import run

    if part:
        from rag_nodes.store.edge import collection, shards

        shards.SEGMENT = part
        collection.CHECKPOINT = max(1, part // 5)
    code = run(list(arguments))
    sys.stdout.flush()
    return code


def ends_within(run: relatives.Process, seconds: float) -> bool:
    """Wait so long for a child of this process, which it stays until it was waited for."""
    end = time.monotonic() + seconds
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while os.waitid(os.P_PID, run.pid, options) is None:
        if time.monotonic() >= end:
            return False
        time.sleep(0.002)
    return True


def exit_code(run: relatives.Process) -> int:
    """How a child of this process ended, for which it waits; negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(run.pid, 0)[1])


def ends_before_seal(run: relatives.Process, store: Path) -> bool:
    """Wait until a part of some collection is about to be sealed; True if the run ends before."""
    while not any(store.glob("collections/*/shard/temp_segments/*")):
        if ends_within(run, 0.001):
            return True
    return False


def points_of(folder: Path, target: Path) -> Points:
    """Everything that is stored in a folder; read by a process of its own, as that starts threads.

    Args:
        folder: of the store.
        target: a file to be made.
    """
    child = os.fork()
    if not child:
        code = 1
        try:
            target.write_text(json.dumps([[*key, value] for key, value in _read(folder)]))
            code = 0
        finally:
            os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise SystemExit(f"{folder} cannot be read")
    return {(name, two): value for name, two, value in json.loads(target.read_text())}


def _read(folder: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """Collection and id of every point of a store, and the rest of it as JSON."""
    from rag_nodes.store import open_store

    with open_store(str(folder)) as store:
        engine = store.engine
        for name in engine.names():
            with engine.step(name):
                collection = engine.collection(name)
                for point in collection.select(None, None, vectors=True):
                    vector = None if point.vector is None else list(map(float, point.vector))
                    rest = [dict(point.payload), vector, sorted(zip(*point.words, strict=True))]
                    yield (name, point.node_id), json.dumps(rest, sort_keys=True, default=float)


def import_all() -> None:
    """What commands import, and nothing that starts a thread."""
    for name in (
        "llama_index.core.ingestion",
        "qdrant_edge",
        "rag_nodes.operations.ingesting",
        "rag_nodes.pipeline",
        "rag_nodes.query",
        "rag_nodes.readers",
        "rag_nodes.store.edge",
        "rag_nodes.store.copying",
        "rag_nodes.pipeline.upkeep",
        "rag_nodes.operations.workspace",
    ):
        import_module(name)
    tasks = Path("/proc/self/task")
    if tasks.is_dir() and (count := len(list(tasks.iterdir()))) > 1:
        print(f"{count} threads are running, which a fork does not have", file=sys.stderr)
