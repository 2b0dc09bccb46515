"""Files in, readings out, read by a child process: a crash, a hang or a bomb is one failed file.

A child is started with the first such file and reads all later ones, because importing a library
can take seconds; it is replaced where it dies, is killed, or has grown.
"""

from __future__ import annotations

import atexit
import importlib
import os
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rag_nodes.core.errors import (
    RagNodesError,
    ReaderCrashedError,
    ReadError,
    ReadMemoryError,
    ReadTimeoutError,
)
from rag_nodes.core.processes import (
    Child,
    ChildDiedError,
    ChildExpiredError,
    Children,
    Leases,
    Task,
    from_json,
    pack_error,
    serve,
    shares_told_to,
    tell_share,
    to_json,
    unpack_error,
)
from rag_nodes.readers.base import Limits, Reading
from rag_nodes.readers.kinds import libraries_of, read_here, typed_errors
from rag_nodes.readers.ocr import PAGE_SECONDS as OCR_SECONDS
from rag_nodes.readers.pdf.engines import engine_name
from rag_nodes.readers.pdf.picture import PagePicture, draw_page
from rag_nodes.readers.pdf.quotes import PageQuote, PlacedBox, locate_quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Answer = TypeVar("Answer")

_ABORTED = "SIGABRT"
"""End of a process in which PDFium was given no more memory: it does not come back to say so."""
PAGE_SECONDS = 20.0
"""Seconds that one page may take to be drawn; it takes less than one."""
KEPT = 2
"""Children kept for later files; each holds some 250 MB once it has read a PDF."""
AT_ONCE = max(2, min(4, os.cpu_count() or 1))
"""Files read at the same time; more threads wait for their turn."""


class ReaderPool:
    """Child processes that read files as a module's `main` does; for any number of threads."""

    def __init__(self, module: str = __name__) -> None:
        self._children = Children(partial(Child, module), kept=KEPT)
        self._leases = Leases(AT_ONCE)
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._children.forget)

    def read(
        self,
        path: Path,
        limits: Limits,
        *,
        started: Callable[[], None] = lambda: None,
    ) -> list[Reading | ReadError]:
        """Read a file that is one document; `started` is called when a child begins with it.

        Of the limits the child's time and memory are held here, the others in the reader.

        Raises:
            ReadTimeoutError: it took longer than `limits.seconds_for` its size.
            ReadMemoryError: it took more than `limits.memory_bytes`.
            ReaderCrashedError: the child died.
            CancelledError: see `interruptible`.
            RagNodesError: as the reader says.
        """
        with self._leases.take(_doing(path)):
            return list(self.stream(path, limits, started=started))

    def stream(
        self,
        path: Path,
        limits: Limits,
        *,
        started: Callable[[], None] = lambda: None,
    ) -> Iterator[Reading | ReadError]:
        """Read a file of many documents, each given as soon as the child has it.

        The time limit is for each document, and does not run while the caller works on it.
        Arguments and errors are those of `read`.
        """
        seconds = _resolved(path, limits).seconds_for(path.stat().st_size)
        return self._results(path, limits, seconds, {}, unpack, started)

    def draw(self, path: Path, number: int, text: str, limits: Limits, dpi: int) -> PagePicture:
        """Draw a page of a PDF, counted from 1, and find the characters of its text on it.

        See `rag_nodes.readers.pdf.picture.draw_page`; of time it has `PAGE_SECONDS`.

        Raises:
            ReadError: of the same kinds as of `read`.
            CancelledError: see `interruptible`.
        """
        asked = {"page": {"number": number, "text": text, "dpi": dpi}}
        with self._leases.take(_doing(path)):
            (drawn,) = self._results(path, limits, _page_seconds(limits), asked, PagePicture.unpack)
        return drawn

    def locate(
        self, path: Path, number: int, quote: PageQuote, file_hash: str | None, limits: Limits
    ) -> list[PlacedBox]:
        """Find the boxes of a quote on a page of a PDF, counted from 1.

        See `rag_nodes.readers.pdf.quotes.locate_quote`; of time it has `PAGE_SECONDS`.

        Raises:
            ReadError: of the same kinds as of `read`.
            CancelledError: see `interruptible`.
        """
        asked = {"quote": {"number": number, "quote": quote, "file_hash": file_hash}}
        with self._leases.take(_doing(path)):
            seconds = _page_seconds(limits)
            return list(self._results(path, limits, seconds, asked, PlacedBox.unpack))

    def _results(
        self,
        path: Path,
        limits: Limits,
        seconds: float,
        asked: dict[str, Any],
        undo: Callable[[Any], Answer],
        started: Callable[[], None] = lambda: None,
    ) -> Iterator[Answer]:
        """Yield the answers of a child to a request; an invalid answer counts as a crash."""
        limits = _resolved(path, limits)
        request = {
            "kind": path.suffix.lower(),
            "path": str(path),
            # The child was started for an earlier file, perhaps elsewhere; a command may be a path.
            "folder": None if path.is_absolute() and limits.ocr is None else str(Path.cwd()),
            "limits": asdict(limits),
            **asked,
        }
        is_given = False
        try:
            with self._children.take(_doing(path)) as child:
                for result in child.results(
                    to_json(request),
                    seconds=seconds,
                    started=started,
                    heard=lambda share: tell_share(from_json(share)),
                ):
                    yield undo(from_json(result))
                    is_given = True
        except RagNodesError:
            raise
        except ChildExpiredError as error:
            raise ReadTimeoutError(path, f"reading it takes longer than {seconds:.4g} s") from error
        except (ChildDiedError, ValueError) as error:
            if child.used and not is_given:  # perhaps an earlier file broke the child
                yield from self._results(path, limits, seconds, asked, undo, started)
                return
            raise _crash(path, error, limits.pdf_engine) from error
        except OSError as error:
            reason = f"no process could be started to read it: {error.strerror or error}"
            remedy = "free memory and processes, or read trusted files with isolate=False"
            raise ReaderCrashedError(path, reason, remedy) from error

    def close(self) -> None:
        """End the idle children; the next file starts a new one."""
        self._children.close()


