"""Child processes that do one task after another, started when needed and replaced when broken.

Readers and workers use the same children. A child is a plain subprocess and no `multiprocessing`
process: that would import the main script again, which fails in scripts without a `__main__` guard,
and `fork` is unsafe in programs with threads.

A message is a kind and bytes. Readers write JSON, because a child that has worked on a hostile file
must not be able to run code in its parent. Workers write pickles of the user's own objects.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from rag_nodes.core import errors
from rag_nodes.core.processes.interrupt import current_interrupt
from rag_nodes.core.processes.threads import BackgroundThread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

TASK, READY, NOTE, RESULT, ERROR, END, SPENT = (bytes([letter]) for letter in b"trnieds")
"""Kinds of messages: the parent gives a task; the child begins it, says something about it, has a
result, has failed, waits for the next task, or has to be replaced before it."""
_HEAD = struct.Struct(">cI")


def send(stream: IO[bytes], kind: bytes, body: bytes = b"") -> None:
    """Write one message."""
    stream.write(_HEAD.pack(kind, len(body)))
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[bytes, bytes]:
    """Read one message: its kind and its body.

    Raises:
        EOFError: the other side is gone, or died within a message.
    """
    kind, length = _HEAD.unpack(_exactly(stream, _HEAD.size))
    return kind, _exactly(stream, length)


def to_json(value: Any) -> bytes:
    """Return JSON; lone surrogates, as in odd file names, go through unchanged."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def from_json(body: bytes) -> Any:
    """Undo `to_json`.

    Raises:
        ValueError: this is no JSON.
    """
    return json.loads(body.decode("utf-8", "surrogatepass"))


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


def pack_error(error: errors.RagNodesError) -> dict[str, Any]:
    """Give an error as what JSON can hold."""
    arguments = error.__reduce__()[1]
    return {"error": type(error).__name__, "arguments": [str(argument) for argument in arguments]}


def unpack_error(data: Mapping[str, Any]) -> errors.RagNodesError:
    """Undo `pack_error`.

    Raises:
        ValueError: this is no error of ours.
    """
    try:
        kind: type[errors.RagNodesError] = vars(errors)[data["error"]]
        arguments = data["arguments"]
        if not issubclass(kind, errors.RagNodesError):
            raise ValueError(f"not an error of ours: {kind.__name__}")  # noqa: TRY004 - data
        if issubclass(kind, errors.ReadError):
            path, *rest = arguments
            return kind(Path(path), *rest)
        return kind(*arguments)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not an error of ours: {error}") from error


STARTING = 120.0
"""Seconds a child may take to start and to import what it needs, on a busy machine."""


class ChildDiedError(Exception):
    """A child ended, or answered nonsense, before its task was done; says how."""


class ChildExpiredError(ChildDiedError):
    """A child took longer than it may."""


