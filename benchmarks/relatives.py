"""Processes that came of another one, by what the kernel says of them (Linux)."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

PATIENCE = 300.0
"""Seconds in which what has lost its parent must have ended: a child that had just been started
loads what it needs first, for 3 seconds of its own, which others on the machine make many."""


class Process(NamedTuple):
    """A process, which is another one where its number is used again.

    Attributes:
        pid: its number.
        started: when, in ticks since the machine was.
        parent: number of its parent, when it was looked at.
        command: what it is called.
    """

    pid: int
    started: int
    parent: int
    command: str

    @classmethod
    def read(cls, pid: int) -> Process:
        """The one with this number.

        Raises:
            OSError: there is none.
        """
        place = Path(f"/proc/{pid}")
        facts = place.joinpath("stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        if facts[0] in "ZX":  # it has ended, and nobody has asked yet how
            raise ProcessLookupError(pid)
        command = place.joinpath("cmdline").read_bytes().decode("utf-8", "replace")
        return cls(pid, int(facts[19]), int(facts[1]), command)

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        try:
            return Process.read(self.pid).started == self.started
        except OSError:
            return False


def descendants(pid: int) -> list[Process]:
    """The descendants of a process, without itself."""
    running: dict[int, list[Process]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            process = Process.read(int(place.name))
        except OSError:  # it ended meanwhile, or is somebody else's
            continue
        running.setdefault(process.parent, []).append(process)
    descendants_read, waiting = [], [pid]
    while waiting:
        children = running.get(waiting.pop(), [])
        descendants_read += children
        waiting += [process.pid for process in children]
    return descendants_read


def kill(process: Process) -> None:
    """End a process at once, unless it has."""
    if process.is_alive:
        os.kill(process.pid, signal.SIGKILL)


def await_end(processes: list[Process]) -> None:
    """Wait until these have ended.

    Raises:
        SystemExit: one has not; by whom is said.
    """
    end = time.monotonic() + PATIENCE
    for process in processes:
        while process.is_alive:
            if time.monotonic() > end:
                raise SystemExit(f"{process.pid} was left and lives on: {process.command!r}")
            time.sleep(0.02)
