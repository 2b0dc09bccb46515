"""A PDF file in, an open PyMuPDF document out; and what PyMuPDF's errors mean."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import (
    CorruptFileError,
    EncryptedFileError,
    MisnamedFileError,
    MissingExtraError,
    NoPagesError,
    ReadError,
    ReadMemoryError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from rag_nodes.readers.base import Limits

_CODE = re.compile(r"^code=\d+: ")
_ALLOCATION = re.compile(r"\b[mc]?(?:re)?alloc\b.*\bfailed|bad_alloc")

_lock = threading.Lock()
"""MuPDF has process-wide state and is not thread-safe."""


@contextmanager
def opened(path: Path, limits: Limits) -> Iterator[Any]:
    """Open a PDF whose pages can be read; errors are those of `extract`."""
    pymupdf = load_pymupdf()
    with _lock, _quiet(pymupdf):
        try:
            document = pymupdf.open(str(path), filetype="pdf")
        except Exception as error:
            raise _damaged(path, error) from error
        with document:
            _check(document, path, limits)
            yield document


def load_pymupdf() -> ModuleType:
    """Import PyMuPDF, which takes seconds; raises MissingExtraError."""
    try:
        import pymupdf
    except ImportError as error:
        raise MissingExtraError("PyMuPDF", "pdf") from error
    return pymupdf


@contextmanager
def _quiet(pymupdf: ModuleType) -> Iterator[None]:
    """Keep MuPDF from writing to stderr, and leave its switches as they were."""
    tools = pymupdf.TOOLS
    errors, warnings = tools.mupdf_display_errors(), tools.mupdf_display_warnings()
    tools.mupdf_display_errors(False)  # noqa: FBT003 - PyMuPDF's signature
    tools.mupdf_display_warnings(False)  # noqa: FBT003 - PyMuPDF's signature
    try:
        yield
    finally:
        tools.mupdf_display_errors(errors)
        tools.mupdf_display_warnings(warnings)


def _check(document: Any, path: Path, limits: Limits) -> None:
    if not document.is_pdf:
        raise MisnamedFileError(path, "the content is not a PDF document")
    if document.needs_pass:
        raise EncryptedFileError(path)
    try:
        count = document.page_count
    except Exception as error:
        raise _damaged(path, error) from error
    if count <= 0:
        raise NoPagesError(path)
    limits.check_pages(path, count)


def _damaged(path: Path, error: Exception) -> ReadError:
    if is_out_of_memory(error):
        return ReadMemoryError(path)
    return CorruptFileError(path, f"the file is damaged: {first_line(error)}")


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that no memory is left, in the words of Python, MuPDF or C++."""
    return isinstance(error, MemoryError) or _ALLOCATION.search(str(error)) is not None


def first_line(error: Exception) -> str:
    """The message of an error without MuPDF's code, on one line of at most 200 characters."""
    message = _CODE.sub("", str(error).strip()) or type(error).__name__
    return message.splitlines()[0][:200]
