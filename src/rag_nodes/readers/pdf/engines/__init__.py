"""PDF libraries behind one protocol; only the modules of this folder import them."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from rag_nodes.core.errors import MissingPdfEngineError
from rag_nodes.readers.pdf.engines import mupdf, pdfium

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from rag_nodes.core.metadata import PdfEngineName
    from rag_nodes.readers.base import Limits
    from rag_nodes.readers.pdf.engines.protocol import EngineDocument

    EngineName = Literal["pymupdf", "pdfium"]
    OpenPdf = Callable[[Path, Limits], AbstractContextManager[EngineDocument]]

ENGINES: Mapping[EngineName, OpenPdf] = {"pymupdf": mupdf.opened, "pdfium": pdfium.opened}
"""Functions that open a PDF, by the name of the engine; see `opened`."""
LIBRARIES: Mapping[EngineName, str] = {"pymupdf": "pymupdf", "pdfium": "pypdfium2"}
"""Module, and distribution, of each engine; "auto" takes the first that is installed."""


def engine_name(asked: PdfEngineName) -> EngineName:
    """Return the engine that "auto" stands for; any other name as it is.

    Raises:
        MissingPdfEngineError: no engine is installed.
    """
    if asked != "auto":
        return asked
    for name, library in LIBRARIES.items():
        if find_spec(library):
            return name
    raise MissingPdfEngineError


def versions() -> dict[str, str]:
    """Return the engines that are installed, that of "auto" first, with their versions."""
    return {name: version(library) for name, library in LIBRARIES.items() if find_spec(library)}


def opened(path: Path, limits: Limits) -> AbstractContextManager[EngineDocument]:
    """Open a PDF whose pages can be counted, with the engine that the limits name.

    Raises:
        MissingExtraError: the library is not installed.
        CorruptFileError: the file is damaged too much.
        MisnamedFileError: it opens as another kind of document.
        EncryptedFileError: it asks for a password.
        NoPagesError: it has no page.
        FileTooLargeError: it has more pages than the limits allow.
        ReadMemoryError: no memory is left to open it.
    """
    return ENGINES[engine_name(limits.pdf_engine)](path, limits)
