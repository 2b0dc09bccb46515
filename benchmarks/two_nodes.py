"""An ingest on a Ray cluster of two nodes, of which one is killed in the middle.

    sudo .venv/bin/python benchmarks/two_nodes.py --files 120

Two network namespaces of this machine are joined by a cable of their own. In one are Ray's head,
the command and its store; in the other a node that only works. Files are named by relative paths,
and the splitter is a module of the current folder. Once a third of the files is done, every
process of the second namespace is killed by its id. Every point (id, payload, vector, words) is
then compared with those of a run in one process. It needs Linux, root, `ip` and the extra `ray`.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from scaling import write_files

from rag_nodes.embedding import Progress
from rag_nodes.models.executors import Ray
from rag_nodes.parsers import ForeignNodeParser, get_parser
from rag_nodes.pipeline import IngestReport, ingest
from rag_nodes.store import Store, open_store

HEAD, WORKER = "rag-head", "rag-worker"
"""Names of the namespaces."""
ADDRESSES = {HEAD: "10.213.7.1", WORKER: "10.213.7.2"}
PORT = 6379
SHARE = 3
"""The second node is killed once one file of so many is done."""
PATIENCE = 120.0
"""Seconds the cluster has to start."""
SPLITTER = '''
import os
from pathlib import Path


class NotingSplitter:
    """Cuts at blank lines, and notes in which namespace that is done."""

    def split_text(self, text):
        place = Path("done", os.readlink("/proc/self/ns/net"))
        with place.open("a") as note:
            note.write(".")
        return [part for part in text.split("\\n\\n") if part.strip()]
'''


def run(*command: str) -> str:
    """What a command of the system says, which must not fail."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 -- commands of this file


@contextmanager
def namespaces() -> Iterator[None]:
    """Two network namespaces with a cable between them."""
    try:
        for name in ADDRESSES:
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        run(
            "ip",
            "-n",
            HEAD,
            "link",
            "add",
            "cable",
            "type",
            "veth",
            "peer",
            "cable",
            "netns",
            WORKER,
        )
        for name, address in ADDRESSES.items():
            run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "cable")
            run("ip", "-n", name, "link", "set", "cable", "up")
        yield
    finally:
        for name in ADDRESSES:
            subprocess.run(["ip", "netns", "delete", name], check=False)  # noqa: S603, S607 -- as above


def processes_in(namespace: str) -> list[int]:
    """The ids of all processes of a namespace."""
    return [int(pid) for pid in run("ip", "netns", "pids", namespace).split()]


def kill_all_in(namespace: str) -> int:
    """Kill every process of a namespace, as a machine that loses its power does; how many."""
    killed = 0
    while pids := processes_in(namespace):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:  # it ended with another one
                continue
        time.sleep(0.1)
    return killed


