"""Collections copied between stores, and what one ledger knows of them told to the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import (
    CredentialsError,
    LedgerError,
    RagNodesError,
    StoreFullError,
    StoreLockedError,
    StoreUnreachableError,
)
from rag_nodes.store import copy_collection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rag_nodes.ledger import CollectionRow, Ledger
    from rag_nodes.store import CopyReport, CopyStep
    from rag_nodes.upkeep.inventory import Inventory
    from rag_nodes.upkeep.rows import HeldCollection


_ENDS_ALL = (
    CredentialsError,
    LedgerError,
    StoreFullError,
    StoreLockedError,
    StoreUnreachableError,
)
"""Errors by which the next collection would fail, too."""

_PORTION = 500
"""Documents whose ids are in memory at once."""


class CopyFailure(NamedTuple):
    """A collection that could not be copied; a run that is repeated goes on with it.

    Attributes:
        collection: its name.
        error: why, with the remedy.
    """

    collection: str
    error: RagNodesError


def copied(
    source: Inventory,
    target: Inventory,
    collections: Iterable[HeldCollection],
    progress: Callable[[CopyStep], None] | None = None,
    *,
    prune: bool = False,
) -> Iterator[CopyReport | CopyFailure]:
    """Copy collections one after another; see `rag_nodes.store.copy_collection`.

    One that is damaged, or is something else in the target, does not keep the others from it.

    Where both stores have a ledger, an ingest into the target then knows the files as one into the
    source does, and opens none that did not change.

    Args:
        source: where they are.
        target: where they go.
        collections: of the source.
        progress: called after every page.
        prune: delete the documents that only the target has.

    Raises:
        StoreError: what no collection can be copied by: a store is full, locked or does not
            answer, or a ledger cannot be read or written.
        CredentialsError: the key of a server is wrong.
    """
    for held in collections:
        name, ledger = held.info.name, source.ledger
        try:
            is_true = ledger and ledger.covers(
                name, source.store.marks(name), source.store.count(name)
            )
            report = copy_collection(name, source.store, target.store, progress, prune=prune)
            if is_true and ledger and target.ledger and held.row:
                _tell(held.row, ledger, target.ledger, prune=prune)
            yield report
        except _ENDS_ALL:
            raise
        except RagNodesError as error:
            yield CopyFailure(name, error)


def _tell(row: CollectionRow, source: Ledger, target: Ledger, *, prune: bool) -> None:
    """Write down in one ledger what another knows of a collection and of its files."""
    target.use(row)
    known = source.stored(row.name)
    if prune:
        target.forget_stored(row.name, target.stored(row.name).keys() - known.keys())
    stored = [one for one in known.values() if one.version]
    for start in range(0, len(stored), _PORTION):
        portion = stored[start : start + _PORTION]
        ids = source.listed_ids(row.name, [one.document_id for one in portion])
        target.settle(portion, ids)
    for known_file in source.known(row.corpus).values():
        target.record(*known_file)
