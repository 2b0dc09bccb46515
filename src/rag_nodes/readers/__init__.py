"""Files in, LlamaIndex documents out: one `Document` per file, text and page map complete.

`read` reads one file and raises a typed error; `read_all` reads many, walks folders, and reports
each file as a row, so that one bad file never stops the rest. PyMuPDF is imported only when the
first PDF is read, LlamaIndex only when the first document is built.
"""

from __future__ import annotations

from rag_nodes.readers.base import Limits, Reader, Reading
from rag_nodes.readers.registry import SUFFIXES, ReadResult, read, read_all

__all__ = ["SUFFIXES", "Limits", "ReadResult", "Reader", "Reading", "read", "read_all"]
