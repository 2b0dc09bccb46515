"""What a collection holds of each document, without vectors and texts: decides re-ingest."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.metadata import SOURCE_HASH, START_CHAR, TOKEN_COUNT, TOTAL_CHUNKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

DOCUMENT_ID = "doc_id"
"""Payload key under which LlamaIndex stores the id of a node's document."""
CHILDREN = "_children"
"""Payload key of a parent: how many nodes were cut from it. A parent is read, but never ranked."""
PARENT = "_parent"
"""Payload key of a child: id of its parent."""
PAYLOAD_KEYS = [DOCUMENT_ID, SOURCE_HASH, TOTAL_CHUNKS, TOKEN_COUNT, START_CHAR, CHILDREN, PARENT]
"""Payload keys a catalogue is made of."""


class StoredNode(NamedTuple):
    """The bookkeeping of one stored chunk.

    Attributes:
        source_hash: hash of the document text it was cut from; "" when unknown.
        total_chunks: chunks of its document, on its level, at that time; 0 when unknown.
        tokens: tokens of its text; 0 when unknown.
        is_parent: other chunks were cut from it, and it has no vectors.
        parent: id of the chunk it was cut from; "" for none.
        is_placed: it knows where in its document it is.
    """

    source_hash: str
    total_chunks: int
    tokens: int
    is_parent: bool = False
    parent: str = ""
    is_placed: bool = True


class Catalogue:
    """The stored chunks of each document of one collection.

    Args:
        lookup: gives id and payload of the stored chunks of one document.
        everything: id and payload of all chunks, where reading them all at once is cheaper than
            asking per document (embedded Qdrant scans the whole collection for every filter).
    """

    __slots__ = ("_known", "_lookup")

    def __init__(
        self,
        lookup: Callable[[str], Iterable[tuple[str, Mapping[str, Any]]]],
        everything: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
    ) -> None:
        self._lookup = lookup
        self._known: dict[str, dict[str, StoredNode]] | None = None
        if everything is not None:
            self._known = {}
            for node_id, payload in everything:
                document = self._known.setdefault(str(payload.get(DOCUMENT_ID)), {})
                document[node_id] = _stored(payload)

    def of(self, document_id: str) -> dict[str, StoredNode]:
        """The stored chunks of a document by node id; empty when there are none."""
        if self._known is not None:
            return dict(self._known.get(document_id, {}))
        return {node_id: _stored(payload) for node_id, payload in self._lookup(document_id)}


def is_complete(stored: Mapping[str, StoredNode], source_hash: str) -> bool:
    """Whether all chunks of this very text are stored, and nothing else of the document."""
    levels = Counter(node.is_parent for node in stored.values())
    return bool(stored) and all(
        node.source_hash == source_hash
        and node.total_chunks == levels[node.is_parent]
        and (not node.parent or node.parent in stored)
        for node in stored.values()
    )


def _stored(payload: Mapping[str, Any]) -> StoredNode:
    return StoredNode(
        source_hash=str(payload.get(SOURCE_HASH) or ""),
        total_chunks=_whole(payload.get(TOTAL_CHUNKS)),
        tokens=_whole(payload.get(TOKEN_COUNT)),
        is_parent=CHILDREN in payload,
        parent=str(payload.get(PARENT) or ""),
        is_placed=payload.get(START_CHAR) is not None,
    )


def _whole(value: object) -> int:
    """A number as we write it, 0 for anything else: others may write to the collection too."""
    return value if isinstance(value, int) else 0
