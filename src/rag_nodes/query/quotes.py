"""Exact slices of stored documents, put together from their chunks, to verify a quotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_nodes.core.errors import ConfigurationError, DocumentMissingError
from rag_nodes.query.gaps import gaps_between
from rag_nodes.query.locations import slice_of, span_of
from rag_nodes.text.passages import equal_in
from rag_nodes.text.spans import Span, merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.store import Store

_NAMED = 3
"""Stretches of a document that a message names."""


@dataclass(frozen=True, slots=True)
class DocumentSlice:
    """A slice of a stored document.

    Attributes:
        node: the slice, with its own offsets, pages and headings.
        unsure: white space between chunks of which only the length is stored, as offsets inside
            the slice, where it is shown as line breaks.
    """

    node: TextNode
    unsure: tuple[Span, ...] = ()

    def is_exactly(self, text: str) -> bool:
        """Return True if a text is this slice; `unsure` white space may be any white space."""
        own = self.node.text
        if len(text) != len(own):
            return False
        parts = list(text)
        for start, end in self.unsure:
            if text[start:end].isspace():
                parts[start:end] = own[start:end]
        return "".join(parts) == own

    def find(self, text: str) -> Span | None:
        """Return where the slice has a text: as it is, else in any case and white space."""
        start = self.node.text.find(text)
        return Span(start, start + len(text)) if start >= 0 else equal_in(text, self.node.text)


def quote(store: Store, collection: str, document_id: str, span: Span) -> DocumentSlice:
    """Return a slice of a document that is stored in a collection; no file is read.

    Args:
        store: where the chunks are.
        collection: name of the collection that holds them.
        document_id: id of the document.
        span: offsets of the slice in the document's text.

    Raises:
        DocumentMissingError: the collection holds nothing of this document.
        ConfigurationError: no chunk holds some of these characters.
        StoreError: the store failed.
    """
    nodes = store.fetch(collection, list(store.stored(collection, document_id)))
    if not nodes:
        raise DocumentMissingError(
            "no stored document has this id; list the documents for the ids there are"
        )
    gaps = gaps_between(nodes)
    parts = [*nodes.values(), *(gap.node() for gap in gaps)]
    held = merge([own for part in parts if (own := span_of(part))])
    if not any(own.start <= span.start and span.end <= own.end for own in held):
        raise ConfigurationError(_out_of_range(span, held))
    node = slice_of(parts, span)
    unsure = filter(None, (gap.span.common(span) for gap in gaps if not gap.is_sure))
    inside = (Span(part.start - span.start, part.end - span.start) for part in unsure)
    return DocumentSlice(node, tuple(inside))


def _out_of_range(span: Span, held: Sequence[Span]) -> str:
    """Return in words which offsets may be named instead."""
    if not held:
        return (
            "the chunks of this document have no offsets, as their parser gives none; ingest it "
            "with a parser of rag_nodes to quote it"
        )
    near = sorted(held, key=lambda own: max(own.start - span.end, span.start - own.end))
    shown = sorted(near[:_NAMED])
    more = f" and {len(held) - len(shown)} further stretches" if len(held) > len(shown) else ""
    stretches = ", ".join(f"{own.start} to {own.end}" for own in shown)
    return (
        f"characters {span.start} to {span.end} are not in the stored text of this document; "
        f"choose start and end inside {stretches}{more}"
    )
