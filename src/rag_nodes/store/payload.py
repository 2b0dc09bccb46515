"""A node as a point and back: LlamaIndex's own shape, our bookkeeping, and its version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from rag_nodes.core.errors import ConfigurationError, StoreError
from rag_nodes.core.foreign_metadata import usable
from rag_nodes.core.metadata import EMBEDDED_METADATA, SCORES, TABLE
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.store.bm25 import document_vectors
from rag_nodes.store.catalogue import CHILDREN, PARENT
from rag_nodes.store.conditions import DOCUMENT_ID
from rag_nodes.store.engine import Point

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llama_index.core.schema import BaseNode

PAYLOAD_VERSION = 1
"""The shape of what is stored of a node, raised when what reads it has to know of a change; 0 is
what LlamaIndex itself writes, and is read as 1 is."""
VERSION = "_version"
"""Payload key of the shape's version."""


def points_of(
    nodes: Sequence[BaseNode], payload: Callable[[BaseNode], dict[str, Any]] | None = None
) -> list[Point]:
    """Return the points of nodes: payload, embedding and BM25 vector; any process can compute them.

    Args:
        nodes: to store, with embeddings.
        payload: makes what is stored of a node; None for `payload_of`.

    Raises:
        ConfigurationError: a node without children has no embedding.
    """
    embeddings = [_embedding_of(node) if is_leaf(node) else None for node in nodes]
    words = iter(zip(*document_vectors(_indexed(n) for n in nodes if is_leaf(n)), strict=True))
    stored = payload or payload_of
    return [
        Point(node.node_id, stored(node))
        if vector is None
        else Point(node.node_id, stored(node), vector, next(words))
        for node, vector in zip(nodes, embeddings, strict=True)
    ]


def _indexed(node: BaseNode) -> str:
    """Return the text whose words find a chunk: metadata and column names, then its own text.

    The metadata is what the user wants embedded; the column names are those of the table that the
    chunk begins inside of.
    """
    metadata = usable(node).metadata
    named = [*(metadata.get(EMBEDDED_METADATA) or ()), TABLE]
    above = (str(metadata[key]) for key in named if metadata.get(key) is not None)
    return "\n".join((*above, node.get_content()))


def payload_of(node: BaseNode) -> dict[str, Any]:
    """Metadata plus the whole node as JSON, without the embedding, which is stored anyway.

    Scores of a question that the node was found for do not belong to it.
    """
    own = {key: value for key, value in node.metadata.items() if key not in SCORES}
    stored = node.model_copy(update={"embedding": None, "metadata": own})
    payload = node_to_metadata_dict(stored, remove_text=False, flat_metadata=False)
    return {**payload, **family(node), VERSION: PAYLOAD_VERSION}


def filterable(node: BaseNode) -> dict[str, Any]:
    """Return as much of the payload as filters compare, for nodes that are never read back."""
    own = node.model_dump(mode="json", include={"metadata"})["metadata"]
    return {**own, DOCUMENT_ID: node.ref_doc_id or "None", **family(node), VERSION: PAYLOAD_VERSION}


def family(node: BaseNode) -> dict[str, Any]:
    """Return the number of a node's children and the id of its parent, if it has any."""
    children = node.relationships.get(NodeRelationship.CHILD)
    parent = node.relationships.get(NodeRelationship.PARENT)
    facts: dict[str, Any] = {CHILDREN: len(children)} if isinstance(children, list) else {}
    return {**facts, PARENT: parent.node_id} if isinstance(parent, RelatedNodeInfo) else facts


def node_in(payload: Mapping[str, Any], point: str, where: str) -> BaseNode:
    """The node that the payload of a point holds.

    Raises:
        StoreError: its shape is one that this release does not read.
        ConfigurationError: another program stored it, and it holds no node of LlamaIndex.
    """
    check_version(payload, where)
    try:
        return usable(metadata_dict_to_node(dict(payload)))
    except ValueError as error:
        held = ", ".join(map(repr, payload)) or "nothing"
        raise ConfigurationError(
            f"{where}: point {point} holds no node of LlamaIndex but {held} ({error}); "
            "ingest the documents into a collection of ours"
        ) from error


def with_words(points: Sequence[Point], where: str) -> list[Point]:
    """Return points with the BM25 vectors that another program left out.

    Raises:
        ConfigurationError: another program stored one that holds no node of LlamaIndex.
    """
    lacking = {
        point.node_id: _indexed(node_in(point.payload, point.node_id, where))
        for point in points
        if point.vector is not None and VERSION not in point.payload and not point.words[0]
    }
    words = dict(zip(lacking, zip(*document_vectors(lacking.values()), strict=True), strict=True))
    return [point._replace(words=words.get(point.node_id, point.words)) for point in points]


def check_version(payload: Mapping[str, Any], where: str) -> None:
    """Find out whether this release reads what is stored.

    Raises:
        StoreError: a newer release wrote it.
    """
    version = payload.get(VERSION, 0)
    if not isinstance(version, int) or version > PAYLOAD_VERSION:
        raise StoreError(
            f"{where}: a newer release of rag_nodes wrote it (payload version {version}, and this "
            f"one reads up to {PAYLOAD_VERSION}); update rag_nodes, or ingest into another store"
        )


def _embedding_of(node: BaseNode) -> list[float]:
    if node.embedding is None:
        raise ConfigurationError(
            f"node {node.node_id} has no embedding, and only nodes with children are stored "
            "without; embed it first"
        )
    return node.embedding
