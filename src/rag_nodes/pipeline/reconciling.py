"""Is a ledger that of this state of a store? And what it is made anew from where it is not."""

from __future__ import annotations

import secrets
from itertools import islice
from typing import TYPE_CHECKING

from rag_nodes.ledger import StoredDocument
from rag_nodes.store import is_complete

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.ledger import Ledger
    from rag_nodes.store import Store, StoredNode


def doubted(
    store: Store, ledger: Ledger, collection: str, count: int, *, is_shared: bool
) -> dict[str, dict[str, StoredNode]] | None:
    """What the store says of documents; None where the ledger is believed.

    That is where it bears the marks of this state of the store, and there may be as many chunks as
    there are. A store that others write as well has more than its ledger knows of: then less than
    that, or another mark of this writer, have it doubted. `count` is that of the chunks, as the
    store says it.
    """
    marks = store.marks(collection)
    if not is_shared:
        is_covered = count and ledger.covers(collection, marks, count)
        return None if is_covered else store.documents(collection)
    rows, writer = ledger.stored(collection), ledger.writer(collection)
    is_own = marks.get(writer, "") == ledger.marks(collection).get(writer)
    if not rows or (is_own and count >= ledger.totals(collection)[0]):
        return None
    found = {one: store.stored(collection, one) for one in rows}
    return {one: nodes for one, nodes in found.items() if nodes}


def dimension_of(
    store: Store, collection: str, documents: Mapping[str, Mapping[str, StoredNode]]
) -> int | None:
    """Length of the vectors of a collection, by any of what is stored; None without one."""
    chunks = (one for of in documents.values() for one, node in of.items() if not node.is_parent)
    found = store.vectors(collection, list(islice(chunks, 1))).values()
    return next((len(vector) for _, vector in found), None)


def mark(store: Store, ledger: Ledger, collection: str, *, is_shared: bool) -> bool:
    """Give the state of a collection an epoch, which the store and this ledger alone know.

    A process that is killed in between leaves two epochs, and so a ledger that is not believed.

    Returns:
        Whether the store keeps it.
    """
    epoch = secrets.token_hex(8)
    with ledger.transaction():
        there = {} if is_shared else store.marks(collection)
        marks = {**dict.fromkeys(there), ledger.writer(collection): epoch}
        if not store.mark(collection, marks):
            return False
        ledger.mark(collection, epoch, is_shared=is_shared)
        return True


def stored_row(
    collection: str, document_id: str, stored: Mapping[str, StoredNode]
) -> StoredDocument:
    """What a ledger says of a document whose nodes the store was asked for."""
    chunks = [node for node in stored.values() if not node.is_parent]
    version = next((node.source_hash for node in stored.values()), "")
    return StoredDocument(
        collection,
        document_id,
        version if is_complete(stored, version) else "",
        chunks=len(chunks),
        parents=len(stored) - len(chunks),
        tokens=sum(node.tokens for node in chunks),
        largest=max((node.tokens for node in chunks), default=0),
        unplaced=sum(not node.is_placed for node in chunks),
    )
