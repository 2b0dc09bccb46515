"""Paragraphs packed to a token size, neighbours sharing whole sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from llama_index.core.bridge.pydantic import Field

from rag_nodes.core import metadata as keys
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.sizes import MIN_TOKENS, best_start, starts_within
from rag_nodes.parsers.source import ChunkSpan, SourceText
from rag_nodes.text.spans import trimmed


class TokenOverlapNodeParser(SpanNodeParser):
    """Packs whole paragraphs up to a token size; neighbours share whole sentences.

    A paragraph that does not fit is split between sentences, a sentence that does not fit between
    its lines, a line between words. Neighbours share lines or words of running text where not even
    one sentence is within the overlap. Tables and lists stay together where they fit and are split
    between rows or items where they do not.

    Trade-offs: 300 to 500 tokens answer precise questions, 1000 to 1500 keep more context
    together, 750 is the middle. The limit holds with the overlap included, re-counted on the
    node's own text.

    Args:
        chunk_size: maximum tokens of a node.
        chunk_overlap: maximum tokens that neighbours share, in whole sentences if one fits.
        whole_document_below: a document with fewer tokens stays one node; 0 turns it off.

    Raises:
        ConfigurationError: the overlap is not smaller than the size.

    Examples:
        >>> from rag_nodes import TokenOverlapNodeParser
        >>> parser = TokenOverlapNodeParser(chunk_size=10, chunk_overlap=4, whole_document_below=0)
        >>> parser.split_text("One sentence here. Two more now. A third one.")
        ['One sentence here. Two more now.', 'Two more now. A third one.']
    """

    output_version: ClassVar[int] = 3
    """3: a list item wrapped over several lines is split between its sentences."""

    chunk_size: int = Field(default=750, ge=MIN_TOKENS)
    chunk_overlap: int = Field(default=100, ge=0)
    whole_document_below: int = Field(default=500, ge=0)

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        """Paragraphs and sentences packed from the front."""
        packer = source.packer
        start, stop = packer.start, packer.end
        if start == stop:
            return
        tokens = packer.count(start, stop)
        if tokens < self.whole_document_below and tokens <= self.chunk_size:
            yield ChunkSpan(start, stop, {keys.WHOLE_DOCUMENT: True})
            return
        after = start
        while after < stop:
            end = packer.end_of_piece(start, after, stop, self.chunk_size)
            if end == after:
                # One cluster of characters is larger than what the overlap leaves room for.
                start = packer.visible_from(after)
                end = packer.end_of_piece(start, start, stop, self.chunk_size)
                if end == start:
                    end = packer.cluster_end(start, self.chunk_size)
            span = trimmed(source.text, start, end)
            if span.end > start:  # not just an indentation that alone exceeds the size
                yield ChunkSpan(start, span.end)
            if end >= stop:
                return
            shared = starts_within(packer, start, end, self.chunk_overlap)
            start, after = best_start(packer, shared, end, self.chunk_size), end
