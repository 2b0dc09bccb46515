"""Readers by the suffix of their files, and reading a file in this process."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import RagNodesError, ReadError, ReadMemoryError, UnsupportedFileError
from rag_nodes.readers.base import CollectionReader, Limits, Reader, Reading
from rag_nodes.readers.crawl import read_firecrawl
from rag_nodes.readers.html import read_html
from rag_nodes.readers.markdown import read_markdown
from rag_nodes.readers.pdf import engines, read_pdf
from rag_nodes.readers.plain import read_plain
from rag_nodes.readers.spreadsheet import read_spreadsheet
from rag_nodes.readers.tabular import read_tabular
from rag_nodes.readers.word import read_word
from rag_nodes.text.formats import SOURCE_CODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from rag_nodes.core.metadata import PdfEngineName

    Outcomes = Iterator[Reading | ReadError]

SUFFIXES: dict[str, Reader] = {
    **dict.fromkeys(SOURCE_CODE, read_plain),
    ".csv": read_tabular,
    ".docx": read_word,
    ".htm": read_html,
    ".html": read_html,
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".mdx": read_markdown,
    ".pdf": read_pdf,
    ".rst": read_plain,
    ".text": read_plain,
    ".tsv": read_tabular,
    ".txt": read_plain,
    ".xhtml": read_html,
    ".xlsm": read_spreadsheet,
    ".xlsx": read_spreadsheet,
}
"""Reader of each suffix of files that are one document, lower case."""

COLLECTIONS: dict[str, CollectionReader] = {".json": read_firecrawl, ".jsonl": read_firecrawl}
"""Reader of each suffix of files that hold many documents. No other table of suffixes exists."""

LIBRARIES: Mapping[Callable[..., Any], tuple[str, ...]] = {
    read_firecrawl: ("ijson",),
    read_html: ("justhtml", "markdownify"),
    read_spreadsheet: ("openpyxl",),
    read_word: ("lxml.etree",),
}
"""Libraries that a reader imports. A child process does so before the clock starts; readers that
are not named are our own linear code, which may run in this process. The reader of PDFs imports
the library of its engine."""
LARGE = 16 * 1024 * 1024
"""Bytes from which even these go to a child, for its limits of time and memory."""

_SHIPPED: Mapping[str, Callable[..., Any]] = {**SUFFIXES, **COLLECTIONS}
"""The readers a child process has; one that a program puts in their place runs in the program."""


def supported() -> str:
    """Return the suffixes that have a reader, for messages, without those of source code."""
    return ", ".join(sorted({*SUFFIXES, *COLLECTIONS} - SOURCE_CODE))


def libraries_of(suffix: str, pdf_engine: PdfEngineName = "auto") -> tuple[str, ...]:
    """Return the libraries that the reader of a suffix imports."""
    if suffix == ".pdf":
        return (engines.LIBRARIES[engines.engine_name(pdf_engine)],)
    return LIBRARIES.get(_SHIPPED.get(suffix, read_plain), ())


def needs_child(path: Path, size: int, limits: Limits) -> bool:
    """Return True if a file of so many bytes is to be read in a child process.

    A function of the user for OCR stays in this process, and PDFs with it.

    No process is started only to find that a library is not installed.

    Raises:
        MissingPdfEngineError: nothing that reads a PDF is installed.
    """
    suffix = path.suffix.lower()
    shipped = _SHIPPED.get(suffix)
    if shipped is None or shipped is not (COLLECTIONS.get(suffix) or SUFFIXES.get(suffix)):
        return False
    if suffix == ".pdf" and callable(limits.ocr):
        return False
    if libraries := libraries_of(suffix, limits.pdf_engine):
        return all(find_spec(library.partition(".")[0]) for library in libraries)
    return size > LARGE


def read_here(path: Path, limits: Limits) -> Outcomes:
    """Read a file in this process, by the reader of its suffix: one reading per document, lazily.

    An error stands in place of a single bad document. No limit of time and memory is
    held here.

    Raises:
        ReadError: the file, or what is left of it, cannot be read.
        MissingExtraError: the file needs an optional dependency that is not installed.
    """
    with typed_errors(path):
        for outcome in _read(path, limits):
            if isinstance(outcome, Reading):
                limits.check(path, len(outcome.text), "characters")
            yield outcome


def _read(path: Path, limits: Limits) -> Iterable[Reading | ReadError]:
    suffix = path.suffix.lower()
    if many := COLLECTIONS.get(suffix):
        return many(path, limits)
    if suffix not in SUFFIXES:
        reason = f"no reader for files of type {suffix or '(no suffix)'}"
        raise UnsupportedFileError(path, reason, f"convert it to one of: {supported()}")
    return (SUFFIXES[suffix](path, limits),)


@contextmanager
def typed_errors(path: Path) -> Iterator[None]:
    """Raise a `ReadError` that names the file in place of whatever a reader did not foresee."""
    try:
        yield
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
