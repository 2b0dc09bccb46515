"""Paths in, documents or typed errors out: one file, or many files and folders."""

from __future__ import annotations

import logging
import os
import stat
import time
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.core.errors import (
    EmptyFileError,
    FileMissingError,
    MissingExtraError,
    ReadError,
    UnsupportedFileError,
)
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several
from rag_nodes.readers.base import Limits, Reading, build_document
from rag_nodes.readers.exclude import Exclusion
from rag_nodes.readers.isolation import pool
from rag_nodes.readers.kinds import (
    COLLECTIONS,
    SUFFIXES,
    needs_child,
    read_here,
    typed_errors,
)
from rag_nodes.readers.walk import ListedFile, Skipped, canonical, files_at, is_folder
from rag_nodes.text.formats import SOURCE_CODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llama_index.core.schema import Document

    from rag_nodes.core.metadata import PdfEngineName
    from rag_nodes.readers.kinds import Outcomes
    from rag_nodes.readers.ocr import Ocr

DEFAULT_LIMITS = Limits()

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """Row of `read_all`: a document, or the reason why there is none.

    Attributes:
        path: the file as found.
        document: the document; None where the file, or one page of a crawl, could not be read.
        error: the reason; None where it could.
        seconds: wall-clock time spent on this document; loading libraries and waiting for other
            threads' files are not counted.
    """

    path: Path
    document: Document | None = field(repr=False)
    error: ReadError | None
    seconds: float


@checks_keywords
def read(
    path: str | Path,
    *,
    limits: Limits = DEFAULT_LIMITS,
    isolate: bool = True,
    engine: PdfEngineName | None = None,
    ocr: Ocr | None = None,
) -> Document:
    """Read one file into one document.

    Args:
        path: a file whose suffix is in `SUFFIXES`.
        limits: how large the file may be, and what reading it may take.
        isolate: read in a child process whatever a third-party parser reads, so that a crash, a
            hang or a bomb is a `ReadError`; see `rag_nodes.readers.isolation`.
        engine: library that reads a PDF, "pymupdf" or "pdfium"; None for that of the limits.
        ocr: what reads pages of a PDF that have images and no text, see `Limits`; None for that of
            the limits.

    Returns:
        The full text with `source`, `file_name`, `source_hash` and, where the file has them,
        `title`, `total_pages`, `page_starts`, `ocr_pages` and `read_warnings` in its metadata.

    Raises:
        ReadError: a subclass per kind of bad file; the message names file and remedy. Also for a
            file that holds many documents (`COLLECTIONS`): those are for `read_all`.
        MissingExtraError: the file needs an optional dependency that is not installed.
    """
    path = Path(path)
    if path.suffix.lower() in COLLECTIONS:
        raise UnsupportedFileError(
            path,
            "this kind of file holds many documents, not one",
            "split them with `rag-nodes docs` or look at them with `rag-nodes read`; in Python, "
            "read them with read_all",
        )
    limits = with_engine(limits, engine, ocr)
    outcome = next(readings(path, limits=limits, isolate=isolate))
    if isinstance(outcome, ReadError):
        raise outcome
    return build_document(path.resolve(), outcome)


def readings(
    path: str | Path,
    *,
    limits: Limits = DEFAULT_LIMITS,
    isolate: bool = True,
    started: Callable[[], None] = lambda: None,
) -> Iterator[Reading | ReadError]:
    """Read a file of any kind as plain data, without LlamaIndex; `read` and `read_all` use it.

    Args:
        path: a file whose suffix is in `SUFFIXES` or `COLLECTIONS`.
        limits: how large the file and each document may be.
        isolate: see `read`.
        started: called where a child process was made ready for the file and begins to read it.

    Yields:
        One reading per document, lazily; an error in place of a single bad document.

    Raises:
        ReadError: the file, or what is left of it, cannot be read.
        MissingExtraError: the file needs an optional dependency that is not installed.
    """
    path = Path(path)
    with typed_errors(path):
        size = checked_size(path, limits)
        if not isolate or not needs_child(path, size, limits):
            yield from read_here(path, limits)
            return
        if path.suffix.lower() in COLLECTIONS:
            yield from pool.stream(path, limits, started=started)
        else:
            yield from pool.read(path, limits, started=started)


