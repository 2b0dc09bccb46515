"""`rag-nodes app` as a user starts it: a process of its own, and all it writes."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

STARTING = 600.0
"""Seconds after which an app that answers nothing counts as broken: it takes 20 of a core to start,
of which it may get a thirtieth."""
_KEPT = ("PATH", "PYTHONPATH", "LANG", "SYSTEMROOT", "VIRTUAL_ENV")
_ADDRESS = re.compile(r"rag_nodes is at (http://\S+/)")


@dataclass
class AppProcess:
    """A running app.

    Attributes:
        address: where it is, with a slash at the end.
        lines: what it wrote to either stream so far.
    """

    address: str = ""
    lines: list[str] = field(default_factory=list)

    @property
    def output(self) -> str:
        """Everything it wrote."""
        return "".join(self.lines)


@contextmanager
def app_process(folder: Path, *arguments: str, **variables: str) -> Iterator[AppProcess]:
    """Start the command in an empty folder, on a free port, and end it like Ctrl-C.

    Args:
        folder: working directory, home and place of everything temporary.
        arguments: further words of the command.
        variables: of the environment, beside the few that a program needs.
    """
    command = Path(sys.executable).with_name("rag-nodes")
    places = {name: str(folder) for name in ("HOME", "TMPDIR", "GRADIO_TEMP_DIR")}
    process = subprocess.Popen(
        [str(command), "app", "--port", "0", *arguments],
        cwd=folder,
        env={name: os.environ[name] for name in _KEPT if name in os.environ} | places | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    running, ready = AppProcess(), threading.Event()
    reader = threading.Thread(target=_follow, args=(process, running, ready), daemon=True)
    reader.start()
    try:
        assert ready.wait(STARTING), running.output
        assert running.address, running.output
        yield running
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join(timeout=10)
        if process.stdout is not None:
            process.stdout.close()


def _follow(process: subprocess.Popen[str], running: AppProcess, ready: threading.Event) -> None:
    """Note what is written, until the process ends."""
    for line in process.stdout or ():
        running.lines.append(line)
        if match := _ADDRESS.search(line):
            running.address = match[1]
            ready.set()
    ready.set()
