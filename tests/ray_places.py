"""A folder of files that Ray reads and is at home in, and what it left there."""

import os
import secrets
import select
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
KEY = "sk-canary-" + "7" * 30
TOKEN = secrets.token_hex(32)
"""Of the cluster of the tests."""
SPLITTER = "hostile_splitter:HostileSplitter"
PATIENCE = 60_000
"""Milliseconds in which what was started must be gone."""
COLUMNS = ("-p", "heading", "-p", SPLITTER)


class Place(NamedTuple):
    """Where a run takes place, and what it may leave nothing of."""

    folder: Path
    docs: Path

    @property
    def cluster(self) -> Path:
        """Where Ray keeps its files."""
        return self.folder / "r"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not is_of_ray(name)}
        here = str(self.folder)
        return {
            **kept,
            "HOSTILE": f"{here}/said",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": TOKEN,
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # it listens on the loopback only
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",  # of its own accord 15: beside other tests they starve
            "HOME": f"{here}/home",
            "TMPDIR": f"{here}/t",
            "OPENAI_API_KEY": KEY,
            "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
        }

    def command(self, address: str) -> list[str]:
        ingest = ["ingest", str(self.docs), "--store", str(self.folder / "store"), *COLUMNS]
        workers = ["--ray-address", address, "--workers", "2", "--embedding", "lexical"]
        return [sys.executable, "-m", "rag_nodes.cli", *ingest, *workers]

    def messages(self, kind: str) -> list[str]:
        return [path.read_text("utf-8") for path in (self.folder / "said").glob(f"*-{kind}")]

    def processes(self) -> dict[int, str]:
        """Those that were started here, found by their environment, and what they are called."""
        mark = f"HOSTILE={self.folder}/said".encode()
        commands = {}
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_bytes().split(b"\0"):
                    commands[int(path.parent.name)] = path.with_name("cmdline").read_text("utf-8")
            except OSError:  # it ended meanwhile, or is somebody else's
                continue
        return commands


class Running(NamedTuple):
    """Ray, started here, and where its processes are at home."""

    place: Place
    ray: Any

    @property
    def address(self) -> str:
        return str(self.ray.get_runtime_context().gcs_address)

    @property
    def pid_folder(self) -> str:
        return str(self.place.folder / "said")


def is_of_ray(variable: str) -> bool:
    return variable.startswith("RAY_")


@contextmanager
def make_place() -> Iterator[Place]:
    """A short path, as Ray's sockets have names below it."""
    folder = Path(tempfile.mkdtemp(prefix="rn", dir="/tmp"))
    try:
        for name in ("home", "t", "said"):
            (folder / name).mkdir()
        shutil.copytree(HERE.parent / "examples" / "corpus", folder / "docs")
        yield Place(folder, folder / "docs")
    finally:
        shutil.rmtree(folder)


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