@checks_keywords
def read_all(
    paths: str | Path | Iterable[str | Path],
    *,
    limits: Limits = DEFAULT_LIMITS,
    isolate: bool = True,
    engine: PdfEngineName | None = None,
    ocr: Ocr | None = None,
    exclude: str | Iterable[str] = (),
    skipped: Skipped | None = None,
) -> Iterator[ReadResult]:
    """Read files and folders one after another, a row per document.

    Folders are walked in sorted order; hidden entries, other suffixes and links that lead out of
    the folder are skipped. A file reached twice is read once.

    Args:
        paths: files and folders; a single path is one of them.
        limits: how large each file may be.
        isolate: see `read`.
        engine: see `read`.
        ocr: see `read`.
        exclude: patterns of files and folders to leave out, as in `.gitignore`: `*.tmp`, `drafts`,
            `drafts/*.md`.
        skipped: counts the files that are left out, complete after the last row; None to log them.

    Yields:
        One result per file, or per page of a crawl, as soon as it is read; a bad file or page is
        a row with its error. A crawl that breaks off gives its good pages, then the error.
    """
    left_out = Skipped() if skipped is None else skipped
    limits = with_engine(limits, engine, ocr)
    for file in listed(paths, exclude=Exclusion(exclude), skipped=left_out):
        yield from read_listed(file, limits=limits, isolate=isolate)
    if skipped is None and left_out:
        _log.warning("%s", left_out)


def read_listed(
    file: ListedFile,
    *,
    limits: Limits = DEFAULT_LIMITS,
    isolate: bool = True,
) -> Iterator[ReadResult]:
    """Read a file that `listed` found, as `read_all` does."""
    # Every document needs it, and the first one would seem to take seconds.
    import_module("llama_index.core.schema")
    place = Path(file.place)
    of_file = partial(readings, limits=limits, isolate=isolate)
    start = time.perf_counter()

    def begin() -> None:
        nonlocal start
        start = time.perf_counter()

    for outcome in _outcomes(file, partial(of_file, started=begin)):
        document = None
        if isinstance(outcome, ReadError):
            _log.info("not read: %s", outcome)
        else:
            document = build_document(place, outcome)
        error = outcome if isinstance(outcome, ReadError) else None
        yield ReadResult(file.path, document, error, time.perf_counter() - start)
        begin()


def listed(
    paths: str | Path | Iterable[str | Path],
    *,
    exclude: Exclusion | None = None,
    skipped: Skipped | None = None,
) -> Iterator[ListedFile]:
    """List the files that `read_all` would read, in the same order, without opening one.

    Args:
        paths: files and folders; a single path is one of them.
        exclude: leave out what matches a pattern; None for nothing.
        skipped: counts the files that are left out.
    """
    seen = set[int]()  # hashes, as a million paths would take 120 MB
    roots = [Path(path) for path in several(paths)]
    named = {str(canonical(root)) for root in roots}
    for root in roots:
        for file in files_at(root, exclude or Exclusion()):
            if file.skipped and file.place in named and file.path != root:
                continue  # whether a named file or folder is left out shows at its own path
            # What one root leaves out another may hold.
            key = hash((file.place, file.skipped)) if file.skipped else hash(file.place)
            if key in seen:
                continue
            seen.add(key)
            if not file.skipped:
                yield file
            elif skipped is not None:
                skipped.count(file)


def _outcomes(file: ListedFile, read_one: Callable[[Path], Outcomes]) -> Outcomes:
    """Yield the readings of a file, and last the error that ends it."""
    path = file.path
    try:
        # Only a folder in which nothing was found, or that cannot be listed, gets here.
        if file.size is None and is_folder(path):
            with typed_errors(path):
                os.scandir(path).close()
            named = ", ".join(sorted(SUFFIXES.keys() - SOURCE_CODE))
            raise UnsupportedFileError(
                path,
                "no document in this folder",
                f"supported: {named}, and source code; name a crawl (.json, .jsonl) as a file",
            )
        yield from read_one(path)
    except ReadError as error:
        yield error
    except MissingExtraError as error:
        # The other files of the call need another library; they go on.
        failure = UnsupportedFileError(path, *str(error).split(". ", maxsplit=1))
        failure.__cause__ = error
        yield failure


def with_engine(limits: Limits, engine: PdfEngineName | None, ocr: Ocr | None = None) -> Limits:
    """Return limits with another PDF engine and OCR; None keeps theirs."""
    ocr = limits.ocr if ocr is None else ocr
    return replace(limits, pdf_engine=engine or limits.pdf_engine, ocr=ocr)


def checked_size(path: Path, limits: Limits) -> int:
    """Return the bytes of a file that may be read; raises ReadError if it may not."""
    if not path.exists():
        raise FileMissingError(path)
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise FileMissingError(path, "this is a folder, not a file", "name a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise FileMissingError(path, "this is not a regular file")
    if status.st_size == 0:
        raise EmptyFileError(path)
    limits.check(path, status.st_size, "bytes")
    return status.st_size
