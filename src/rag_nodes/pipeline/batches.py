"""What waits to be stored, in the batches that a model embeds with one request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llama_index.core.schema import BaseNode, MetadataMode

from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.pipeline.deposit import Deposit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_nodes.models import Models

Waiting = list[tuple[BaseNode, Deposit]]
"""Chunks that are to be stored, each with the document it belongs to."""


def requests_of(waiting: Waiting, models: Models) -> Iterator[Waiting]:
    """The chunks in runs that a server's model embeds with one request; offline all at once."""
    if models.offline:
        if waiting:
            yield waiting
        return
    from rag_nodes.models.pacing import BATCH_BYTES

    part: Waiting = []
    texts = size = 0
    for node, deposit in waiting:
        if lacks_vector(node):
            length = len(node.get_content(MetadataMode.EMBED).encode("utf-8", "replace"))
            full = texts == models.embedding.embed_batch_size or size + length > BATCH_BYTES
            if texts and full:
                yield part
                part, texts, size = [], 0, 0
            texts += 1
            size += length
        part.append((node, deposit))
    if part:
        yield part


def lacks_vector(node: BaseNode) -> bool:
    """Whether it is to be embedded: parents are not, since their children are found."""
    return node.embedding is None and is_leaf(node)
