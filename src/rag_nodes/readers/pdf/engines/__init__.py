"""PDF libraries behind one protocol; only the modules of this folder import them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.engines.mupdf import PyMuPDFEngine
from rag_nodes.readers.pdf.engines.protocol import EngineError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from rag_nodes.readers.base import Limits
    from rag_nodes.readers.pdf.engines.protocol import EngineDocument

__all__ = ["EngineError", "opened"]


def opened(path: Path, limits: Limits) -> AbstractContextManager[EngineDocument]:
    """Open a PDF; errors are those of `Engine.opened`."""
    return PyMuPDFEngine().opened(path, limits)
