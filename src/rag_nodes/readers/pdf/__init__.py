"""PDF files in, text with Markdown headings and an exact page map out.

The stages, one module each: `extract` (the only one that knows PyMuPDF) takes plain lines from
the pages; `furniture` removes running headers, footers and page numbers; `rows` rejoins what
shares a line; `outline` or `fonts` find the headings; `paragraphs` makes blocks of the lines,
`joints` rejoins words and lines; `assemble` joins the pages. Everything after `extract` is a
pure function of its lines, so extraction can move to a process of its own.
"""

from __future__ import annotations

from rag_nodes.readers.pdf.read import Layout, read_pdf

__all__ = ["Layout", "read_pdf"]