class Child:
    """A process that runs the `main` of a module, with the import path of this one.

    Args:
        module: its name.
        stderr: where it goes; nowhere by default, None for that of this process.
        niceness: up to 19, with which it gives way to all other work of the machine.

    Attributes:
        requests: the pipe to it.
        answers: the pipe from it.
        used: it has done a task before.
        reusable: it waits for the next task.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(
        self, module: str, *, stderr: int | None = subprocess.DEVNULL, niceness: int = 0
    ) -> None:
        program = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from rag_nodes.core.processes.serving import run; run({module!r})"
        )
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, a module of ours
            [sys.executable, "-P", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,  # Ctrl-C is for us; we end it then
        )
        if niceness and hasattr(os, "setpriority"):
            with suppress(OSError):  # it has ended already, which shows soon
                os.setpriority(os.PRIO_PROCESS, self._process.pid, niceness)
        self.requests = cast("IO[bytes]", self._process.stdin)
        self.answers = cast("IO[bytes]", self._process.stdout)
        self.used = self.reusable = self._expired = False

    def is_alive(self) -> bool:
        """Return True if the child is still alive."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill it and what it has forked, so that nobody waits for its answer any longer."""
        if self._process.returncode is None and hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):  # it has a group of its own
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()

    def end(self) -> None:
        """Kill it, however it is, and let the system forget it."""
        self.kill()
        self._process.wait()
        self._close()

    def ending(self) -> str:
        """End it, and say how it had ended, for people."""
        self.end()
        code = self._process.returncode
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name

    def disown(self) -> None:
        """Let go of a process that another one has started."""
        self._process.returncode = 0  # it is not ours to wait for
        self._close()

    def results(
        self,
        request: bytes,
        *,
        seconds: float | None = None,
        started: Callable[[], None] = lambda: None,
        heard: Callable[[bytes], None] = lambda _: None,
    ) -> Iterator[bytes]:
        """Have the child do a task.

        Args:
            request: what `serve` hands to the child.
            seconds: how long each result may take; they do not run while the caller works on a
                result. None for no limit.
            started: called when the child is ready and begins with the task.
            heard: gets what the child says about the task meanwhile.

        Yields:
            Each result as it arrives.

        Raises:
            ChildExpiredError: a result took longer.
            ChildDiedError: the child died, or answered nonsense.
            RagNodesError: what the work raised.
        """
        self.reusable, raised = False, None
        until = None if seconds is None else time.monotonic() + STARTING
        try:
            send(self.requests, TASK, request)
            while (message := self._answer(until))[0] not in {END, SPENT}:
                kind, body = message
                if kind == READY:
                    started()
                elif kind == NOTE:
                    heard(body)
                    continue
                elif kind == ERROR:
                    raised = unpack_error(from_json(body))
                else:
                    yield body
                until = None if seconds is None else time.monotonic() + seconds
            self.reusable = message[0] == END
        except (EOFError, OSError, ValueError) as error:
            ending = self.ending()
            if self._expired:
                raise ChildExpiredError("it took too long") from error
            raise ChildDiedError(ending) from error
        if raised is not None:
            raise raised

    def _answer(self, until: float | None) -> tuple[bytes, bytes]:
        if until is None:
            return receive(self.answers)
        # A timer that kills works everywhere; pipes cannot be waited for on Windows.
        delay = until - time.monotonic()
        timer = BackgroundThread(self._expire, "time limit of a child", delay=delay)
        timer.start()
        try:
            return receive(self.answers)
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self._expired = True
        self.kill()

    def _close(self) -> None:
        for pipe in (self.requests, self.answers):
            with suppress(OSError):  # what was not sent can be sent no more
                pipe.close()


class Children:
    """Child processes of one kind; may be used by many threads.

    Args:
        start: starts one, such as `partial(Child, "a.module")`.
        kept: idle children kept for later tasks.
    """

    def __init__(self, start: Callable[[], Child], *, kept: int) -> None:
        self._start, self._kept = start, kept
        self._idle: list[Child] = []
        self._lock = threading.Lock()

    @contextmanager
    def take(self, what: str) -> Iterator[Child]:
        """Hold a child for a task; it ends with the block unless it waits for the next task.

        Args:
            what: is done, for messages, such as "a.pdf: reading it".

        Raises:
            CancelledError: see `interruptible`, which kills the child.
            OSError: no process could be started.
        """
        interrupt = current_interrupt()
        interrupt.check(what)
        child = self._taken()
        try:
            with interrupt.killing(child.kill):
                yield child
        except ChildDiedError:
            interrupt.check(what)
            raise
        finally:
            self._give_back(child)

    def close(self) -> None:
        """End the idle children; the next task starts a new one."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.end()

    def forget(self) -> None:
        """Start again in a forked process: the children are those of its parent."""
        for child in self._idle:
            child.disown()
        self._idle = []
        self._lock = threading.Lock()

    def _taken(self) -> Child:
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.is_alive():
                    return child
                child.end()
        return self._start()

    def _give_back(self, child: Child) -> None:
        if child.reusable:
            child.used = True
            with self._lock:
                if len(self._idle) < self._kept:
                    self._idle.append(child)
                    return
        child.end()