@contextmanager
def cluster(folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """Ray's head in one namespace, and a node in the other, each with one worker."""
    ray = shutil.which("ray", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") or "ray"
    usual = ["--num-cpus", "1", "--object-store-memory", str(100 * 2**20), "--block"]
    address = f"{ADDRESSES[HEAD]}:{PORT}"
    kinds = {
        HEAD: ["--head", f"--port={PORT}", "--include-dashboard=false", f"--temp-dir={folder}/r"],
        WORKER: ["--address", address],
    }
    try:
        for name, options in kinds.items():
            log = folder / f"{name}.log"
            command = ["ip", "netns", "exec", name, ray, "start", *options, *usual]
            with log.open("wb") as output:
                subprocess.Popen(  # noqa: S603 -- as above
                    [*command, "--node-ip-address", ADDRESSES[name]],
                    cwd="/",  # not that of the driver
                    env=environment,
                    stdout=output,
                    stderr=output,
                )
            wait_for_start(log)
        yield
    finally:
        for name in kinds:
            kill_all_in(name)


def wait_for_start(log: Path) -> None:
    """Return once a node of Ray says that it runs."""
    until = time.monotonic() + PATIENCE
    while "Ray runtime started" not in (log_text := log.read_text(encoding="utf-8")):
        if time.monotonic() > until:
            raise SystemExit(f"Ray does not start:\n{log_text}")
        time.sleep(0.2)


def points_of(store: Store, collection: str) -> dict[str, Any]:
    """Every point of a folder by its id: payload, vector and words."""
    engine: Any = store.engine
    with engine.step(collection):
        points = engine.collection(collection).select(None, None, vectors=True)
        return {point.node_id: (point.payload, point.vector, point.words) for point in points}


def ingested(store: Store, **options: Any) -> IngestReport:
    """What is compared: two columns of the folder `docs`, named by its relative path."""
    parsers = {
        "parent-child": get_parser("parent-child"),
        "own": ForeignNodeParser(path="noting:NotingSplitter"),
    }
    return ingest("docs", parsers, store, embed_model="lexical", **options)


def noted() -> Counter[str]:
    """How many documents were cut in each namespace."""
    return Counter({path.name: path.stat().st_size for path in Path("done").iterdir()})


def drive(files: int) -> None:
    """Ingest on the cluster, kill its second node meanwhile, and compare."""
    seen: dict[str, Any] = {}
    here = str(Path("/proc/self/ns/net").readlink())

    def follow(step: Progress) -> None:
        if step.stage == "read" and step.done >= files // SHARE and "killed" not in seen:
            before = noted()
            seen["cut by the second node"] = before.total() - before[here]
            seen["files done when it was killed"] = step.done
            seen["killed"] = kill_all_in(WORKER)

    executor = Ray(2, address=f"{ADDRESSES[HEAD]}:{PORT}")
    with open_store("store") as store, open_store("alone") as alone:
        started = time.perf_counter()
        report = ingested(store, executor=executor, progress=follow)
        seen["seconds"] = round(time.perf_counter() - started, 1)
        seen["failed files"] = len(report.failed)
        seen["read"] = sum(file.status == "read" for file in report.files)
        cut = noted()
        seen["cut by the second node in all"] = cut.total() - cut[here]
        seen["cut by the first node in all"] = cut[here]
        expected = ingested(alone)
        seen["same files, as they were named"] = [
            (file.path, file.columns) for file in report.files
        ] == [(file.path, file.columns) for file in expected.files]
        seen["a path in the report"] = report.files[0].path
        for column in expected.columns:
            stored, wanted = (points_of(place, column.collection) for place in (store, alone))
            same = sum(stored.get(key) == point for key, point in wanted.items())
            seen[f"equal points of {column.parser}"] = f"{same} of {len(wanted)}"
            seen[f"other points of {column.parser}"] = len(stored.keys() - wanted.keys())
    sys.stdout.write(json.dumps(seen, indent=1) + "\n")


def main() -> None:
    """Make the two nodes, and have the driver run in the first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=120, help="of 11,000 characters each")
    parser.add_argument("--drive", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        drive(given.files)
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="two", dir="/tmp")))
        for name in ("home", "run"):
            (folder / name).mkdir()
        (folder / "run" / "done").mkdir()
        write_files(folder / "run" / "docs", given.files)
        (folder / "run" / "noting.py").write_text(SPLITTER, encoding="utf-8")
        source = str(Path(__file__).parents[1] / "src")
        environment = {
            **os.environ,
            "HOME": str(folder / "home"),
            "PYTHONPATH": source,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",
        }
        stack.enter_context(namespaces())
        stack.enter_context(cluster(folder, environment))
        driver = [sys.executable, str(Path(__file__).resolve()), "--drive"]
        subprocess.run(  # noqa: S603 -- this file
            ["ip", "netns", "exec", HEAD, *driver, "--files", str(given.files)],  # noqa: S607 -- as above
            cwd=folder / "run",
            env={**environment, "PYTHONPATH": f"{source}:{folder / 'run'}"},
            check=True,
        )


if __name__ == "__main__":
    main()
