"""What a ledger would say of a document, by the word of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.ledger import DepositRow
from rag_nodes.store import is_complete

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.store import StoredNode


def stored_row(collection: str, document_id: str, stored: Mapping[str, StoredNode]) -> DepositRow:
    """What a ledger says of a document whose nodes the store was asked for."""
    chunks = [node for node in stored.values() if not node.is_parent]
    versions = {node.source_hash for node in stored.values()}
    source_hash = versions.pop() if len(versions) == 1 else ""
    return DepositRow(
        collection,
        document_id,
        source_hash if is_complete(stored, source_hash) else "",
        chunks=len(chunks),
        parents=len(stored) - len(chunks),
        tokens=sum(node.tokens for node in chunks),
        largest=max((node.tokens for node in chunks), default=0),
        unplaced=sum(not node.is_placed for node in chunks),
    )
