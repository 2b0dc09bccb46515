"""Parsers that do what a hostile document may make a real one do."""

import os
import select
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from threading import Event

from pydantic import PrivateAttr

from rag_nodes.core.processes import pause
from rag_nodes.parsers import FixedSizeNodeParser, SpanNodeParser
from rag_nodes.parsers.source import ChunkSpan, SourceText

_PATIENCE = 60.0
"""Seconds for which a test waits."""


class HangingNodeParser(SpanNodeParser):
    """Works until it is cancelled."""

    _started: Event = PrivateAttr(default_factory=Event)
    _cancelled: Event = PrivateAttr(default_factory=Event)

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        self._started.set()
        try:
            pause(3600)
        finally:
            self._cancelled.set()
        raise AssertionError(f"not cancelled: {source}")

    @property
    def is_cancelled(self) -> bool:
        """True once it does not work any more."""
        return self._cancelled.is_set()

    def wait_until_started(self) -> None:
        """Fail if it does not work within a minute."""
        assert self._started.wait(_PATIENCE)

    def wait_until_cancelled(self) -> None:
        """Fail if it still works after a minute."""
        assert self._cancelled.wait(_PATIENCE)


class PoisonedNodeParser(FixedSizeNodeParser):
    """Kills its process where a document says so, as a bug of a C library would.

    "poison" kills every time; "kill" kills once, while there is no file `note`, which is made then.
    Before it dies for good it says why, and quotes the key of its environment; "warn" has it warn
    with that.
    """

    note: str = ""

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        words = f"a broken font, by {os.environ.get('POISON_API_KEY')}"
        if "warn" in source.text:
            warnings.warn(words, stacklevel=1)
        if "poison" in source.text:
            print(words, file=sys.stderr, flush=True)  # noqa: T201 - as libraries do
            os.kill(os.getpid(), signal.SIGKILL)
        if "kill" in source.text and self.note and not Path(self.note).exists():
            Path(self.note).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().spans(source)


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
    ready = dict(poll.poll(300_000))
    os.close(arrived)
    os.close(ended)
    if arrived not in ready:
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


def wait_until_gone(process: int, seconds: float = _PATIENCE) -> None:
    """Fail if the process still works after some time."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        ended, _, _ = select.select([descriptor], [], [], seconds)
        assert ended
    finally:
        os.close(descriptor)
