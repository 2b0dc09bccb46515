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

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.foreign_metadata import usable
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.metadata import (
    BLOCKS,
    BREADCRUMB,
    END_CHAR,
    HEADING,
    HEADING_PATH,
    HEADINGS_INSIDE,
    LINK,
    PAGE_BREAKS,
    PAGE_END,
    PAGE_START,
    PARSER,
    START_CHAR,
    TABLE,
    TABLE_HEADER,
)
from rag_nodes.core.several import several_nodes
from rag_nodes.parsers.nodes import build_nodes, link_neighbours
from rag_nodes.parsers.parent_child import is_leaf, leaf_nodes
from rag_nodes.parsers.source import ChunkSpan, Origin, SourceText
from rag_nodes.text.formats import format_in
from rag_nodes.text.markdown import Block, Kind
from rag_nodes.text.packing import Packer
from rag_nodes.text.sentences import AUTO
from rag_nodes.text.spans import PageMap, Span
from rag_nodes.text.tables import Tables, column_names
from rag_nodes.text.tokens import DEFAULT_ENCODING, count_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

CUT_FOR_EMBEDDING = "cut_for_embedding"
"""On pieces only: id of the chunk that was too long for the embedding model (str)."""

_PLACE = frozenset({START_CHAR, END_CHAR, PAGE_START, PAGE_END, PAGE_BREAKS, HEADINGS_INSIDE})
_HEADINGS = frozenset({HEADING_PATH, HEADING, BREADCRUMB, LINK})
"""With its place, what a piece has of its own or not at all."""
_TABLES = frozenset({TABLE_HEADER, TABLE})
"""The same, also of a piece whose place is not known: the text of the chunk shows it."""
_BESIDE = frozenset({NodeRelationship.PREVIOUS, NodeRelationship.NEXT})
_SLACK = 8
"""Tokens that joining metadata and text may add to the sum of both."""
_NAMESPACE = uuid.UUID("0c6f3d0a-4a4e-5b77-8d0b-5b8f1f1f9c52")


@checks_keywords
class EmbeddingGuard(TransformComponent):
    """Split nodes whose embedding text is longer than the embedding model accepts.

    Put it between parser and embedding model. It splits as the parsers do: at the end of a block,
    else of a sentence or a line of code, a table or a list, else of a word. Pieces are slices of
    the document with offsets, pages, headings, neighbours and ids of their own and carry
    `cut_for_embedding`; all other nodes pass untouched, apart from the numbering of a document
    that had to be split. So do parents of any length, which are read and not embedded.

    Args:
        max_tokens: what the model accepts, in tokens of the embedding text.
        margin: share of `max_tokens` that is used, because models count a little
            differently.
        tokenizer: name of the tiktoken encoding to count with.

    Raises:
        ConfigurationError: an option is unknown or out of range.

    Examples:
        >>> from rag_nodes import EmbeddingGuard
        >>> from llama_index.core.schema import TextNode
        >>> node = TextNode(text="One sentence. " * 40)
        >>> [len(piece.text) for piece in EmbeddingGuard(max_tokens=100)([node])]
        [405, 153]
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
        for node in several_nodes(nodes):
            if isinstance(node, TextNode) and is_leaf(node) and self._is_too_long(node):
                guarded.extend(self._pieces(usable(node)))
                cut_documents.add(node.ref_doc_id)
            else:
                guarded.append(node)
        if cut_documents:  # numbered and linked as their parser would have
            family = [leaf for leaf in leaf_nodes(guarded) if leaf.ref_doc_id in cut_documents]
            link_neighbours(family, relate=True)
        return guarded

    def _is_too_long(self, node: TextNode) -> bool:
        text = node.get_content(metadata_mode=MetadataMode.EMBED)
        # A token is at least one byte, so short texts need no encoding.
        if len(text) * 4 <= self.limit or len(text.encode("utf-8", "replace")) <= self.limit:
            return False
        return count_tokens(text, self.tokenizer) > self.limit

    def _pieces(self, node: TextNode) -> list[TextNode]:
        everything = node.get_content(metadata_mode=MetadataMode.EMBED)
        around = count_tokens(everything, self.tokenizer) - count_tokens(node.text, self.tokenizer)
        source = _source(node, self.tokenizer)
        origin = Origin(node, node.start_char_idx, PageMap.of(node.metadata))
        around += self._longer_headings(node)
        around += self._longest_column_names(origin.tables_of(source))
        room = self.limit - max(0, around) - _SLACK
        if room < _SLACK:
            raise ConfigurationError(
                f"node {node.node_id}: its metadata alone takes {around} of {self.limit} tokens "
                "of the embedding text; list keys in excluded_embed_metadata_keys"
            )
        packer = source.packer
        cuts = [ChunkSpan(*span) for span in packer.pieces(Span(packer.start, packer.end), room)]
        parser = str(node.metadata.get(PARSER, ""))
        pieces = build_nodes(origin, source, cuts, parser=parser, inherit=False)
        own = _TABLES
        if origin.base is not None:  # else what is known of the chunk is known of a piece
            own |= _PLACE | (_HEADINGS if HEADING_PATH in node.metadata else set())
        kept = {key: value for key, value in node.metadata.items() if key not in own}
        for piece, cut in zip(pieces, cuts, strict=True):
            piece.id_ = str(uuid.uuid5(_NAMESPACE, f"{node.node_id}/{cut.start}-{cut.end}"))
            piece.metadata = {**kept, **piece.metadata, CUT_FOR_EMBEDDING: node.node_id}
            piece.excluded_embed_metadata_keys.append(CUT_FOR_EMBEDDING)
            piece.excluded_llm_metadata_keys.append(CUT_FOR_EMBEDDING)
            piece.relationships = {
                kind: relationship
                for kind, relationship in node.relationships.items()
                if kind not in _BESIDE
            }
        return pieces

    def _longer_headings(self, node: TextNode) -> int:
        """Tokens by which the headings of a piece may exceed those of the node."""
        paths = [path for _, path in node.metadata.get(HEADINGS_INSIDE) or ()]
        longest = max((count_tokens(" > ".join(path), self.tokenizer) for path in paths), default=0)
        own = count_tokens(str(node.metadata.get(BREADCRUMB) or ""), self.tokenizer)
        return max(0, longest - own)

    def _longest_column_names(self, tables: Tables) -> int:
        """Tokens that the column names of a table put in front of a piece that begins inside it."""
        lines = (f"{TABLE}: {column_names(table.header)}\n" for table in tables.tables)
        return max((count_tokens(line, self.tokenizer) for line in lines), default=0)


def _source(node: TextNode, tokenizer: str) -> SourceText:
    """The text of a node, which knows where it can be split."""
    text_format = format_in(node.metadata, node.text)
    source = SourceText(
        node.text, title="", encoding=tokenizer, language=AUTO, text_format=text_format
    )
    packer = source.packer
    if "code" in node.metadata.get(BLOCKS, ()) and not any(
        block.kind is Kind.CODE for block in packer.blocks
    ):  # the middle of a block of code, whose fence is in another node
        code = Block(Kind.CODE, packer.start, packer.end)
        source.packer = Packer(
            node.text, encoding=tokenizer, text_format=text_format, blocks=[code]
        )
    return source
