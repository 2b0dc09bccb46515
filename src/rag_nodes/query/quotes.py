"""Exact slices of stored documents, put together from their chunks, to verify a quotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_nodes.core.errors import ConfigurationError, DocumentMissingError
from rag_nodes.query.gaps import gaps_between
from rag_nodes.query.locations import slice_of, span_of
from rag_nodes.text.passages import equal_in
from rag_nodes.text.spans import Span, merge
from rag_nodes.text.words import find_words, is_inside_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.store import Store

_NAMED = 3
"""Stretches of a document that a message names."""
_BESIDE = 9
"""Characters beside a slice that tell if it begins or ends inside a word."""


@dataclass(frozen=True, slots=True)
class DocumentSlice:
    """A slice of a stored document.

    Attributes:
        node: the slice, with its own offsets, pages and headings.
        unsure: white space between chunks of which only the length is stored, as offsets inside
            the slice, where it is shown as line breaks.
        whole: the slice without the rest of a word or number at either end, as offsets inside it.
    """

    node: TextNode
    unsure: tuple[Span, ...]
    whole: Span

    def is_exactly(self, text: str) -> bool:
        """Return True if a text is this slice, in whole words.

        White space that is `unsure` may be any white space.
        """
        own = self.node.text
        if len(text) != len(own) or self.whole.length != len(own):
            return False
        parts = list(text)
        for start, end in self.unsure:
            if text[start:end].isspace():
                parts[start:end] = own[start:end]
        return "".join(parts) == own

    def find(self, text: str) -> Span | None:
        """Return where the slice has these words: as they are, else in any case and white space."""
        whole, shift = self.whole.of(self.node.text), self.whole.start
        start = find_words(whole, text)
        exact = Span(start, start + len(text)) if start >= 0 else None
        place = exact or equal_in(text, whole, whole_words=True)
        return Span(shift + place.start, shift + place.end) if place else None


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
    around = next((own for own in held if own.start <= span.start and span.end <= own.end), None)
    if around is None:
        raise ConfigurationError(_out_of_range(span, held))
    node = slice_of(parts, span)
    unsure = filter(None, (gap.span.common(span) for gap in gaps if not gap.is_sure))
    inside = (Span(part.start - span.start, part.end - span.start) for part in unsure)
    return DocumentSlice(node, tuple(inside), _in_whole_words(parts, span, around))


def _in_whole_words(parts: Sequence[TextNode], span: Span, held: Span) -> Span:
    """Return the characters of a span without the rest of a word at its ends, from its start."""
    start = max(held.start, span.start - _BESIDE)
    text = slice_of(parts, Span(start, min(held.end, span.end + _BESIDE))).text
    first, last = span.start - start, span.end - start
    low, high = first, last
    while low < last and is_inside_word(text, low):
        low += 1
    while high > low and is_inside_word(text, high):
        high -= 1
    return Span(low - first, high - first)


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
