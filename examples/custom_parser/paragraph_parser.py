"""One node per Markdown block: a parser of your own is a class with one method."""

from collections.abc import Iterator

from rag_nodes.parsers import ChunkSpan, SourceText, SpanNodeParser


class ParagraphNodeParser(SpanNodeParser):
    """Makes a node of every paragraph, heading, list, table and code block."""

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        """Where each block starts and ends; ids, offsets, pages and neighbours follow from it."""
        return (ChunkSpan(block.start, block.end) for block in source.packer.blocks)
