"""Nodes as typed plain objects, for programs that do not speak LlamaIndex."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode

from rag_nodes.core import metadata as keys
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several_nodes


@checks_keywords
@dataclass(frozen=True, slots=True)
class EnrichedChunk:
    """A chunk with all that is known about it; `dataclasses.asdict` makes it JSON.

    Attributes:
        chunk_id: id of the node, a UUID where one of our parsers made it.
        file_id: id of the document it was split from.
        text: the chunk itself, without metadata.
        chunk_index: position among the chunks of its document, counted from 0. Parents and
            children are counted each on their own.
        metadata: a copy of the node's; `rag_nodes.core.metadata` explains the keys, such as
            `source`, `heading_path`, `token_count`, `page_start`, `start_char` and `summary`.
        embedding: its vector; None where it was not embedded.
    """

    chunk_id: str
    file_id: str
    text: str
    chunk_index: int
    metadata: dict[str, Any] = field(default_factory=dict, hash=False)
    embedding: tuple[float, ...] | None = field(default=None, repr=False, hash=False)


@checks_keywords
def to_chunks(nodes: Iterable[BaseNode]) -> list[EnrichedChunk]:
    """Nodes of any parser as chunks, one each, in their order.

    Nodes that do not know their position in the document are counted in their order.

    Examples:
        >>> from rag_nodes import to_chunks
        >>> from llama_index.core import Document
        >>> from rag_nodes.parsers import get_parser
        >>> [chunk] = to_chunks(get_parser("fixed")([Document(text="It is hot.", id_="tea")]))
        >>> chunk.file_id, chunk.chunk_index, chunk.text, chunk.metadata["token_count"]
        ('tea', 0, 'It is hot.', 4)
    """
    seen: Counter[str] = Counter()
    chunks = []
    for node in several_nodes(nodes):
        # A node that was split from nothing is a document itself.
        file_id = node.ref_doc_id or node.node_id
        index = node.metadata.get(keys.CHUNK_INDEX, seen[file_id])
        seen[file_id] += 1
        chunks.append(
            EnrichedChunk(
                chunk_id=node.node_id,
                file_id=file_id,
                text=node.get_content(metadata_mode=MetadataMode.NONE),
                chunk_index=index,
                metadata=deepcopy(node.metadata),
                embedding=None if node.embedding is None else tuple(node.embedding),
            )
        )
    return chunks
