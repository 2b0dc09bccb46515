"""PDFium as an engine, through pypdfium2; only the modules of this folder import it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rag_nodes.core.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rag_nodes.readers.base import Limits
    from rag_nodes.readers.pdf.engines.pdfium.document import PDFiumDocument

_lock = threading.Lock()
"""PDFium is not thread-safe."""


@contextmanager
def opened(path: Path, limits: Limits) -> Iterator[PDFiumDocument]:
    """Open a document with PDFium, which refuses what is damaged too much; see `engines.opened`."""
    try:
        import pypdfium2  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("PDFium", "pdfium") from error
    from rag_nodes.readers.pdf.engines.pdfium.document import opened_document

    with _lock, opened_document(path, limits) as document:
        yield document
