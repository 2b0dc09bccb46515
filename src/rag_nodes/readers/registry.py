"""The suffix decides the reader: paths in, documents or typed errors out."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.errors import (
    EmptyFileError,
    FileMissingError,
    MissingExtraError,
    RagNodesError,
    ReadError,
    UnsupportedFileError,
)
from rag_nodes.readers.base import CollectionReader, Limits, Reader, Reading, build_document
from rag_nodes.readers.html import read_html
from rag_nodes.readers.markdown import read_markdown
from rag_nodes.readers.pdf import read_pdf
from rag_nodes.readers.plain import read_plain
from rag_nodes.readers.tabular import read_tabular
from rag_nodes.readers.word import read_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llama_index.core.schema import Document


def _read_crawl(path: Path, limits: Limits) -> Iterator[Reading | ReadError]:
    from rag_nodes.readers.firecrawl import read_firecrawl

    return read_firecrawl(path, limits)


SUFFIXES: dict[str, Reader] = {
    ".csv": read_tabular,
    ".docx": read_word,
    ".htm": read_html,
    ".html": read_html,
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".pdf": read_pdf,
    ".text": read_plain,
    ".tsv": read_tabular,
    ".txt": read_plain,
    ".xhtml": read_html,
}
"""Reader of each suffix of files that are one document, lower case."""

COLLECTIONS: dict[str, CollectionReader] = {".json": _read_crawl, ".jsonl": _read_crawl}
"""Reader of each suffix of files that hold many documents. No other registry of readers exists."""

DEFAULT_LIMITS = Limits()

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """One row of `read_all`: a document, or why there is none.

    Attributes:
        path: the file as found.
        document: the document; None where the file, or one page of a crawl, could not be read.
        error: the reason; None where it could.
        seconds: wall-clock time spent on this document.
    """

    path: Path
    document: Document | None
    error: ReadError | None
    seconds: float


def read(path: str | Path, *, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Read one file into one document.

    Args:
        path: a file whose suffix is in `SUFFIXES`.
        limits: how large the file may be.

    Returns:
        The full text with `source`, `file_name`, `source_hash` and, where the file has them,
        `title`, `total_pages`, `page_starts` and `read_warnings` in its metadata.

    Raises:
        ReadError: a subclass per kind of bad file; the message names file and remedy. Also for a
            file that holds many documents (`COLLECTIONS`): those are for `read_all`.
        MissingExtraError: the file needs an optional dependency that is not installed.
    """
    path = Path(path)
    if path.suffix.lower() in COLLECTIONS:
        raise UnsupportedFileError(
            path, "this kind of file holds many documents, not one", "use read_all"
        )
    outcome = next(readings(path, limits=limits))
    if isinstance(outcome, ReadError):
        raise outcome
    return build_document(path.resolve(), outcome)


def readings(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> Iterator[Reading | ReadError]:
    """Read a file of any kind as plain data, without LlamaIndex; `read` and `read_all` use it.

    Args:
        path: a file whose suffix is in `SUFFIXES` or `COLLECTIONS`.
        limits: how large the file, and each document in it, may be.

    Yields:
        One reading per document, lazily; an error in place of a document that is bad by itself.

    Raises:
        ReadError: the file, or what is left of it, cannot be read.
        MissingExtraError: the file needs an optional dependency that is not installed.
    """
    try:
        reader = _reader_for(path)
        _check_size(path, limits)
        for outcome in reader(path, limits):
            if isinstance(outcome, Reading):
                limits.check_characters(path, len(outcome.text))
            yield outcome
    except RagNodesError:
        raise
    except OSError as error:
        reason = f"the system refused to read it: {error.strerror or error}"
        raise ReadError(path, reason, "check the path and its permissions") from error
    except Exception as error:
        reason = f"unexpected {type(error).__name__}: {error}"
        raise ReadError(path, reason, "please report this file as a bug") from error


def read_all(
    paths: Iterable[str | Path], *, limits: Limits = DEFAULT_LIMITS
) -> Iterator[ReadResult]:
    """Read files and folders one after another, a row per document.

    Folders are walked in sorted order; hidden entries, other suffixes and links that lead out of
    the folder are skipped. A file reached twice is read once.

    Args:
        paths: files and folders.
        limits: how large each file may be.

    Yields:
        One result per file, or per page of a crawl, as soon as it is read; a bad file or page is
        a row with its error. A crawl that breaks off gives its good pages, then the error.
    """
    seen: set[Path] = set()
    for path in (found for given in paths for found in _expand(Path(given))):
        canonical = _canonical(path)
        if canonical not in seen:
            seen.add(canonical)
            yield from _rows(path, limits)


def _rows(path: Path, limits: Limits) -> Iterator[ReadResult]:
    started = time.perf_counter()
    for outcome in _outcomes(path, limits):
        document = None
        if isinstance(outcome, ReadError):
            _log.info("not read: %s", outcome)
        else:
            document = build_document(path.resolve(), outcome)
        error = outcome if isinstance(outcome, ReadError) else None
        yield ReadResult(path, document, error, time.perf_counter() - started)
        started = time.perf_counter()


def _outcomes(path: Path, limits: Limits) -> Iterator[Reading | ReadError]:
    """The readings of a file, with the error that ends it as the last one."""
    try:
        if _is_folder(path):  # only a folder in which nothing was found gets here
            raise UnsupportedFileError(
                path, "no file of a supported kind in this folder", f"supported: {_supported()}"
            )
        yield from readings(path, limits=limits)
    except ReadError as error:
        yield error
    except MissingExtraError as error:
        # The other files of the call need no PyMuPDF; they go on.
        failure = UnsupportedFileError(path, *str(error).split(". ", maxsplit=1))
        failure.__cause__ = error
        yield failure


def _expand(path: Path) -> Iterator[Path]:
    """Yield the files of a folder, or the path itself."""
    if not _is_folder(path):
        yield path
        return
    found = False
    for file in _walk(path):
        found = True
        yield file
    if not found:
        yield path


def _walk(folder: Path) -> Iterator[Path]:
    root = folder.resolve()
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            file = Path(parent, name)
            if name.startswith(".") or file.suffix.lower() not in _known():
                continue
            if file.resolve().is_relative_to(root):
                yield file


def _reader_for(path: Path) -> Callable[[Path, Limits], Iterable[Reading | ReadError]]:
    if path.is_dir():
        raise FileMissingError(path, "this is a folder, not a file", "name a file in it")
    if not path.exists():
        raise FileMissingError(path)
    if not path.is_file():
        raise FileMissingError(path, "this is not a regular file")
    suffix = path.suffix.lower()
    if suffix in COLLECTIONS:
        return COLLECTIONS[suffix]
    if suffix not in SUFFIXES:
        reason = f"no reader for files of type {suffix or '(no suffix)'}"
        raise UnsupportedFileError(path, reason, f"convert it to one of: {_supported()}")
    single = SUFFIXES[suffix]
    return lambda path, limits: (single(path, limits),)


def _check_size(path: Path, limits: Limits) -> None:
    size = path.stat().st_size
    if size == 0:
        raise EmptyFileError(path)
    limits.check_bytes(path, size)


def _is_folder(path: Path) -> bool:
    """Whether this is a folder; a name that the system cannot take is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _canonical(path: Path) -> Path:
    """The path without links and dots, or as it is where the system cannot take the name."""
    try:
        return path.resolve()
    except (OSError, ValueError):
        return path


def _known() -> set[str]:
    return {*SUFFIXES, *COLLECTIONS}


def _supported() -> str:
    return ", ".join(sorted(_known()))
