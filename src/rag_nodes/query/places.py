"""Where nodes lie in their documents: characters, pages, headings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llama_index.core.schema import RelatedNodeInfo

from rag_nodes.metadata import (
    HEADING_PATH,
    HEADINGS_INSIDE,
    PAGE_END,
    PAGE_LABEL,
    PAGE_START,
    SOURCE,
)
from rag_nodes.text.spans import PageMap, Span

if TYPE_CHECKING:
    from llama_index.core.schema import NodeRelationship, TextNode

    from rag_nodes.store import Hit


def document_of(node: TextNode) -> str:
    """What nodes of the same document have in common: its id, else its source."""
    return node.ref_doc_id or str(node.metadata.get(SOURCE) or node.node_id)


def span_of(node: TextNode) -> Span | None:
    """The node's characters in its document; None where offsets are missing or contradict it."""
    start, end = node.start_char_idx, node.end_char_idx
    if start is None or end is None or end - start != len(node.text):
        return None
    return Span(start, end)


def related(node: TextNode, relationship: NodeRelationship) -> str | None:
    """The id of the one node that a node has this relationship to; None where there is none."""
    info = node.relationships.get(relationship)
    return info.node_id if isinstance(info, RelatedNodeInfo) else None


def found_in(hit: Hit) -> Span | None:
    """The characters of `Hit.found` in their document; None where their place is unknown."""
    return span_of(hit.found)


def headings_of(node: TextNode, start: int) -> tuple[str, ...]:
    """Headings above an offset inside a node, outermost first."""
    path = node.metadata.get(HEADING_PATH) or ()
    if start and node.start_char_idx is not None:
        for offset, inner in node.metadata.get(HEADINGS_INSIDE) or ():
            if offset <= node.start_char_idx + start:
                path = inner
    return tuple(path)


def pages_of(node: TextNode, start: int, end: int) -> tuple[int | None, int | None]:
    """First and last page of some characters of a node."""
    pages = PageMap.of(node.metadata)
    if pages is None:
        page = _foreign_page(node.metadata.get(PAGE_LABEL))
        return page, page
    if node.start_char_idx is None:
        first = int(node.metadata[PAGE_START])
        return first, int(node.metadata.get(PAGE_END) or first)
    found = pages.facts(node.start_char_idx + start, node.start_char_idx + end)
    return found[PAGE_START], found[PAGE_END]


def _foreign_page(label: object) -> int | None:
    """The page that a reader of LlamaIndex notes: documents are pages there, named as printed."""
    text = str(label or "")
    return int(text) if text.isascii() and text.isdecimal() and int(text) > 0 else None
