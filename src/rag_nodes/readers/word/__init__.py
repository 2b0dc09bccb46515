"""Word files (DOCX) in, Markdown out; lxml is imported when the first one is read."""

from __future__ import annotations

from rag_nodes.readers.word.reader import read_word

__all__ = ["read_word"]
