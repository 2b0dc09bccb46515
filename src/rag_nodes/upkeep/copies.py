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
from rag_nodes.pipeline.record import is_current
from rag_nodes.store import copy_collection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rag_nodes.ledger import Ledger
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
        try:
            yield _copied(source, target, held, progress, prune=prune)
        except _ENDS_ALL:
            raise
        except RagNodesError as error:
            yield CopyFailure(held.info.name, error)


def _copied(
    source: Inventory,
    target: Inventory,
    held: HeldCollection,
    progress: Callable[[CopyStep], None] | None,
    *,
    prune: bool,
) -> CopyReport:
    name = held.info.name
    books = source.ledger if source.ledger and held.row else None
    count = source.store.count(name)
    is_true = books is not None and is_current(books, source.store, name, count)
    report = copy_collection(name, source.store, target.store, progress, prune=prune)
    if books and target.ledger and is_true:
        _tell(books, target.ledger, held, prune=prune)
    return report


def _tell(source: Ledger, target: Ledger, held: HeldCollection, *, prune: bool) -> None:
    """Write down in one ledger what another knows of a collection and of its files."""
    assert held.row is not None  # noqa: S101 -- for the type checker
    corpus, name = held.row.corpus, held.row.name
    target.use(held.row)
    known = source.deposits(name)
    if prune:
        target.forget_deposits(name, target.deposits(name).keys() - known.keys())
    target.settle(row for row in known.values() if not row.is_empty)
    documents = source.documents(corpus)
    for path, file in source.files(corpus).items():
        target.record(file, documents.get(path, []))
