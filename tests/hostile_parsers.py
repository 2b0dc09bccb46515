"""Parsers that do what a hostile document may make a real one do."""

import os
import select
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from rag_nodes.core.processes import pause
from rag_nodes.parsers import FixedSizeNodeParser, SpanNodeParser
from rag_nodes.parsers.source import ChunkSpan, SourceText


class HangingNodeParser(SpanNodeParser):
    """Works until it is cancelled; there is a file `note` meanwhile."""

    note: str

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        noted(self.note)
        try:
            pause(3600)
        finally:
            Path(self.note).unlink()
        raise AssertionError(f"not cancelled: {source}")


class PoisonedNodeParser(FixedSizeNodeParser):
    """Kills its process where a document says so, as a bug of a C library would.

    "poison" kills every time; "hang" hangs once, while there is no file `note`, which then has the
    process id; "kill" kills once, likewise. Before it dies for good it says why, and quotes the key
    of its environment; "warn" has it warn with that.
    """

    note: str = ""

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        words = f"a broken font, by {os.environ.get('POISON_API_KEY')}"
        if "warn" in source.text:
            warnings.warn(words, stacklevel=1)
        if "poison" in source.text:
            print(words, file=sys.stderr, flush=True)  # noqa: T201 - as libraries do
            os.kill(os.getpid(), signal.SIGKILL)
        once = self.note and not Path(self.note).exists()
        if once and ("hang" in source.text or "kill" in source.text):
            noted(self.note)
            if "kill" in source.text:
                os.kill(os.getpid(), signal.SIGKILL)
            raise AssertionError(sum(range(10**15)))  # in C, with the interpreter locked
        return super().spans(source)


def noted(note: str) -> None:
    """Write the process id into a file, at once as a whole."""
    Path(f"{note}.new").write_text(str(os.getpid()), encoding="ascii")
    Path(f"{note}.new").rename(note)


def wait_for(note: Path, seconds: float = 60) -> int:
    """The process id that a parser notes once it hangs."""
    deadline = time.monotonic() + seconds
    while not note.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(note.read_text(encoding="ascii"))


def wait_until_cancelled(note: Path, seconds: float = 60) -> None:
    """Fail if a `HangingNodeParser` still works after some time."""
    deadline = time.monotonic() + seconds
    while note.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def started_at_the_gate(command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    """A run of which a worker stands still in a file that says WAIT HERE."""
    gate = Path(environment["HOSTILE"]) / "gate"
    os.mkfifo(gate)
    run = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    arrived, ended = os.open(gate, os.O_RDONLY | os.O_NONBLOCK), os.pidfd_open(run.pid)
    poll = select.poll()
    poll.register(arrived, select.POLLIN)
    poll.register(ended, select.POLLIN)
    found = dict(poll.poll(300_000))
    os.close(arrived)
    os.close(ended)
    if arrived not in found:
        run.kill()
        raise AssertionError(run.communicate()[1])
    return run


def is_running(process: int) -> bool:
    """Whether a process still works; one that was killed and not yet waited for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except FileNotFoundError:
        return False
    return state[0] != "Z"


def wait_until_gone(process: int, seconds: float = 60) -> None:
    """Fail if the process still works after some time."""
    deadline = time.monotonic() + seconds
    while is_running(process):
        assert time.monotonic() < deadline
        time.sleep(0.02)