pool = ReaderPool()
"""The children of this process."""


def main() -> None:
    """Read one file after another until the parent is gone."""
    serve(_begin, fatal=ReadMemoryError)


def _begin(request: bytes, note: Callable[[bytes], None]) -> Task:
    asked = from_json(request)
    for library in libraries_of(asked["kind"], asked["limits"]["pdf_engine"]):
        with suppress(ImportError):  # the reader says what is missing
            importlib.import_module(library)
    kind = f"{asked['kind']} {asked['limits']['pdf_engine']}"
    return Task(_answers(asked, note), asked["limits"]["memory_bytes"], kind)


def _answers(asked: dict[str, Any], note: Callable[[bytes], None]) -> Iterator[bytes]:
    path, limits = Path(asked["path"]), Limits(**asked["limits"])
    if asked["folder"] is not None:
        os.chdir(asked["folder"])
    with shares_told_to(lambda share: note(to_json(share))):
        if page := asked.get("page"):
            with typed_errors(path):
                yield to_json(draw_page(path, limits=limits, **page).pack())
            return
        if asked_quote := asked.get("quote"):
            with typed_errors(path):
                quote = PageQuote(*asked_quote.pop("quote"))
                for box in locate_quote(path, limits=limits, quote=quote, **asked_quote):
                    yield to_json(box)
            return
        for outcome in read_here(path, limits):
            yield to_json(pack(outcome))


def pack(outcome: Reading | ReadError) -> dict[str, Any]:
    """Return a reading, or the error in its place, as JSON can hold it."""
    return asdict(outcome) if isinstance(outcome, Reading) else pack_error(outcome)


def unpack(data: Mapping[str, Any]) -> Reading | ReadError:
    """Undo `pack`.

    Raises:
        ValueError: this is neither a reading nor an error of a reader.
    """
    try:
        if "error" in data:
            return _error(data)
        starts = data["page_starts"]
        return Reading(
            **{
                **data,
                "page_starts": None if starts is None else tuple(starts),
                "warnings": tuple(data["warnings"]),
                "also_at": tuple(data["also_at"]),
            }
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not an answer of a reader: {error}") from error


def _error(data: Mapping[str, Any]) -> ReadError:
    error = unpack_error(data)
    if not isinstance(error, ReadError):
        raise ValueError(f"not an error of a reader: {type(error).__name__}")  # noqa: TRY004 - data
    return error


def _resolved(path: Path, limits: Limits) -> Limits:
    """Return limits with the engine that "auto" is in this process; OCR is for PDF files only."""
    if path.suffix.lower() != ".pdf":
        return replace(limits, ocr=None)
    return replace(limits, pdf_engine=engine_name(limits.pdf_engine))


def _page_seconds(limits: Limits) -> float:
    return PAGE_SECONDS if limits.ocr is None else PAGE_SECONDS + 2 * OCR_SECONDS


def _crash(path: Path, error: Exception, pdf_engine: str) -> ReadError:
    if str(error) == _ABORTED and pdf_engine == "pdfium":
        return ReadMemoryError(path)
    return ReaderCrashedError(path, f"the process that read it died ({error})")


def _doing(path: Path) -> str:
    return f"{path}: reading it"
