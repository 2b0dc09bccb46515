"""The child of `isolation`: reads one file after another until its parent is gone.

Signals make sure that it never outlives its parent by more than the time limit, even while a C
library holds the interpreter: the parent writes nothing while a file is read, so the only thing
that can happen to the pipe is that it closes, upon which the kernel ends this process.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rag_nodes.errors import RagNodesError, ReadMemoryError
from rag_nodes.readers.base import Limits
from rag_nodes.readers.isolation import LIBRARIES
from rag_nodes.readers.isolation_wire import Kind, pack, receive, send
from rag_nodes.readers.registry import readings

if TYPE_CHECKING:
    from collections.abc import Iterator

GRACE = 5.0
"""Seconds after which a child ends itself where its parent, who should have, has not."""
SPENT = 512 * 1024 * 1024
"""Bytes by which a child may have grown before it is replaced: memory that libraries keep would
be missing to the next file."""


def main() -> None:
    """Serve until the parent closes the pipe."""
    requests, answers = _own_pipes()
    sizes: dict[str, int] = {}
    while True:
        try:
            request = receive(requests)
        except EOFError:
            return
        suffix = Path(request["path"]).suffix.lower()
        for library in LIBRARIES.get(suffix, ()):
            with suppress(ImportError):  # before the clock starts; the reader says what is missing
                importlib.import_module(library)
        size = sizes.setdefault(suffix, _address_space())
        _answer(answers, "ready")
        with _ends_with_parent(requests):
            spent = _serve(request, answers, size)
        # Only now: upon the end the parent may write, which the kernel would take for its death.
        _answer(answers, "end", spent or _address_space() > size + SPENT)


def _own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Take the pipes away from stdin and stdout, to which libraries may print."""
    pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return pipes


def _serve(request: dict[str, Any], answers: IO[bytes], size: int) -> bool:
    """Read one file; True where this process should not read another one."""
    path, limits = Path(request["path"]), Limits(**request["limits"])
    seconds = request["seconds"] + GRACE
    try:
        _limit_memory(size + limits.memory_bytes if size else None)
        _limit_seconds(seconds)
        wanted = {name: request[name] for name in ("layout", "keep_duplicates")}
        for outcome in readings(path, limits=limits, isolate=False, **wanted):
            _limit_seconds(0)  # the parent may take its time with each document
            _answer(answers, "item", pack(outcome))
            _limit_seconds(seconds)
    except RagNodesError as error:
        _limit_memory(None)
        _answer(answers, "raised", pack(error))
        return isinstance(error, ReadMemoryError)
    finally:
        _limit_seconds(0)
        _limit_memory(None)
    return False


def _answer(answers: IO[bytes], kind: Kind, content: Any = None) -> None:
    send(answers, [kind, content])


@contextmanager
def _ends_with_parent(requests: IO[bytes]) -> Iterator[None]:
    """Let the kernel end this process when the parent closes the pipe (POSIX)."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    flags = fcntl.fcntl(requests, fcntl.F_GETFL)
    fcntl.fcntl(requests, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(requests, fcntl.F_SETFL, flags | os.O_ASYNC)
    try:
        yield
    finally:
        fcntl.fcntl(requests, fcntl.F_SETFL, flags)


def _limit_seconds(seconds: float) -> None:
    """Let the kernel end this process after some time (POSIX); 0 for never."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)


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
