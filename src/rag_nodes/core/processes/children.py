"""Child processes that do one task after another, started where needed and replaced where broken.

A child is a plain subprocess and no `multiprocessing` one: that would import the main script again,
which fails in scripts without a `__main__` guard, and `fork` is unsafe in programs with threads.
What both say to each other is length-prefixed JSON and no pickle: the child has worked on what may
be hostile, so what it says is data to be checked, and must not be able to run code in the parent.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from rag_nodes.core import errors
from rag_nodes.core.processes.interrupt import current_interrupt
from rag_nodes.core.processes.progress import tell_share
from rag_nodes.core.processes.threads import BackgroundThread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_LENGTH = struct.Struct(">I")


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message; lone surrogates, as in odd file names, go through unchanged."""
    send_bytes(stream, json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def receive(stream: IO[bytes]) -> Any:
    """Read one message.

    Raises:
        EOFError: the other side is gone, or died within a message.
        ValueError: it is no message.
    """
    return json.loads(receive_bytes(stream).decode("utf-8", "surrogatepass"))


def send_bytes(stream: IO[bytes], body: bytes) -> None:
    """Write one message that is no JSON."""
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def receive_bytes(stream: IO[bytes]) -> bytes:
    """Read one message that is no JSON.

    Raises:
        EOFError: the other side is gone, or died within a message.
    """
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


def pack_error(error: errors.RagNodesError) -> dict[str, Any]:
    """Give an error as what JSON can hold."""
    arguments = error.__reduce__()[1]
    return {"error": type(error).__name__, "arguments": [str(one) for one in arguments]}


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
            "from rag_nodes.core.processes.serving import ended_soon; "
            "from importlib import import_module; "
            f"ended_soon(import_module({module!r}).main)"
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
        """Whether it has not died while it waited."""
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
        self, request: dict[str, Any], seconds: float, started: Callable[[], None]
    ) -> Iterator[Any]:
        """See `Children.results`."""
        self.reusable, raised = False, None
        try:
            send(self.requests, request)
            self._answer(STARTING)
            started()
            until = time.monotonic() + seconds
            while (message := self._answer(until - time.monotonic()))[0] != "end":
                if message[0] == "raised":
                    raised = unpack_error(message[1])
                elif message[0] == "share":
                    tell_share(message[1])
                else:
                    yield message[1]
                    until = time.monotonic() + seconds
            self.reusable = message[1] is not True
        except (EOFError, OSError, ValueError) as error:
            ending = self.ending()
            if self._expired:
                raise ChildExpiredError("it took too long") from error
            raise ChildDiedError(ending) from error
        if raised is not None:
            raise raised

    def _answer(self, seconds: float) -> tuple[str, Any]:
        # A timer that kills works everywhere; pipes cannot be waited for on Windows.
        timer = BackgroundThread(self._expire, "time limit of a child", delay=seconds)
        timer.start()
        try:
            kind, content = receive(self.answers)
        finally:
            timer.cancel()
        return kind, content

    def _expire(self) -> None:
        self._expired = True
        self.kill()

    def _close(self) -> None:
        for pipe in (self.requests, self.answers):
            with suppress(OSError):  # what was not sent can be sent no more
                pipe.close()


class Children:
    """Child processes of one kind; may be used by many threads.

    They end with this process, and a fork of it starts its own.

    Args:
        module: what a child runs: a module whose `main` calls `serve`.
        kept: idle children kept for later tasks.
    """

    def __init__(self, module: str, *, kept: int) -> None:
        self._module = module
        self._kept = kept
        self._idle: list[Child] = []
        self._lock = threading.Lock()
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def results(
        self,
        request: dict[str, Any],
        seconds: float,
        what: str,
        started: Callable[[], None] = lambda: None,
    ) -> Iterator[Any]:
        """Have a child do a task.

        Args:
            request: what it is to do, as JSON can hold it.
            seconds: how long each result may take; they do not run while the caller works on one.
            what: is done, for messages, such as "a.pdf: reading it".
            started: called when a child is ready and begins with the task.

        Yields:
            Each result as it arrives.

        Raises:
            ChildExpiredError: a result took longer.
            ChildDiedError: the child died, or answered nonsense.
            CancelledError: see `interruptible`.
            OSError: no process could be started.
            RagNodesError: what the work raised.
        """
        given, interrupt = False, current_interrupt()
        while True:
            child = self._take()
            try:
                with interrupt.killing(child.kill):
                    for result in child.results(request, seconds, started):
                        given = True
                        yield result
            except ChildDiedError as error:
                interrupt.check(what)
                # What an earlier task broke in the child is not this one's fault.
                if given or not child.used or isinstance(error, ChildExpiredError):
                    raise
            else:
                return
            finally:
                self._give_back(child)

    def close(self) -> None:
        """End the idle children; the next task starts a new one."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.end()

    def _forget(self) -> None:
        """Start anew in a forked process: the children are those of its parent."""
        for child in self._idle:
            child.disown()
        self._idle = []
        self._lock = threading.Lock()

    def _take(self) -> Child:
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.is_alive():
                    return child
                child.end()
        return Child(self._module)

    def _give_back(self, child: Child) -> None:
        if child.reusable:
            child.used = True
            with self._lock:
                if len(self._idle) < self._kept:
                    self._idle.append(child)
                    return
        child.end()
