"""Files in, readings out, read by a child process: a crash, a hang or a bomb is one failed file.

A child is started with the first such file and reads all later ones, because importing PyMuPDF
takes seconds; it is replaced where it dies, is killed, or has grown. It is a plain subprocess and
no `multiprocessing` one: that would import the main script again, which fails in scripts without
a `__main__` guard, and `fork` is unsafe in programs with threads.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import RagNodesError, ReaderCrashedError, ReadError, ReadTimeoutError
from rag_nodes.readers.base import Reading
from rag_nodes.readers.interrupt import current_interrupt
from rag_nodes.readers.isolation_wire import receive, send, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO

    from rag_nodes.readers.base import Limits

OWN_PARSERS = frozenset({".csv", ".markdown", ".md", ".text", ".tsv", ".txt"})
"""Suffixes whose readers are our own linear code, which may run in this process."""
LARGE = 16 * 1024 * 1024
"""Bytes from which even these go to the child, for its limits of time and memory."""
LIBRARIES = {
    ".pdf": ("pymupdf",),
    ".docx": ("lxml.etree",),
    ".htm": ("lxml.html", "markdownify"),
    ".html": ("lxml.html", "markdownify"),
    ".xhtml": ("lxml.html", "markdownify"),
    ".json": ("ijson",),
    ".jsonl": ("ijson",),
}
"""What the reader of each suffix will import; the child does so before the clock starts."""
STARTING = 120.0
"""Seconds a child may take to start and to import what it needs, on a busy machine."""
MODEL = 4
"""Times the seconds that a layout model may take: it is that much slower than anything else."""
KEPT = 2
"""Children kept for later files; each holds some 250 MB once it has read a PDF."""
AT_ONCE = max(2, min(4, os.cpu_count() or 1))
"""Files read at the same time; more threads wait for their turn."""

_CHILD = "rag_nodes.readers.isolation_child"


def needs_child(path: Path) -> bool:
    """Whether a file is to be read in a child process; `path` exists.

    No process is started only to find that the parser is not installed.
    """
    suffix = path.suffix.lower()
    if suffix in OWN_PARSERS:
        return path.stat().st_size > LARGE
    roots = {library.partition(".")[0] for library in LIBRARIES.get(suffix, ())}
    return all(find_spec(root) for root in roots)


class ReaderPool:
    """Child processes that read files; may be used by many threads.

    Args:
        module: what a child runs: a module with a `main` that speaks as `isolation_child` does.
    """

    def __init__(self, module: str = _CHILD) -> None:
        self._module = module
        self._idle: list[_Child] = []
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(AT_ONCE)

    def read(self, path: Path, limits: Limits, **options: Any) -> list[Reading | ReadError]:
        """Read a file that is one document.

        Args:
            path: an existing file.
            limits: of which the child's time and memory are held here, the others in the reader.
            options: `layout`, see `read_pdf`; `keep_duplicates`, see `read_firecrawl`.

        Raises:
            ReadTimeoutError: it took longer than `limits.seconds_for` its size.
            ReadMemoryError: it took more than `limits.memory_bytes`.
            ReaderCrashedError: the child died.
            CancelledError: see `interruptible`.
            RagNodesError: as the reader says.
        """
        with self._turns:
            return list(self.stream(path, limits, **options))

    def stream(
        self,
        path: Path,
        limits: Limits,
        *,
        layout: str | None = None,
        keep_duplicates: bool = False,
    ) -> Iterator[Reading | ReadError]:
        """Read a file of many documents, each given as soon as the child has it.

        The time limit is that of each document, and does not run while the caller works on one.
        Arguments and errors are those of `read`.
        """
        seconds = limits.seconds_for(path.stat().st_size) * (MODEL if layout else 1)
        request = {
            "path": str(path),
            "limits": asdict(limits),
            "layout": layout,
            "keep_duplicates": keep_duplicates,
            "seconds": seconds,
        }
        given, interrupt = False, current_interrupt()
        while True:
            child = self._take(path)
            try:
                with interrupt.killing(child.kill):
                    for outcome in child.outcomes(path, request, seconds):
                        given = True
                        yield outcome
            except ReaderCrashedError:
                interrupt.check(path)
                # What an earlier file broke in the child is not this file's fault.
                if given or not child.used:
                    raise
            else:
                return
            finally:
                self._give_back(child)

    def close(self) -> None:
        """End the idle children; the next file starts a new one."""
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
        self._turns = threading.BoundedSemaphore(AT_ONCE)

    def _take(self, path: Path) -> _Child:
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.is_alive():
                    return child
                child.end()
        try:
            return _Child(self._module)
        except OSError as error:
            reason = f"no process could be started to read it: {error.strerror or error}"
            remedy = "free memory and processes, or read trusted files with isolate=False"
            raise ReaderCrashedError(path, reason, remedy) from error

    def _give_back(self, child: _Child) -> None:
        if child.reusable:
            child.used = True
            with self._lock:
                if len(self._idle) < KEPT:
                    self._idle.append(child)
                    return
        child.end()


class _Child:
    """One child process.

    Attributes:
        used: it has read a file before.
        reusable: it waits for the next file.
    """

    def __init__(self, module: str) -> None:
        start = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from importlib import import_module; import_module({module!r}).main()"
        )
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, a module of ours
            [sys.executable, "-P", "-c", start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us; we end it then
        )
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

    def outcomes(
        self, path: Path, request: dict[str, Any], seconds: float
    ) -> Iterator[Reading | ReadError]:
        """Have the child read a file; `seconds` are for each of its documents."""
        self.reusable = False
        raised: RagNodesError | None = None
        try:
            send(self._requests, request)
            kind, content = self._answer(STARTING)
            while kind != "end":
                if kind == "item":
                    yield _document(content)
                elif kind == "raised":
                    raised = _error(content)
                kind, content = self._answer(seconds)
            self.reusable = content is not True
        except (EOFError, OSError, ValueError) as error:
            raise self._failure(path, seconds) from error
        if raised is not None:
            raise raised

    def kill(self) -> None:
        """Let whoever waits for its answer wait no longer."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process, however it is, and let the system forget it."""
        self._process.kill()
        self._process.wait()
        self._close()

    def disown(self) -> None:
        """Let go of a process that another one has started."""
        self._process.returncode = 0  # it is not ours to wait for
        self._close()

    def _answer(self, seconds: float) -> tuple[str, Any]:
        # A timer that kills works everywhere; pipes cannot be waited for on Windows.
        timer = threading.Timer(seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            kind, content = receive(self._answers)
        finally:
            timer.cancel()
        return kind, content

    def _expire(self) -> None:
        self._expired = True
        self._process.kill()

    def _failure(self, path: Path, seconds: float) -> ReadError:
        self.end()
        if self._expired:
            return ReadTimeoutError(path, f"reading it takes longer than {seconds:.4g} s")
        code = self._process.returncode
        name = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        return ReaderCrashedError(path, f"the process that read it died ({name})")

    def _close(self) -> None:
        for pipe in (self._requests, self._answers):
            with suppress(OSError):  # what was not sent can be sent no more
                pipe.close()


def _document(content: Any) -> Reading | ReadError:
    outcome = unpack(content)
    if isinstance(outcome, Reading | ReadError):
        return outcome
    raise ValueError(f"not a document: {type(outcome).__name__}")


def _error(content: Any) -> RagNodesError:
    outcome = unpack(content)
    if isinstance(outcome, RagNodesError):
        return outcome
    raise ValueError(f"not an error: {type(outcome).__name__}")


pool = ReaderPool()
"""The children of this process."""
atexit.register(pool.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.forget)
