"""Units done by processes of this machine, each with a pipe of its own.

Not a `ProcessPoolExecutor`: where one of its processes dies it ends all others, and what they had
in hand is lost, and nobody knows which unit it was.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from multiprocessing import connection, resource_tracker
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import EngineError
from rag_nodes.executors.loop import Death, Dispatcher
from rag_nodes.executors.runner import UnitOutcome, UnitRunner
from rag_nodes.processes.serving import ends_with_parent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection

_SPAWN = multiprocessing.get_context("spawn")
_PATIENCE = 5.0
"""Seconds for a process whose pipe has closed to be gone."""
_BEGUN = b""
"""What a process says when it begins with a unit: one that dies before did not die of it."""
_STARTING = threading.Lock()


class Pool(Dispatcher):
    """See `Executor`; what a process prints goes to stderr.

    No process outlives this one, even where this one is killed: its pipe closes. Recipes, with
    whatever keys they hold, go through that pipe and nowhere else.

    Args:
        workers: how many processes.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._pickled = b""
        self._processes: dict[int, _Process] = {}
        self._busy: set[int] = set()

    def _begin(self, work: object, recipe: object) -> None:
        self._pickled = pickle.dumps((work, recipe))

    def _submit(self, unit: bytes) -> int:
        free = next(number for number in range(self.workers) if number not in self._busy)
        if free not in self._processes:
            self._processes[free] = _Process(self._pickled)
        self._busy.add(free)
        self._processes[free].give(unit)
        return free

    def _done(
        self, handles: Sequence[int], seconds: float
    ) -> Iterator[tuple[int, UnitOutcome | Death]]:
        pipes: dict[Any, int] = {self._processes[one].pipe: one for one in handles}
        for pipe in connection.wait([*pipes], seconds):
            number = pipes[pipe]
            outcome = self._processes[number].hear()
            if outcome is None:
                continue
            self._busy.discard(number)
            if isinstance(outcome, Death):
                self._processes.pop(number).end()
            yield number, outcome

    def _end(self) -> None:
        for process in self._processes.values():
            process.end()
        self._processes.clear()
        self._busy.clear()


class _Process:
    """One process."""

    def __init__(self, pickled: bytes) -> None:
        self.pipe, theirs = _SPAWN.Pipe()
        watched, self._held = _SPAWN.Pipe(duplex=False)
        self._process = _SPAWN.Process(target=serve, args=(theirs, watched), daemon=True)
        try:
            with _quietly():
                self._process.start()
        except OSError as error:
            self.pipe.close()
            self._held.close()
            raise EngineError(
                f"a worker could not be started ({error}); look at free memory and at how many "
                "processes may run, or ask for fewer workers"
            ) from error
        finally:
            theirs.close()
            watched.close()
        self.give(pickled)

    def give(self, data: bytes) -> None:
        self._begun = False
        with suppress(OSError):  # it has died, which `hear` finds out
            self.pipe.send_bytes(data)

    def hear(self) -> UnitOutcome | Death | None:
        """What came of its unit; None where it has only begun."""
        try:
            data = self.pipe.recv_bytes()
        except (EOFError, OSError):
            return Death(self._ending(), begun=self._begun)
        if data == _BEGUN:
            self._begun = True
            return None
        outcome: UnitOutcome = pickle.loads(data)  # noqa: S301 -- of our own process
        return outcome

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()
        self._held.close()

    def _ending(self) -> str:
        self._process.join(_PATIENCE)
        code = self._process.exitcode
        if code is None:
            return "its pipe closed"
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def serve(pipe: Connection, watched: Connection) -> None:
    """What a process runs.

    Args:
        pipe: brings the recipe, then units, and takes what comes of them.
        watched: nothing ever comes of it; it closes when whoever started this process is gone.
    """
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C is for who started it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    inbox: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(pipe, inbox), daemon=True).start()
    # The kernel ends it even where a library does not give the interpreter's lock back.
    with ends_with_parent(watched):
        job = UnitRunner(inbox.get())
        while True:
            unit = inbox.get()
            pipe.send_bytes(_BEGUN)
            pipe.send_bytes(job.do(unit))


def _read(pipe: Connection, inbox: SimpleQueue[bytes]) -> None:
    """Take what comes, and end this process when whoever started it is gone."""
    try:
        while True:
            inbox.put(pipe.recv_bytes())
    except (EOFError, OSError):
        os._exit(1)


@contextmanager
def _quietly() -> Iterator[None]:
    """Start a process that does not import the caller's script, and does not hear of Ctrl-C.

    The script may have no `__main__` guard, and importing it again would run it again.
    """
    with _STARTING, _without_ctrl_c():
        main: dict[str, Any] = vars(sys.modules["__main__"])
        names = ("__file__", "__spec__")
        before: dict[str, Any] = {name: main[name] for name in names if name in main}
        main.update(__file__=None, __spec__=None)
        try:
            yield
        finally:
            del main["__file__"], main["__spec__"]
            main.update(before)


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Hold SIGINT back in this thread, which what it starts inherits (POSIX)."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # started within, it would let SIGINT through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
