"""No chunk reaches the embedding model longer than it accepts; longer ones become exact slices."""

from __future__ import annotations

import uuid
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
    BREADCRUMB,
    CHUNK_INDEX,
    END_CHAR,
    HEADING,
    HEADING_PATH,
    HEADINGS_INSIDE,
    LINK,
    PAGE_BREAKS,
    START_CHAR,
    TOKEN_COUNT,
    TOTAL_CHUNKS,
)
from rag_nodes.parsers.nodes import link_neighbours
from rag_nodes.parsers.origins import Origin
from rag_nodes.parsers.parent_child import is_leaf, leaf_nodes
from rag_nodes.text.formats import format_in
from rag_nodes.text.markdown import Block, Kind
from rag_nodes.text.packing import Packer
from rag_nodes.text.pages import PageMap
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import DEFAULT_ENCODING, count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CUT_FOR_EMBEDDING = "cut_for_embedding"
"""On pieces only: id of the chunk that was too long for the embedding model (str)."""

_SLACK = 8
"""Tokens that joining metadata and text may add to the sum of both."""
_NAMESPACE = uuid.UUID("0c6f3d0a-4a4e-5b77-8d0b-5b8f1f1f9c52")


class EmbeddingGuard(TransformComponent):
    """Cut nodes whose embedding text is longer than the embedding model accepts.

    Put it between parser and embedding model. It cuts as the parsers do: at the end of a block,
    else of a sentence or a line of code, a table or a list, else of a word. Pieces are slices of
    the document with offsets, pages, headings, neighbours and ids of their own and carry
    `cut_for_embedding`; all other nodes pass untouched, apart from the numbering of a document
    that had to be cut. So do parents of any length, which are read and not embedded.

    Args:
        max_tokens: what the model accepts, in tokens of the embedding text.
        margin: share of `max_tokens` that is used, because models count a little
            differently.
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
            if isinstance(node, TextNode) and is_leaf(node) and self._is_too_long(node):
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
        around += self._longer_headings(node)
        room = self.limit - max(0, around) - _SLACK
        if room < _SLACK:
            raise ConfigurationError(
                f"node {node.node_id}: its metadata alone takes {around} of {self.limit} tokens "
                "of the embedding text; list keys in excluded_embed_metadata_keys"
            )
        packer = _packer(node, self.tokenizer)
        origin = Origin(node, node.start_char_idx, PageMap.of(node.metadata))
        previous: TextNode | None = None
        for span in packer.pieces(Span(packer.start, packer.end), room):
            previous = _piece(origin, node, span, packer.count(*span), previous)
            yield previous

    def _longer_headings(self, node: TextNode) -> int:
        """Tokens by which the headings of a piece may exceed those of the node."""
        paths = [path for _, path in node.metadata.get(HEADINGS_INSIDE) or ()]
        longest = max((count_tokens(" > ".join(path), self.tokenizer) for path in paths), default=0)
        own = count_tokens(str(node.metadata.get(BREADCRUMB) or ""), self.tokenizer)
        return max(0, longest - own)


def _packer(node: TextNode, tokenizer: str) -> Packer:
    """Knows where the text of a node can be cut."""
    text_format = format_in(node.metadata, node.text)
    packer = Packer(node.text, encoding=tokenizer, text_format=text_format)
    kinds = {block.kind for block in packer.blocks}
    if "code" not in node.metadata.get(BLOCKS, ()) or Kind.CODE in kinds:
        return packer
    # The middle of a block of code, whose fence is in another node.
    code = Block(Kind.CODE, packer.start, packer.end)
    return Packer(node.text, encoding=tokenizer, text_format=text_format, blocks=[code])


def _piece(
    origin: Origin, node: TextNode, span: Span, tokens: int, previous: TextNode | None
) -> TextNode:
    metadata = {**node.metadata, TOKEN_COUNT: tokens, CUT_FOR_EMBEDDING: node.node_id}
    start = end = None
    if origin.base is not None:
        start, end = origin.base + span.start, origin.base + span.end
        for key in (PAGE_BREAKS, HEADINGS_INSIDE):
            metadata.pop(key, None)
        pages = origin.pages.facts(start, end) if origin.pages else {}
        metadata |= {START_CHAR: start, END_CHAR: end, **pages}
        _set_headings(metadata, origin, span)
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
    return sorted({*metadata, CHUNK_INDEX, TOTAL_CHUNKS} - before.keys() - {BREADCRUMB})


def _set_headings(metadata: dict[str, Any], origin: Origin, span: Span) -> None:
    """The headings above a piece and inside it, which may be others than those of its chunk."""
    path, link = origin.headings_above(span.start)
    if path != origin.node.metadata.get(HEADING_PATH, []):
        for key in (HEADING_PATH, HEADING, BREADCRUMB, LINK):
            metadata.pop(key, None)
        if path:
            metadata |= {HEADING_PATH: path, HEADING: path[-1], BREADCRUMB: " > ".join(path)}
        if link:
            metadata[LINK] = link
    if inside := origin.headings_inside(*span):
        metadata[HEADINGS_INSIDE] = inside


def _renumber(nodes: Sequence[BaseNode], documents: set[str | None]) -> None:
    """Number and link the nodes of documents that had to be cut, as their parser would have."""
    family = [node for node in leaf_nodes(nodes) if node.ref_doc_id in documents]
    link_neighbours(family, relate=True)
