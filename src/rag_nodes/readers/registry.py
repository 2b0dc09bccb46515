"""The suffix decides the reader: paths in, documents or typed errors out."""

from __future__ import annotations

import logging
import os
import time
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
from rag_nodes.readers.base import Limits, Reader, build_document
from rag_nodes.readers.markdown import read_markdown
from rag_nodes.readers.pdf import read_pdf
from rag_nodes.readers.plain import read_plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llama_index.core.schema import Document

SUFFIXES: dict[str, Reader] = {
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".pdf": read_pdf,
    ".text": read_plain,
    ".txt": read_plain,
}
"""Reader of each file suffix, lower case. The only registry of readers."""

DEFAULT_LIMITS = Limits()

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """One row of `read_all`: a document, or why there is none.

    Attributes:
        path: the file as found.
        document: the document; None where the file could not be read.
        error: the reason; None where it could.
        seconds: wall-clock time spent on this file.
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
        ReadError: a subclass per kind of bad file; the message names file and remedy.
        MissingExtraError: the file needs an optional dependency that is not installed.
    """
    path = Path(path)
    try:
        reader = _reader_for(path)
        _check_size(path, limits)
        reading = reader(path, limits)
        limits.check_characters(path, len(reading.text))
        return build_document(path.resolve(), reading)
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
    """Read files and folders one after another, a row per file.

    Folders are walked in sorted order; hidden entries, other suffixes and links that lead out of
    the folder are skipped. A file reached twice is read once.

    Args:
        paths: files and folders.
        limits: how large each file may be.

    Yields:
        One result per file, as soon as it is read; a bad file is a row with its error.
    """
    seen: set[Path] = set()
    for path in (found for given in paths for found in _expand(Path(given))):
        canonical = path.resolve()
        if canonical not in seen:
            seen.add(canonical)
            yield _row(path, limits)


def _row(path: Path, limits: Limits) -> ReadResult:
    started = time.perf_counter()
    document, failure = None, None
    try:
        if path.is_dir():  # only a folder in which nothing was found gets here
            raise UnsupportedFileError(
                path, "no file of a supported kind in this folder", f"supported: {_supported()}"
            )
        document = read(path, limits=limits)
    except ReadError as error:
        failure = error
    except MissingExtraError as error:
        # The other files of the call need no PyMuPDF; they go on.
        failure = UnsupportedFileError(path, *str(error).split(". ", maxsplit=1))
        failure.__cause__ = error
    if failure is not None:
        _log.info("not read: %s", failure)
    return ReadResult(path, document, failure, time.perf_counter() - started)


def _expand(path: Path) -> Iterator[Path]:
    """Yield the files of a folder, or the path itself."""
    if not path.is_dir():
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
            if name.startswith(".") or file.suffix.lower() not in SUFFIXES:
                continue
            if file.resolve().is_relative_to(root):
                yield file


def _reader_for(path: Path) -> Reader:
    if path.is_dir():
        raise FileMissingError(path, "this is a folder, not a file", "name a file in it")
    if not path.exists():
        raise FileMissingError(path)
    if not path.is_file():
        raise FileMissingError(path, "this is not a regular file")
    reader = SUFFIXES.get(path.suffix.lower())
    if reader is None:
        reason = f"no reader for files of type {path.suffix.lower() or '(no suffix)'}"
        raise UnsupportedFileError(path, reason, f"convert it to one of: {_supported()}")
    return reader


def _check_size(path: Path, limits: Limits) -> None:
    size = path.stat().st_size
    if size == 0:
        raise EmptyFileError(path)
    limits.check_bytes(path, size)


def _supported() -> str:
    return ", ".join(sorted(SUFFIXES))
