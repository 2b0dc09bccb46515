"""Paths in, documents or typed errors out: one file, or many files and folders."""

from __future__ import annotations

import logging
import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import (
    EmptyFileError,
    FileMissingError,
    MissingExtraError,
    ReadError,
    UnsupportedFileError,
)
from rag_nodes.readers.base import Limits, Reading, build_document
from rag_nodes.readers.isolation import pool
from rag_nodes.readers.kinds import (
    COLLECTIONS,
    SUFFIXES,
    ReadOptions,
    needs_child,
    read_here,
    typed_errors,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llama_index.core.schema import Document

    from rag_nodes.readers.kinds import Outcomes
    from rag_nodes.readers.pdf import Layout
    from rag_nodes.readers.shards import FileShard

DEFAULT_LIMITS = Limits()

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """One row of `read_all`: a document, or why there is none.

    Attributes:
        path: the file as found.
        document: the document; None where the file, or one page of a crawl, could not be read.
        error: the reason; None where it could.
        seconds: wall-clock time spent on this document; loading libraries and waiting for other
            threads' files are not counted.
    """

    path: Path
    document: Document | None
    error: ReadError | None
    seconds: float


class ListedFile(NamedTuple):
    """A file, as far as it is known without being opened.

    Attributes:
        path: as found.
        place: its canonical path.
        size: in bytes; None where it cannot be asked, or is no regular file.
        mtime_ns: time of its last change, in nanoseconds since 1970; 0 where that is so.
    """

    path: Path
    place: str
    size: int | None
    mtime_ns: int


def read(
    path: str | Path,
    *,
    limits: Limits = DEFAULT_LIMITS,
    isolate: bool = True,
    layout: Layout | None = None,
) -> Document:
    """Read one file into one document.

    Args:
        path: a file whose suffix is in `SUFFIXES`.
        limits: how large the file may be, and what reading it may take.
        isolate: read in a child process whatever a third-party parser reads, so that a crash, a
            hang or a bomb is a `ReadError`; see `rag_nodes.readers.isolation`.
        layout: of a PDF, see `read_pdf`; other files have none.

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
            path,
            "this kind of file holds many documents, not one",
            "split them with `rag-nodes docs` or look at them with `rag-nodes read`; in Python, "
            "read them with read_all",
        )
    outcome = next(readings(path, limits=limits, isolate=isolate, layout=layout))
    if isinstance(outcome, ReadError):
        raise outcome
    return build_document(path.resolve(), outcome)


def readings(
    path: Path,
    *,
    limits: Limits = DEFAULT_LIMITS,
    isolate: bool = True,
    layout: Layout | None = None,
    keep_duplicates: bool = False,
    started: Callable[[], None] = lambda: None,
) -> Iterator[Reading | ReadError]:
    """Read a file of any kind as plain data, without LlamaIndex; `read` and `read_all` use it.

    Args:
        path: a file whose suffix is in `SUFFIXES` or `COLLECTIONS`.
        limits: how large the file and each document may be.
        isolate: see `read`.
        layout: see `read`.
        keep_duplicates: of a crawl, see `read_firecrawl`; other files have none.
        started: called where a child process was made ready for the file and begins to read it.

    Yields:
        One reading per document, lazily; an error in place of a document that is bad by itself.

    Raises:
        ReadError: the file, or what is left of it, cannot be read.
        MissingExtraError: the file needs an optional dependency that is not installed.
    """
    options = ReadOptions(layout, keep_duplicates)
    with typed_errors(path):
        size = _checked_size(path, limits)
        if not needs_child(path, size) or not isolate:
            yield from read_here(path, limits, options)
            return
        reader = pool.stream if path.suffix.lower() in COLLECTIONS else pool.read
        yield from reader(path, limits, options, started=started)


def read_all(
    paths: Iterable[str | Path],
    *,
    limits: Limits = DEFAULT_LIMITS,
    isolate: bool = True,
    layout: Layout | None = None,
) -> Iterator[ReadResult]:
    """Read files and folders one after another, a row per document.

    Folders are walked in sorted order; hidden entries, other suffixes and links that lead out of
    the folder are skipped. A file reached twice is read once.

    Args:
        paths: files and folders.
        limits: how large each file may be.
        isolate: see `read`.
        layout: see `read`.

    Yields:
        One result per file, or per page of a crawl, as soon as it is read; a bad file or page is
        a row with its error. A crawl that breaks off gives its good pages, then the error.
    """
    for file in listed(paths):
        yield from read_listed(file, limits=limits, isolate=isolate, layout=layout)


def read_listed(
    file: ListedFile,
    *,
    limits: Limits = DEFAULT_LIMITS,
    isolate: bool = True,
    layout: Layout | None = None,
) -> Iterator[ReadResult]:
    """As `read_all` for one file that `listed` found."""
    # Every document needs it, and the first one would seem to take seconds.
    import_module("llama_index.core.schema")
    place = Path(file.place)
    one = partial(readings, limits=limits, isolate=isolate, layout=layout)
    watch = _Stopwatch()
    for outcome in _outcomes(file, partial(one, started=watch.start)):
        document = None
        if isinstance(outcome, ReadError):
            _log.info("not read: %s", outcome)
        else:
            document = build_document(place, outcome)
        error = outcome if isinstance(outcome, ReadError) else None
        yield ReadResult(file.path, document, error, watch.seconds)
        watch.start()


def listed(paths: Iterable[str | Path], shard: FileShard | None = None) -> Iterator[ListedFile]:
    """The files that `read_all` would read, in the same order, without opening one.

    Args:
        paths: files and folders.
        shard: leave out what is in another one; None for all.
    """
    seen = set[int]()  # hashes, as a million paths would take 120 MB
    for root in map(Path, paths):
        for file in _files_at(root):
            if (shard is None or shard.holds(file.path, root)) and hash(file.place) not in seen:
                seen.add(hash(file.place))
                yield file


class _Stopwatch:
    """Measures one document at a time."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started


def _outcomes(file: ListedFile, read_one: Callable[[Path], Outcomes]) -> Outcomes:
    """The readings of a file, with the error that ends it as the last one."""
    path = file.path
    try:
        # Only a folder in which nothing was found gets here.
        if file.size is None and _is_folder(path):
            raise UnsupportedFileError(
                path,
                "no document in this folder",
                f"supported: {', '.join(sorted(SUFFIXES))}; name a crawl (.json, .jsonl) by itself",
            )
        yield from read_one(path)
    except ReadError as error:
        yield error
    except MissingExtraError as error:
        # The other files of the call need no PyMuPDF; they go on.
        failure = UnsupportedFileError(path, *str(error).split(". ", maxsplit=1))
        failure.__cause__ = error
        yield failure


def _checked_size(path: Path, limits: Limits) -> int:
    """Bytes of a file that may be read; raises ReadError where it may not."""
    if not path.exists():
        raise FileMissingError(path)
    known = path.stat()
    if stat.S_ISDIR(known.st_mode):
        raise FileMissingError(path, "this is a folder, not a file", "name a file in it")
    if not stat.S_ISREG(known.st_mode):
        raise FileMissingError(path, "this is not a regular file")
    if known.st_size == 0:
        raise EmptyFileError(path)
    limits.check(path, known.st_size, "bytes")
    return known.st_size


def _files_at(path: Path) -> Iterator[ListedFile]:
    """The files of a folder that hold a document, or the path itself.

    In sorted order, without hidden entries and links that lead out of the folder; the folder
    itself where there is no such file.

    Crawls in folders are not looked for, since hardly any JSON file in a folder is one.
    """
    found = False
    if _is_folder(path):
        root = _canonical(path)
        for file in _walk(path, str(root), root):
            found = True
            yield file
    if not found:
        yield _listed_file(path, str(_canonical(path)), path.stat)


def _is_folder(path: Path) -> bool:
    """Whether this is a folder; a name that the system cannot take is none."""
    with suppress(OSError, ValueError):
        return path.is_dir()
    return False


def _canonical(path: Path) -> Path:
    """The path without links and dots, or as it is where the system cannot take the name."""
    with suppress(OSError, ValueError):
        return path.resolve()
    return path


def _walk(folder: Path, place: str, root: Path) -> Iterator[ListedFile]:
    """The files of a folder and those below it; `place` is its canonical path."""
    entries: list[os.DirEntry[str]] = []
    with suppress(OSError), os.scandir(folder) as found:
        entries = sorted((one for one in found if one.name[0] != "."), key=attrgetter("name"))
    folders: list[os.DirEntry[str]] = []
    for entry in entries:
        if _leads_to_folder(entry):
            folders.append(entry)
        elif _suffix(entry.name) in SUFFIXES:
            path = folder / entry.name
            if not entry.is_symlink():
                yield _listed_file(path, f"{place}{os.sep}{entry.name}", entry.stat)
            elif (target := _canonical(path)).is_relative_to(root):
                yield _listed_file(path, str(target), entry.stat)
    for entry in folders:
        if not entry.is_symlink():
            yield from _walk(folder / entry.name, f"{place}{os.sep}{entry.name}", root)


def _suffix(name: str) -> str:
    """As of a path, which a million times takes long to make."""
    stem, dot, rest = name.rpartition(".")
    return f".{rest.lower()}" if stem and dot and rest else ""


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:  # of a million entries, `suppress` would be seen
        return entry.is_dir()
    except OSError:
        return False


def _listed_file(path: Path, place: str, ask: Callable[[], os.stat_result]) -> ListedFile:
    try:
        known = ask()
    except (OSError, ValueError):
        return ListedFile(path, place, None, 0)
    if stat.S_ISREG(known.st_mode):
        return ListedFile(path, place, known.st_size, known.st_mtime_ns)
    return ListedFile(path, place, None, 0)
