"""No chunk reaches the embedding model longer than it accepts; longer ones become exact slices."""

from __future__ import annotations

import uuid
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    NodeRelationship,
    TextNode,
    TransformComponent,
)
from pydantic import Field

from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import (
    BLOCKS,
    END_CHAR,
    PAGE_BREAKS,
    PAGE_END,
    PAGE_START,
    START_CHAR,
    TOKEN_COUNT,
)
from rag_nodes.parsers.nodes import link_neighbours
from rag_nodes.text.encodings import DEFAULT_ENCODING
from rag_nodes.text.graphemes import boundary_at_or_before
from rag_nodes.text.sentences import sentence_spans
from rag_nodes.text.spans import Span, trimmed
from rag_nodes.text.tokens import TokenIndex, count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CUT_FOR_EMBEDDING = "cut_for_embedding"
"""On pieces only: id of the chunk that was too long for the embedding model (str)."""

_SLACK = 8
"""Tokens that joining metadata and text may add to the sum of both."""
_NAMESPACE = uuid.UUID("0c6f3d0a-4a4e-5b77-8d0b-5b8f1f1f9c52")


class EmbeddingGuard(TransformComponent):
    """Cut nodes whose embedding text is longer than the embedding model accepts (S3-14 to S3-18).

    Put it between parser and embedding model. Cuts fall at the end of a paragraph, else of a line
    of code, else of a sentence, else of a word. Pieces are slices of the document with offsets,
    pages, neighbours and ids of their own and carry `cut_for_embedding`; all other nodes pass
    untouched, apart from the numbering of a document that had to be cut.

    Args:
        max_tokens: what the model accepts, in tokens of the embedding text (S3-10).
        margin: share of `max_tokens` that is used, because models count a little differently
            (S3-15).
        tokenizer: name of the tiktoken encoding to count with.

    Example:
        >>> from llama_index.core.schema import TextNode
        >>> node = TextNode(text="One sentence. " * 40)
        >>> [len(piece.text) for piece in EmbeddingGuard(max_tokens=100)([node])]
        [391, 167]
    """

    max_tokens: int = Field(default=7500, ge=64)
    margin: float = Field(default=0.95, gt=0, le=1)
    tokenizer: str = DEFAULT_ENCODING

    @classmethod
    def class_name(cls) -> str:
        """Name of the class: part of LlamaIndex's cache key."""
        return "EmbeddingGuard"

    @property
    def limit(self) -> int:
        """Most tokens of an embedding text; 7125 by default."""
        return int(self.max_tokens * self.margin)

    def __call__(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> list[BaseNode]:
        """The nodes, those that are too long replaced by their pieces.

        Raises:
            ConfigurationError: the metadata of a node alone is longer than the limit.
        """
        guarded: list[BaseNode] = []
        cut_documents: set[str | None] = set()
        for node in nodes:
            if isinstance(node, TextNode) and self._is_too_long(node):
                guarded.extend(self._pieces(node))
                cut_documents.add(node.ref_doc_id)
            else:
                guarded.append(node)
        if cut_documents:
            _renumber(guarded, cut_documents)
        return guarded

    def _is_too_long(self, node: TextNode) -> bool:
        text = node.get_content(metadata_mode=MetadataMode.EMBED)
        # A token is at least one byte, so short texts need no encoding.
        if len(text) * 4 <= self.limit or len(text.encode("utf-8", "replace")) <= self.limit:
            return False
        return count_tokens(text, self.tokenizer) > self.limit

    def _pieces(self, node: TextNode) -> Iterator[TextNode]:
        everything = node.get_content(metadata_mode=MetadataMode.EMBED)
        around = count_tokens(everything, self.tokenizer) - count_tokens(node.text, self.tokenizer)
        room = self.limit - max(0, around) - _SLACK
        if room < _SLACK:
            raise ConfigurationError(
                f"node {node.node_id}: its metadata alone takes {around} of {self.limit} tokens "
                "of the embedding text; list keys in excluded_embed_metadata_keys"
            )
        cuts_at_lines = "code" in node.metadata.get(BLOCKS, ())
        index = TokenIndex(node.text, self.tokenizer)
        previous: TextNode | None = None
        for span in _slices(index, room, cuts_at_lines=cuts_at_lines):
            previous = _piece(node, span, index.count(span.start, span.end), previous)
            yield previous


def _slices(index: TokenIndex, room: int, *, cuts_at_lines: bool) -> Iterator[Span]:
    """Slices of at most `room` tokens that hold every visible character."""
    text, start = index.text, 0
    while start < len(text):
        furthest = index.fit(start, room)
        end = furthest
        if furthest < len(text):
            end = _best_cut(text, start, furthest, cuts_at_lines=cuts_at_lines)
        span = trimmed(text, start, end)
        if span.end > span.start:
            yield span
        start = end


def _best_cut(text: str, start: int, furthest: int, *, cuts_at_lines: bool) -> int:
    """Where to end a slice: the best kind of boundary in its second half (S3-17)."""
    half = start + (furthest - start) // 2
    marks = ("\n\n", "\n") if cuts_at_lines else ("\n\n",)
    for mark in marks:
        found = text.rfind(mark, half, furthest)
        if found >= 0:
            return found + len(mark)
    sentences = [span.start for span in sentence_spans(text[half:furthest])]
    # The first "sentence" starts where we started looking, the last one is cut off.
    if len(sentences) > 1:
        return half + sentences[-1]
    blank = max(text.rfind(" ", start, furthest), text.rfind("\n", start, furthest))
    if blank > start:
        return blank + 1
    return max(boundary_at_or_before(text, furthest, start), start + 1)


def _piece(node: TextNode, span: Span, tokens: int, previous: TextNode | None) -> TextNode:
    metadata = {**node.metadata, TOKEN_COUNT: tokens, CUT_FOR_EMBEDDING: node.node_id}
    start = end = None
    if node.start_char_idx is not None:
        start, end = node.start_char_idx + span.start, node.start_char_idx + span.end
        metadata |= _place(node.metadata, start, end)
    relationships = dict(node.relationships)
    if previous is not None:
        relationships.pop(NodeRelationship.PREVIOUS, None)
        previous.relationships.pop(NodeRelationship.NEXT, None)
    return TextNode(
        id_=str(uuid.uuid5(_NAMESPACE, f"{node.node_id}/{span.start}-{span.end}")),
        text=node.text[span.start : span.end],
        start_char_idx=start,
        end_char_idx=end,
        metadata=metadata,
        excluded_embed_metadata_keys=[
            *node.excluded_embed_metadata_keys,
            *_hidden(metadata, node.metadata),
        ],
        excluded_llm_metadata_keys=[
            *node.excluded_llm_metadata_keys,
            *_hidden(metadata, node.metadata),
        ],
        relationships=relationships,
    )


def _hidden(metadata: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """The keys a piece has and its chunk had not: bookkeeping no model should read."""
    return sorted(metadata.keys() - before.keys())


def _place(metadata: dict[str, Any], start: int, end: int) -> dict[str, Any]:
    """Offsets and pages of a piece, from those of its chunk."""
    place: dict[str, Any] = {START_CHAR: start, END_CHAR: end}
    first = metadata.get(PAGE_START)
    if first is not None:
        breaks = metadata.get(PAGE_BREAKS) or []
        turned, turned_at_end = bisect_right(breaks, start), bisect_right(breaks, end - 1)
        place[PAGE_START] = first + turned
        place[PAGE_END] = first + turned_at_end
        place[PAGE_BREAKS] = breaks[turned:turned_at_end]
    return place


def _renumber(nodes: Sequence[BaseNode], documents: set[str | None]) -> None:
    """Number and link the nodes of documents that had to be cut, as their parser would have."""
    family = [node for node in nodes if isinstance(node, TextNode) and node.ref_doc_id in documents]
    link_neighbours(family, relate=True)
