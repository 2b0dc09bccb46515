"""PDF files in, text with Markdown headings and an exact page map out.

The stages, one module each: an engine of `engines` opens the file; `extract` takes plain `lines`
from its pages, with `tables` and `links` as they are drawn; `boilerplate` removes running
headers, footers and page numbers; `joints` rejoins rows, words and lines; `outline` or `fonts` find
the headings; `paragraphs` makes blocks of the lines and one text of the pages. Everything after
`extract` is a pure function of its lines. `layout` holds the types that they share.
"""

from __future__ import annotations

from rag_nodes.readers.pdf.read import read_pdf

__all__ = ["read_pdf"]
