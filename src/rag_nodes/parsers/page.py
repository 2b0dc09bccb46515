"""The pages of a document as they are, the baseline other strategies are measured against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from llama_index.core.bridge.pydantic import Field

from rag_nodes.core import metadata as keys
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.sizes import MIN_TOKENS
from rag_nodes.parsers.source import ChunkSpan, SourceText
from rag_nodes.text.graphemes import boundary_at_or_before
from rag_nodes.text.spans import Span, trimmed, with_indentation


class PageNodeParser(SpanNodeParser):
    """Makes one node of each page; a page over the size is split and its parts numbered.

    Pages are those the reader found (`page_starts` in the document's metadata); a blank one gives
    no node. Splits inside a page fall between blocks, then sentences or lines, then words. A
    document without pages counts as a single page, and so does a bare text.

    Args:
        chunk_size: maximum tokens of a node. The default leaves all but the densest pages whole.

    Raises:
        ConfigurationError: the size is below what one character can take.

    Examples:
        >>> from rag_nodes import PageNodeParser
        >>> from llama_index.core.schema import Document
        >>> document = Document(text="First page. Second page.", metadata={"page_starts": [0, 12]})
        >>> [node.text for node in PageNodeParser()([document])]
        ['First page.', 'Second page.']
    """

    output_version: ClassVar[int] = 3
    """3: a list item wrapped over several lines is split between its sentences."""

    chunk_size: int = Field(default=2000, ge=MIN_TOKENS)

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        """Pages, and the parts of long ones."""
        packer = source.packer
        for page in _pages(source.text, source.page_breaks):
            parts = list(packer.pieces(page, self.chunk_size))
            for number, span in enumerate(parts, 1):
                facts: dict[str, Any] = {}
                if len(parts) > 1:
                    facts = {keys.PART: number, keys.PARTS: len(parts)}
                elif not source.page_breaks:
                    facts[keys.WHOLE_DOCUMENT] = True
                yield ChunkSpan(*span, facts)


def _pages(text: str, breaks: Sequence[int]) -> Iterator[Span]:
    """Visible pages; a break inside a grapheme cluster falls before it."""
    start = 0
    for wanted in (*breaks, len(text)):
        end = boundary_at_or_before(text, wanted, start)
        page = trimmed(text, start, end)
        if page.length:
            yield Span(with_indentation(text, start, page.start), page.end)
        start = end
