"""Does an ingest on a Ray cluster of two machines give what one process gives, if a machine dies?

    python benchmarks/two_nodes.py [--files 400] [--workers 3]

Makes two network namespaces joined by a virtual cable, as two machines with addresses of their
own. In the first are the head of a Ray cluster, the process that drives the ingest, and its store;
in the second is a node with most of the cores. The files are named by relative paths. Once half the
files are stored the node's raylet and workers are killed (SIGKILL); the ingest goes on with what is
left.
Then every point is compared with those of an ingest in one process: ids, payloads and vectors. All
that was started is ended, and the namespaces are removed. Needs Linux, root, `iproute2` and Ray.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import forks

HEAD, NODE = "rag-head", "rag-node"
ADDRESSES = {HEAD: "10.77.0.1", NODE: "10.77.0.2"}
PORT = 6379
MARK = "RAG_TWO_NODES"
"""A variable by which processes that were started here are known; its value names the machine."""
LIMIT = 300.0
"""Seconds that anything may take."""


def ip(*arguments: str) -> None:
    """Run `ip` of iproute2."""
    subprocess.run(["ip", *arguments], check=True)  # noqa: S603, S607 -- of the system


@contextmanager
def two_machines() -> Iterator[None]:
    """Two namespaces that reach each other and nobody else."""
    try:
        for name in ADDRESSES:
            ip("netns", "add", name)
        ip("link", "add", "rag-a", "netns", HEAD, "type", "veth", "peer", "rag-b", "netns", NODE)
        for name, device in zip(ADDRESSES, ("rag-a", "rag-b"), strict=True):
            ip("-n", name, "addr", "add", f"{ADDRESSES[name]}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        for name in ADDRESSES:
            subprocess.run(["ip", "netns", "del", name], check=False)  # noqa: S603, S607 -- as above


def processes_of(machine: str) -> dict[int, str]:
    """Those that were started on a machine, by number, with their command lines."""
    mark, found = f"{MARK}={machine}".encode(), {}
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0"):
                found[int(path.parent.name)] = path.with_name("cmdline").read_text(errors="replace")
        except OSError:  # it ended meanwhile
            continue
    return found


def kill_all(machine: str) -> int:
    """Kill all processes of a machine; how many there were."""
    doomed = processes_of(machine)
    for number in doomed:
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return len(doomed)


class Machine:
    """Starts programs in a namespace."""

    def __init__(self, name: str, folder: Path, token: str) -> None:
        self.name, self.folder = name, folder
        self.environment = {key: one for key, one in os.environ.items() if key[:4] != "RAY_"} | {
            MARK: name,
            "HOME": str(folder),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": token,
            "RAY_USAGE_STATS_ENABLED": "0",
        }

    def start(self, *command: str, folder: Path, output: Path) -> subprocess.Popen[bytes]:
        """Start a command in a folder, with stdout and stderr in a file."""
        with output.open("wb") as file:
            return subprocess.Popen(  # noqa: S603 -- our own commands
                ["ip", "netns", "exec", self.name, *command],  # noqa: S607 -- as above
                cwd=folder,
                env=self.environment,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def ray(self, *options: str, cores: int) -> None:
        """Start a node of Ray."""
        ray = str(Path(sys.executable).with_name("ray"))
        started = self.start(
            *(ray, "start", *options, "--node-ip-address", ADDRESSES[self.name]),
            *("--num-cpus", str(cores), "--object-store-memory", str(100 * 2**20)),
            *("--disable-usage-stats",),
            folder=self.folder,
            output=self.folder / f"{self.name}.log",
        )
        if started.wait(LIMIT):
            raise SystemExit((self.folder / f"{self.name}.log").read_text())


def made_files(folder: Path, count: int) -> None:
    """Copies of the Markdown of the examples, each another one."""
    text = (examples() / "manual.md").read_text("utf-8")
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:04}.md").write_text(f"# Copy {number}\n\n{text}", "utf-8")


def examples() -> Path:
    """Where the example documents are."""
    return Path(__file__).parent.parent / "examples" / "corpus"


def ingest(store: Path, *options: str) -> list[str]:
    """The command of an ingest of `docs`, named by a relative path."""
    program = [sys.executable, "-m", "rag_nodes.cli", "ingest", "docs", "--store", str(store)]
    return [*program, "-p", "heading", "-p", "parent-child", "--embedding", "lexical", *options]


def wait_until_half(store: Path, count: int, run: subprocess.Popen[bytes]) -> None:
    """Return when the ledger has half of the files."""
    ends = time.monotonic() + LIMIT
    while time.monotonic() < ends and run.poll() is None:
        try:
            with sqlite3.connect(f"file:{store}/ledger.sqlite?mode=ro", uri=True) as ledger:
                (files,) = ledger.execute("SELECT count(*) FROM files").fetchone()
        except sqlite3.OperationalError:  # not made yet
            files = 0
        if files >= count / 2:
            return
        time.sleep(0.05)
    raise SystemExit("the ingest ended, or took too long, before its machine could be killed")


def main() -> None:
    """Run the trial."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--workers", type=int, default=3)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="rn", dir="/tmp"))
    try:
        with two_machines():
            trial(folder, given.files, given.workers)
    finally:
        for name in ADDRESSES:
            kill_all(name)
        shutil.rmtree(folder, ignore_errors=True)


def trial(folder: Path, count: int, workers: int) -> None:
    """Ingest on both machines, kill one, and compare with one process."""
    made_files(folder / "docs", count)
    alone = ingest(folder / "alone")
    subprocess.run(alone, cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    wanted = forks.points_of(folder / "alone", folder / "alone.json")
    token = secrets.token_hex(32)
    head, node = Machine(HEAD, folder, token), Machine(NODE, folder, token)
    address = f"{ADDRESSES[HEAD]}:{PORT}"
    head.ray("--head", "--port", str(PORT), "--include-dashboard", "false", cores=1)
    node.ray("--address", address, cores=workers - 1)
    started = time.monotonic()
    options = ("--engine", "ray", "--ray-address", address, "--workers", str(workers), "--json")
    store, output = folder / "store", folder / "output"
    run = head.start(*ingest(store, *options), folder=folder, output=output)
    wait_until_half(store, count, run)
    busy = sum(name.startswith("ray::do") for name in processes_of(NODE).values())
    killed = kill_all(NODE)
    code = run.wait(LIMIT)
    if code:
        raise SystemExit(f"the ingest ended with {code}:\n{output.read_text()}")
    found = forks.points_of(store, folder / "store.json")
    print(
        json.dumps(
            {
                "files": count,
                "workers": workers,
                "killed processes": killed,
                "of them workers": busy,
                "seconds": round(time.monotonic() - started, 1),
                "points": len(found),
                "wanted": len(wanted),
                **forks.Difference.of(found, wanted)._asdict(),
            }
        )
    )


if __name__ == "__main__":
    main()
