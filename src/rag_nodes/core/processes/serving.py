"""What a child runs: one task after another until its parent is gone.

Signals make sure that it never outlives its parent by more than the time limit, even while a C
library holds the interpreter: the parent writes nothing while a task runs, so the only thing that
can happen to the pipe is that it closes, upon which the kernel ends this process.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rag_nodes.core.errors import RagNodesError
from rag_nodes.core.processes.children import pack_error, receive, send
from rag_nodes.core.processes.progress import shares_told_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

GRACE = 5.0
"""Seconds after which a child ends itself where its parent, who should have, has not."""
SPENT = 512 * 1024 * 1024
"""Bytes by which a child may have grown before it is replaced: memory that libraries keep would
be missing to the next task."""


def _unlimited(_: dict[str, Any]) -> None:
    """Nothing to prepare, and no limit of memory."""


def serve(
    work: Callable[[dict[str, Any]], Iterable[Any]],
    *,
    prepare: Callable[[dict[str, Any]], int | None] = _unlimited,
    fatal: type[RagNodesError] | tuple[type[RagNodesError], ...] = (),
) -> None:
    """Serve until the parent closes the pipe.

    Args:
        work: gives the results of a request, which JSON can hold, one after the other; the
            request's "seconds" limit the time of each.
        prepare: imports what the work needs before the clock starts, and says by how many bytes
            the process may grow meanwhile (Linux); None for no limit.
        fatal: errors of ours after which the process should not go on.
    """
    requests, answers = own_pipes()
    sizes: dict[str, int] = {}
    while True:
        try:
            request = receive(requests)
        except EOFError:
            return
        allowed = prepare(request)
        size = sizes.setdefault(str(request.get("kind")), _address_space())
        _answer(answers, "ready")
        with ends_with_parent(requests):
            _limit_memory(size + allowed if size and allowed else None)
            spent = _serve(work, request, answers, fatal)
        # Only now: upon the end the parent may write, which the kernel would take for its death.
        _answer(answers, "end", spent or _address_space() > size + SPENT)


def _serve(
    work: Callable[[dict[str, Any]], Iterable[Any]],
    request: dict[str, Any],
    answers: IO[bytes],
    fatal: type[RagNodesError] | tuple[type[RagNodesError], ...],
) -> bool:
    """Do one task; True where this process should not do another one."""
    seconds = request["seconds"] + GRACE
    try:
        _limit_seconds(seconds)
        with shares_told_to(lambda share: _answer(answers, "share", share)):
            for result in work(request):
                _limit_seconds(0)  # the parent may take its time with each result
                _answer(answers, "item", result)
                _limit_seconds(seconds)
    except RagNodesError as error:
        _limit_memory(None)
        _answer(answers, "raised", pack_error(error))
        return isinstance(error, fatal)
    finally:
        _limit_seconds(0)
        _limit_memory(None)
    return False


def own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Take the pipes away from stdin and stdout, to which libraries may print."""
    pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return pipes


def _answer(answers: IO[bytes], kind: str, content: Any = None) -> None:
    """Tell the parent.

    Args:
        answers: the pipe to it.
        kind: "ready" when work is about to begin, "share" for how far it is, "item" for a result,
            "raised" for the error that ended it, "end".
        content: of a share, result or error; of the end whether this child should be replaced.
    """
    send(answers, [kind, content])


@contextmanager
def ends_with_parent(requests: IO[bytes]) -> Iterator[None]:
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


def ended_soon(main: Callable[[], None]) -> None:
    """Run what a child is for; `GRACE` seconds after it the kernel ends this process (POSIX).

    Threads may be left that Python would wait for: those of a library, and those of a task whose
    parent was killed, as the pipe of answers may close before the one that is watched.
    """
    try:
        main()
    finally:
        _limit_seconds(GRACE)


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
