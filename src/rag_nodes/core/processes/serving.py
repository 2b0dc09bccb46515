"""Tasks in a child process: done one after another until its parent is gone.

A child never outlives its parent, even while a C library holds the interpreter: the parent writes
nothing while a task runs, so the only thing that can happen to the pipe is that it closes, upon
which the kernel ends this process.
"""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from rag_nodes.core.errors import RagNodesError
from rag_nodes.core.processes import children
from rag_nodes.core.processes.children import pack_error, receive, send, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MOST_GROWTH = 512 * 1024 * 1024
"""Bytes by which a child may have grown before it is replaced: memory that libraries keep would
be missing to the next task."""


class Task(NamedTuple):
    """A task that is ready to be done.

    Attributes:
        results: made one after the other, as they are asked for.
        memory: bytes by which the process may grow meanwhile (Linux); a process that has grown much
            is replaced. None for no limit.
        kind: tasks of one kind begin with the same libraries in memory.
    """

    results: Iterable[bytes]
    memory: int | None = None
    kind: str = ""


def serve(
    begin: Callable[[bytes, Callable[[bytes], None]], Task],
    *,
    fatal: type[RagNodesError] | tuple[type[RagNodesError], ...] = (),
) -> None:
    """Serve until the parent closes the pipe.

    Args:
        begin: makes the task of a request. It imports what the work needs, before any clock starts
            or memory is counted. Its second argument tells the parent something about the task.
        fatal: errors of ours after which the process should not go on.
    """
    requests, answers = _own_pipes()
    sizes: dict[str, int] = {}
    while True:
        try:
            _, request = receive(requests)
        except EOFError:
            return
        with _ends_with_parent(requests):
            task = begin(request, partial(send, answers, children.NOTE))
            send(answers, children.READY)
            size = sizes.setdefault(task.kind, _address_space())
            error = _do(task, size, answers)
        has_grown = task.memory is not None and _address_space() > size + MOST_GROWTH
        # Only now: upon the end the parent may write, which the kernel would take for its death.
        is_spent = has_grown or isinstance(error, fatal)
        send(answers, children.SPENT if is_spent else children.END)


def _do(task: Task, size: int, answers: IO[bytes]) -> RagNodesError | None:
    """Send the results of a task, or the error that ended it, which is returned."""
    _limit_memory(size + task.memory if size and task.memory is not None else None)
    try:
        for result in task.results:
            send(answers, children.RESULT, result)
    except RagNodesError as error:
        _limit_memory(None)
        send(answers, children.ERROR, to_json(pack_error(error)))
        return error
    finally:
        _limit_memory(None)
    return None


def _own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Take the pipes away from stdin and stdout; what libraries print goes to stderr."""
    pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return pipes


@contextmanager
def _ends_with_parent(requests: IO[bytes]) -> Iterator[None]:
    """Let the kernel end this process when the parent closes the pipe (POSIX)."""
    if sys.platform == "win32":
        yield
        return
    import fcntl
    import select

    flags = fcntl.fcntl(requests, fcntl.F_GETFL)
    fcntl.fcntl(requests, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(requests, fcntl.F_SETFL, flags | os.O_ASYNC)
    closed = select.poll()
    closed.register(requests, 0)
    if closed.poll(0):  # before the kernel was asked
        os._exit(0)
    try:
        yield
    finally:
        fcntl.fcntl(requests, fcntl.F_SETFL, flags)


def run(module: str) -> None:
    """Run the `main` of a module and end this process, whatever threads libraries have left."""
    try:
        import_module(module).main()
    except OSError:  # the parent is gone
        os._exit(1)
    except BaseException:  # noqa: BLE001 -- the parent says what becomes of the task
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _limit_memory(size: int | None) -> None:
    """Limit the address space (Linux); None for no limit."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        soft = hard if size is None else size
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    """Bytes of address space this process has; 0 where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
