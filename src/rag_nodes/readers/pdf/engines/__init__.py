"""PDF libraries behind one protocol; only the modules of this folder import them."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from rag_nodes.core.errors import MissingPdfEngineError
from rag_nodes.readers.pdf.engines.mupdf import PyMuPDFEngine
from rag_nodes.readers.pdf.engines.pdfium import PDFiumEngine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from rag_nodes.core.metadata import PdfEngineName
    from rag_nodes.readers.base import Limits
    from rag_nodes.readers.pdf.engines.protocol import EngineDocument, PdfEngine

    EngineName = Literal["pymupdf", "pdfium"]

ENGINES: Mapping[EngineName, PdfEngine] = {"pymupdf": PyMuPDFEngine(), "pdfium": PDFiumEngine()}
"""Engines by their names."""
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
    """Open a PDF with the engine that the limits name; errors are those of `PdfEngine.opened`."""
    return ENGINES[engine_name(limits.pdf_engine)].opened(path, limits)
