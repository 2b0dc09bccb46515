"""Nodes as points: payload, embedding and BM25 vector, which any process can compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.metadata import FURTHER_VECTORS
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.store.bm25 import document_vectors
from rag_nodes.store.engine import Point, named
from rag_nodes.store.payload import lengths_of, payload_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseNode


def points_of(nodes: Sequence[BaseNode]) -> list[Point]:
    """What is stored of nodes.

    Raises:
        ConfigurationError: a node without children has no embedding.
    """
    lengths_of(nodes)
    ranked = [node for node in nodes if is_leaf(node)]
    words = zip(*document_vectors(node.get_content() for node in ranked), strict=True)
    by_id = dict(zip((node.node_id for node in ranked), words, strict=True))
    return [
        Point(
            node.node_id,
            payload_of(node),
            node.get_embedding(),
            by_id[node.node_id],
            _further(node),
        )
        if node.node_id in by_id
        else Point(node.node_id, payload_of(node))
        for node in nodes
    ]


def _further(node: BaseNode) -> dict[str, list[float]]:
    """Embeddings beside the usual one, by name; of a node that was read only names are known."""
    marked = node.metadata.get(FURTHER_VECTORS)
    known = marked if isinstance(marked, dict) else {}
    return {named(name): vector for name, vector in known.items() if vector is not None}
