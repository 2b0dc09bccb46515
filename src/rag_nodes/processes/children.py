"""Child processes that do one task after another, started where needed and replaced where broken.

A child is a plain subprocess and no `multiprocessing` one: that would import the main script again,
which fails in scripts without a `__main__` guard, and `fork` is unsafe in programs with threads.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from rag_nodes.processes.interrupt import current_interrupt, killing_after
from rag_nodes.processes.wire import MessageKind, receive, send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STARTING = 120.0
"""Seconds a child may take to start and to import what it needs, on a busy machine."""


class ChildDiedError(Exception):
    """A child ended, or answered nonsense, before its task was done; says how."""


class ChildExpiredError(ChildDiedError):
    """A child took longer than it may."""


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
        self._idle: list[_Child] = []
        self._lock = threading.Lock()
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def messages(
        self,
        request: dict[str, Any],
        seconds: float,
        what: str,
        started: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[MessageKind, Any]]:
        """Have a child do a task.

        Args:
            request: what it is to do, as JSON can hold it.
            seconds: how long each result may take; they do not run while the caller works on one.
            what: is done, for messages, such as "a.pdf: reading it".
            started: called when a child is ready and begins with the task.

        Yields:
            `("item", result)` for each result as it arrives, and at most one
            `("raised", error)` for what `unpack_error` understands; the child works on until the
            iterator has ended.

        Raises:
            ChildExpiredError: a result took longer.
            ChildDiedError: the child died, or answered nonsense.
            CancelledError: see `interruptible`.
            OSError: no process could be started.
        """
        given, interrupt = False, current_interrupt()
        while True:
            child = self._take()
            try:
                with interrupt.killing(child.kill):
                    for message in child.messages(request, seconds, started):
                        given = True
                        yield message
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

    def forget(self) -> None:
        """Start anew in a forked process: the children are those of its parent."""
        for child in self._idle:
            child.disown()
        self._idle = []
        self._lock = threading.Lock()

    def _take(self) -> _Child:
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.is_alive():
                    return child
                child.end()
        return _Child(self._module)

    def _give_back(self, child: _Child) -> None:
        if child.reusable:
            child.used = True
            with self._lock:
                if len(self._idle) < self._kept:
                    self._idle.append(child)
                    return
        child.end()


def start(module: str, *, stderr: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """A process that runs the `main` of a module; it has pipes, and the import path of this one."""
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        "from rag_nodes.processes.serving import ended_soon; "
        "from importlib import import_module; "
        f"ended_soon(import_module({module!r}).main)"
    )
    return subprocess.Popen(  # noqa: S603 - this interpreter, a module of ours
        [sys.executable, "-P", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,  # Ctrl-C is for us; we end it then
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and what it has forked, unless it was waited for already."""
    if process.returncode is None and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # it has a group of its own
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def await_end(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has ended, and kill what it has forked: that holds its pipes open."""
    if hasattr(os, "waitid"):
        with suppress(ChildProcessError):  # somebody else has waited for it
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            kill(process)
    process.wait()


def ending_of(process: subprocess.Popen[bytes]) -> str:
    """How a process ended that has, for people."""
    code = process.wait()
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


class _Child:
    """One child process.

    Attributes:
        used: it has done a task before.
        reusable: it waits for the next task.
    """

    def __init__(self, module: str) -> None:
        self._process = start(module)
        self._requests, self._answers = self._pipes()
        self._expired = False
        self.used = False
        self.reusable = False

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        requests, answers = self._process.stdin, self._process.stdout
        if requests is None or answers is None:
            raise OSError("no pipes to a process that was started with pipes")
        return requests, answers

    def is_alive(self) -> bool:
        """Whether it has not died while it waited."""
        return self._process.poll() is None

    def messages(
        self, request: dict[str, Any], seconds: float, started: Callable[[], None]
    ) -> Iterator[tuple[MessageKind, Any]]:
        """What it answers between the start of the work and its end."""
        self.reusable = False
        try:
            send(self._requests, request)
            self._answer(STARTING)
            started()
            while (message := self._answer(seconds))[0] != "end":
                yield message
            self.reusable = message[1] is not True
        except (EOFError, OSError, ValueError) as error:
            raise self._failure() from error

    def kill(self) -> None:
        """Let whoever waits for its answer wait no longer."""
        kill(self._process)

    def end(self) -> None:
        """Kill the process, however it is, and let the system forget it."""
        kill(self._process)
        self._process.wait()
        self._close()

    def disown(self) -> None:
        """Let go of a process that another one has started."""
        self._process.returncode = 0  # it is not ours to wait for
        self._close()

    def _answer(self, seconds: float) -> tuple[MessageKind, Any]:
        with killing_after(seconds, self._expire):
            kind, content = receive(self._answers)
        return kind, content

    def _expire(self) -> None:
        self._expired = True
        kill(self._process)

    def _failure(self) -> ChildDiedError:
        self.end()
        if self._expired:
            return ChildExpiredError("it took too long")
        return ChildDiedError(ending_of(self._process))

    def _close(self) -> None:
        for pipe in (self._requests, self._answers):
            with suppress(OSError):  # what was not sent can be sent no more
                pipe.close()
