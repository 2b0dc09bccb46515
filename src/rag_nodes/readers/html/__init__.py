"""HTML pages in, Markdown out: what a visitor reads, without what a browser runs or hides."""

from rag_nodes.readers.html.reader import read_html, reading_of_html

__all__ = ["read_html", "reading_of_html"]
