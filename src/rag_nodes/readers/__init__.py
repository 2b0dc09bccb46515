"""Files in, LlamaIndex documents out: one `Document` per file, or per page of a crawl.

`read` reads one file and raises a typed error; `read_all` reads many, walks folders, and reports
each document as a row, so that one bad file never stops the rest. PDF engines, lxml and the other
libraries of single formats are imported only when the first such file is read, LlamaIndex only
when the first document is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.import_paths import lazy_getattr
from rag_nodes.readers.base import (
    CollectionReader,
    Limits,
    Reader,
    Reading,
    build_document,
    document_id,
)
from rag_nodes.readers.exclude import Exclusion
from rag_nodes.readers.file_pages import (
    FilePages,
    blank_page,
    blank_pages,
    group_pages,
    join_pages,
    warn_of_random_ids,
    with_stable_ids,
)
from rag_nodes.readers.files import (
    ReadResult,
    listed,
    read,
    read_all,
    read_listed,
    readings,
)
from rag_nodes.readers.kinds import COLLECTIONS, SUFFIXES
from rag_nodes.readers.lines import Lines, has_lines, lines_of, node_lines
from rag_nodes.readers.locating import locate, node_boxes
from rag_nodes.readers.ocr import Ocr, OcrWord
from rag_nodes.readers.pdf.engines import versions as pdf_engines
from rag_nodes.readers.pdf.quotes import PlacedBox
from rag_nodes.readers.walk import ListedFile, Skipped

if TYPE_CHECKING:
    from rag_nodes.readers.llama_index import RagNodesReader

__all__ = [
    "COLLECTIONS",
    "SUFFIXES",
    "CollectionReader",
    "Exclusion",
    "FilePages",
    "Limits",
    "Lines",
    "ListedFile",
    "Ocr",
    "OcrWord",
    "PlacedBox",
    "RagNodesReader",
    "ReadResult",
    "Reader",
    "Reading",
    "Skipped",
    "blank_page",
    "blank_pages",
    "build_document",
    "document_id",
    "group_pages",
    "has_lines",
    "join_pages",
    "lines_of",
    "listed",
    "locate",
    "node_boxes",
    "node_lines",
    "pdf_engines",
    "read",
    "read_all",
    "read_listed",
    "readings",
    "warn_of_random_ids",
    "with_stable_ids",
]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__ = lazy_getattr(__name__, {"llama_index": ["RagNodesReader"]})
