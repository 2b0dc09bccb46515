"""A node as a point and back: LlamaIndex's own shape, our bookkeeping, and its version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from rag_nodes.errors import ConfigurationError, DimensionError, StoreError
from rag_nodes.metadata import FURTHER_VECTORS, SCORES
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.store.bm25 import document_vectors
from rag_nodes.store.catalogue import CHILDREN, PARENT
from rag_nodes.store.points import Point, named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.schema import BaseNode

PAYLOAD_VERSION = 1
"""The shape of what is stored of a node, raised when what reads it has to know of a change.

0 is what was written before there were versions, and by LlamaIndex itself; it is read as 1 is.
"""
OLDEST_VERSION = 0
"""The oldest shape that is still read; what is older has to be ingested again."""
VERSION = "_version"
"""Payload key of the shape's version."""


def points_of(nodes: Sequence[BaseNode]) -> list[Point]:
    """What is stored of nodes: payload, embedding and BM25 vector, which any process can compute.

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


def payload_of(node: BaseNode) -> dict[str, Any]:
    """Metadata plus the whole node as JSON, without the embedding, which is stored anyway.

    Scores of a question that the node was found for do not belong to it.
    """
    own = {key: value for key, value in node.metadata.items() if key not in SCORES}
    if FURTHER_VECTORS in own:  # kept as vectors
        own[FURTHER_VECTORS] = sorted(own[FURTHER_VECTORS])
    stored = node.model_copy(update={"embedding": None, "metadata": own})
    payload = node_to_metadata_dict(stored, remove_text=False, flat_metadata=False)
    return {**payload, **family(node), VERSION: PAYLOAD_VERSION}


def family(node: BaseNode) -> dict[str, Any]:
    """How many children a node has, and who its parent is, as far as it has them."""
    children = node.relationships.get(NodeRelationship.CHILD)
    parent = node.relationships.get(NodeRelationship.PARENT)
    known: dict[str, Any] = {CHILDREN: len(children)} if isinstance(children, list) else {}
    return {**known, PARENT: parent.node_id} if isinstance(parent, RelatedNodeInfo) else known


def node_in(payload: Mapping[str, Any], point: str, where: str) -> BaseNode:
    """The node a payload holds.

    Args:
        payload: what is stored.
        point: id under which it is stored.
        where: location and collection, for messages.

    Raises:
        StoreError: its shape is one that this release does not read.
        ConfigurationError: another program stored it, and it holds no node of LlamaIndex.
    """
    check_version(payload, where)
    try:
        return metadata_dict_to_node(dict(payload))
    except ValueError as error:
        held = ", ".join(map(repr, payload)) or "nothing"
        raise ConfigurationError(
            f"{where}: point {point} holds no node of LlamaIndex but {held} ({error}); "
            "ingest the documents into a collection of ours"
        ) from error


def check_version(payload: Mapping[str, Any], where: str) -> None:
    """Find out whether this release reads what is stored.

    Raises:
        StoreError: a newer release wrote it, or one too long ago.
    """
    version = payload.get(VERSION, 0)
    if not isinstance(version, int) or version > PAYLOAD_VERSION:
        raise StoreError(
            f"{where}: a newer release of rag_nodes wrote it (payload version {version}, and this "
            f"one reads up to {PAYLOAD_VERSION}); update rag_nodes, or ingest into another store"
        )
    if version < OLDEST_VERSION:
        raise StoreError(
            f"{where}: a release of rag_nodes wrote it that is too old (payload version "
            f"{version}, and this one reads from {OLDEST_VERSION}); drop the collection and ingest "
            "the documents again"
        )


def checked_length(nodes: Sequence[BaseNode], known: int | None, where: str) -> int:
    """The one length that all embeddings of a collection have.

    Args:
        nodes: about to be stored.
        known: length of the embeddings that are stored already; None for a new collection.
        where: location and collection, for messages.

    Raises:
        ConfigurationError: a node without children has no embedding, or the first nodes of a
            collection are parents only.
        DimensionError: an embedding has another length.
    """
    return agreed_length(lengths_of(nodes), known, where)


def lengths_of(nodes: Sequence[BaseNode]) -> list[int]:
    """Lengths of the embeddings, which nodes with children have not.

    Raises:
        ConfigurationError: a node without children has no embedding.
    """
    return [len(_embedding_of(node)) for node in nodes if is_leaf(node)]


def agreed_length(lengths: Sequence[int], known: int | None, where: str) -> int:
    """The one length that all embeddings of a collection have, given those of new ones.

    For the other arguments and errors see `checked_length`.
    """
    expected = known or next(iter(lengths), 0)
    if not expected:
        raise ConfigurationError(
            f"{where} does not exist yet and would get parents only, without a vector to make it "
            "by; add them together with their children"
        )
    for length in lengths:
        if length != expected:
            raise DimensionError(
                f"{where} holds vectors of length {expected}, got {length}; use the embedding "
                "model it was made with, or another corpus name"
            )
    return expected


def check_question(length: int, known: int | None, where: str) -> None:
    """Find out whether a question's vector fits a collection; any does where there are none.

    Raises:
        DimensionError: it has another length.
    """
    if known is not None and length != known:
        raise DimensionError(
            f"{where} holds vectors of length {known}, the question's has {length}; ask with the "
            "embedding model it was ingested with"
        )


def _embedding_of(node: BaseNode) -> list[float]:
    if node.embedding is None:
        raise ConfigurationError(
            f"node {node.node_id} has no embedding, and only nodes with children are stored "
            "without; embed it first"
        )
    return node.embedding
