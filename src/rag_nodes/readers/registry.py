"""The suffix decides the reader: paths in, documents or typed errors out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import (
    EmptyFileError,
    FileMissingError,
    MissingExtraError,
    RagNodesError,
    ReadError,
    ReadMemoryError,
    UnsupportedFileError,
)
from rag_nodes.readers.base import CollectionReader, Limits, Reader, Reading, build_document
from rag_nodes.readers.folders import canonical, files_at, is_folder
from rag_nodes.readers.html import read_html
from rag_nodes.readers.isolation import needs_child, pool
from rag_nodes.readers.markdown import read_markdown
from rag_nodes.readers.pdf import Layout, read_pdf
from rag_nodes.readers.plain import read_plain
from rag_nodes.readers.tabular import read_tabular
from rag_nodes.readers.word import read_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llama_index.core.schema import Document

    Outcomes = Iterator[Reading | ReadError]


def _read_crawl(
    path: Path, limits: Limits, *, keep_duplicates: bool = False
) -> Iterator[Reading | ReadError]:
    from rag_nodes.readers.crawl.reader import read_firecrawl

    return read_firecrawl(path, limits, keep_duplicates=keep_duplicates)


SUFFIXES: dict[str, Reader] = {
    ".csv": read_tabular,
    ".docx": read_word,
    ".htm": read_html,
    ".html": read_html,
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".pdf": read_pdf,
    ".rst": read_plain,
    ".text": read_plain,
    ".tsv": read_tabular,
    ".txt": read_plain,
    ".xhtml": read_html,
}
"""Reader of each suffix of files that are one document, lower case."""

COLLECTIONS: dict[str, CollectionReader] = {".json": _read_crawl, ".jsonl": _read_crawl}
"""Reader of each suffix of files that hold many documents. No other registry of readers exists."""

DEFAULT_LIMITS = Limits()

_KNOWN_TO_CHILDREN = {**SUFFIXES, **COLLECTIONS}
"""The readers a child process has; one that a program puts in their place runs in the program."""

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
            "cut them with `rag-nodes docs` or look at them with `rag-nodes read`; in Python, "
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
    try:
        _check_file(path, limits)
        options = _Options(layout, keep_duplicates, started)
        reader = _reader_for(path, options, isolate=isolate)
        for outcome in reader(path, limits):
            if isinstance(outcome, Reading):
                limits.check_characters(path, len(outcome.text))
            yield outcome
    except RagNodesError:
        raise
    except MemoryError as error:
        raise ReadMemoryError(path) from error
    except OSError as error:
        reason = f"the system refused to read it: {error.strerror or error}"
        raise ReadError(path, reason, "check the path and its permissions") from error
    except Exception as error:
        reason = f"unexpected {type(error).__name__}: {error}"
        raise ReadError(path, reason, "please report this file as a bug") from error


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
    # Every document needs it, and the first one would seem to take seconds.
    import_module("llama_index.core.schema")
    seen: set[Path] = set()
    for path in (found for given in paths for found in files_at(Path(given), SUFFIXES)):
        place = canonical(path)
        if place not in seen:
            seen.add(place)
            yield from _rows(path, partial(readings, limits=limits, isolate=isolate, layout=layout))


class _Clock:
    """Measures one document at a time."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started


def _rows(path: Path, read_one: Callable[..., Outcomes]) -> Iterator[ReadResult]:
    clock = _Clock()
    for outcome in _outcomes(path, partial(read_one, started=clock.start)):
        document = None
        if isinstance(outcome, ReadError):
            _log.info("not read: %s", outcome)
        else:
            document = build_document(path.resolve(), outcome)
        error = outcome if isinstance(outcome, ReadError) else None
        yield ReadResult(path, document, error, clock.seconds)
        clock.start()


def _outcomes(path: Path, read_one: Callable[[Path], Outcomes]) -> Outcomes:
    """The readings of a file, with the error that ends it as the last one."""
    try:
        if is_folder(path):  # only a folder in which nothing was found gets here
            raise UnsupportedFileError(
                path, "no file of a supported kind in this folder", f"supported: {_supported()}"
            )
        yield from read_one(path)
    except ReadError as error:
        yield error
    except MissingExtraError as error:
        # The other files of the call need no PyMuPDF; they go on.
        failure = UnsupportedFileError(path, *str(error).split(". ", maxsplit=1))
        failure.__cause__ = error
        yield failure


class _Options(NamedTuple):
    """What a caller may want of one kind of file."""

    layout: Layout | None
    keep_duplicates: bool
    started: Callable[[], None]


def _reader_for(
    path: Path, options: _Options, *, isolate: bool
) -> Callable[[Path, Limits], Iterable[Reading | ReadError]]:
    suffix = path.suffix.lower()
    if suffix not in _known():
        reason = f"no reader for files of type {suffix or '(no suffix)'}"
        raise UnsupportedFileError(path, reason, f"convert it to one of: {_supported()}")
    reader = COLLECTIONS.get(suffix) or SUFFIXES[suffix]
    if isolate and reader is _KNOWN_TO_CHILDREN.get(suffix) and needs_child(path):
        given = options._asdict()
        return partial(pool.stream if suffix in COLLECTIONS else pool.read, **given)
    if reader is _read_crawl:
        return partial(_read_crawl, keep_duplicates=options.keep_duplicates)
    if suffix in COLLECTIONS:
        return COLLECTIONS[suffix]
    single = partial(read_pdf, layout=options.layout) if suffix == ".pdf" else SUFFIXES[suffix]
    return lambda path, limits: (single(path, limits),)


def _check_file(path: Path, limits: Limits) -> None:
    if path.is_dir():
        raise FileMissingError(path, "this is a folder, not a file", "name a file in it")
    if not path.exists():
        raise FileMissingError(path)
    if not path.is_file():
        raise FileMissingError(path, "this is not a regular file")
    size = path.stat().st_size
    if size == 0:
        raise EmptyFileError(path)
    limits.check_bytes(path, size)


def _known() -> set[str]:
    return {*SUFFIXES, *COLLECTIONS}


def _supported() -> str:
    return ", ".join(sorted(_known()))
