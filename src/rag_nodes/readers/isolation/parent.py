"""Files in, readings out, read by a child process: a crash, a hang or a bomb is one failed file.

A child is started with the first such file and reads all later ones, because importing PyMuPDF
takes seconds; it is replaced where it dies, is killed, or has grown.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import (
    CancelledError,
    RagNodesError,
    ReaderCrashedError,
    ReadError,
    ReadTimeoutError,
)
from rag_nodes.processes import ChildDiedError, ChildExpiredError, Children, unpack_error
from rag_nodes.processes.turns import Turns
from rag_nodes.readers.isolation.wire import unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rag_nodes.readers.base import Limits, Reading

OWN_PARSERS = frozenset({".csv", ".markdown", ".md", ".rst", ".text", ".tsv", ".txt"})
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
MODEL = 4
"""Times the seconds that a layout model may take: it is that much slower than anything else."""
KEPT = 2
"""Children kept for later files; each holds some 250 MB once it has read a PDF."""
AT_ONCE = max(2, min(4, os.cpu_count() or 1))
"""Files read at the same time; more threads wait for their turn."""

_CHILD = "rag_nodes.readers.isolation.child"


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
        self._children = Children(module, kept=KEPT)
        self._turns = Turns(AT_ONCE)

    def read(
        self,
        path: Path,
        limits: Limits,
        *,
        started: Callable[[], None] = lambda: None,
        **options: Any,
    ) -> list[Reading | ReadError]:
        """Read a file that is one document.

        Args:
            path: an existing file.
            limits: of which the child's time and memory are held here, the others in the reader.
            started: called when a child is ready and begins with the file.
            options: `layout`, see `read_pdf`; `keep_duplicates`, see `read_firecrawl`.

        Raises:
            ReadTimeoutError: it took longer than `limits.seconds_for` its size, or than
                `limits.share_for` it while others waited for their turn.
            ReadMemoryError: it took more than `limits.memory_bytes`.
            ReaderCrashedError: the child died.
            CancelledError: see `interruptible`.
            RagNodesError: as the reader says.
        """
        share = limits.share_for(path.stat().st_size)
        with self._turns.take() as turn:

            def begun() -> None:
                self._turns.limit(turn, share)
                started()

            try:
                return list(self.stream(path, limits, started=begun, **options))
            except CancelledError:
                if not turn.taken:
                    raise
                reason = f"reading it takes longer than {share:.4g} s, and others wait"
                remedy = "split it, or try again when less is going on"
                raise ReadTimeoutError(path, reason, remedy) from None

    def stream(
        self,
        path: Path,
        limits: Limits,
        *,
        layout: str | None = None,
        keep_duplicates: bool = False,
        started: Callable[[], None] = lambda: None,
    ) -> Iterator[Reading | ReadError]:
        """Read a file of many documents, each given as soon as the child has it.

        The time limit is that of each document, and does not run while the caller works on one.
        Arguments and errors are those of `read`.
        """
        seconds = limits.seconds_for(path.stat().st_size) * (MODEL if layout else 1)
        request = {
            "kind": path.suffix.lower(),
            "path": str(path),
            "limits": asdict(limits),
            "layout": layout,
            "keep_duplicates": keep_duplicates,
            "seconds": seconds,
        }
        raised: RagNodesError | None = None
        try:
            what = f"{path}: reading it"
            for kind, content in self._children.messages(request, seconds, what, started):
                if kind == "raised":
                    raised = unpack_error(content)
                else:
                    yield unpack(content)
        except ChildExpiredError as error:
            raise ReadTimeoutError(path, f"reading it takes longer than {seconds:.4g} s") from error
        except (ChildDiedError, ValueError) as error:
            reason = f"the process that read it died ({error})"
            raise ReaderCrashedError(path, reason) from error
        except OSError as error:
            reason = f"no process could be started to read it: {error.strerror or error}"
            remedy = "free memory and processes, or read trusted files with isolate=False"
            raise ReaderCrashedError(path, reason, remedy) from error
        if raised is not None:
            raise raised

    def close(self) -> None:
        """End the idle children; the next file starts a new one."""
        self._children.close()


pool = ReaderPool()
"""The children of this process."""
