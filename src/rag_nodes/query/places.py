"""Where nodes lie, for what joins those that overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.metadata import SOURCE
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode


def document_of(node: TextNode) -> str:
    """What nodes of the same document have in common: its id, else its source."""
    return node.ref_doc_id or str(node.metadata.get(SOURCE) or node.node_id)


def span_of(node: TextNode) -> Span | None:
    """The node's characters in its document; None where offsets are missing or contradict it."""
    start, end = node.start_char_idx, node.end_char_idx
    if start is None or end is None or end - start != len(node.text):
        return None
    return Span(start, end)
