"""Collections copied from one store to another, so that a copy can be gone on with after any end.

Both sides list their points with what an ingest notes of each, and a point is sent where the target
lacks it or has it of another version. Then the target is listed again, and has to hold what the
source does.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from rag_nodes.core.errors import (
    ConfigurationError,
    CredentialsError,
    DimensionError,
    LedgerError,
    RagNodesError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreUnreachableError,
)
from rag_nodes.store.catalogue import missing
from rag_nodes.store.engine import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rag_nodes.store.catalogue import StoredNode
    from rag_nodes.store.engine import EngineCollection
    from rag_nodes.store.store import Store

    Documents = Mapping[str, Mapping[str, StoredNode]]

PAGE = 256
"""Points read, sent and deleted together."""


class CopyStep(NamedTuple):
    """Progress of copying the collection `name`, in points that are in the target."""

    name: str
    done: int
    total: int
    stage: Literal["copy"] = "copy"


@dataclass(frozen=True, slots=True)
class CopyReport:
    """Result of copying a collection: points of the source that were `sent` or `unchanged`.

    Of the target's, `deleted` as the source has others or none in their place, and `extra`, of
    documents that only the target has, which were left alone.
    """

    collection: str
    points: int
    sent: int
    unchanged: int
    deleted: int
    extra: int
    seconds: float


class CopyFailure(NamedTuple):
    """A collection that could not be copied, and why; a run that is repeated goes on with it."""

    collection: str
    error: RagNodesError


_ENDS_ALL = (
    CredentialsError,
    LedgerError,
    StoreFullError,
    StoreLockedError,
    StoreUnreachableError,
)
"""Errors by which the next collection could not be copied either."""
Report = TypeVar("Report")


def one_by_one(
    names: Iterable[str], copy: Callable[[str], Report]
) -> Iterator[Report | CopyFailure]:
    """Yield the result of each collection; a failure does not stop the others.

    Raises:
        StoreError: what no collection can be copied by: a store is full, locked or does not answer,
            or a ledger cannot be read or written.
        CredentialsError: the key of a server is wrong.
    """
    for name in names:
        try:
            yield copy(name)
        except _ENDS_ALL:
            raise
        except RagNodesError as error:
            yield CopyFailure(name, error)


def copy_collection(
    collection: str,
    source: Store,
    target: Store,
    progress: Callable[[CopyStep], None] | None = None,
    *,
    prune: bool = False,
) -> CopyReport:
    """Make a collection of one store the same in another; nothing is embedded again.

    Chunks that another program stored without a BM25 vector get one in the target. Run again after
    any interruption it sends what lacks. Nothing else may write to either meanwhile.

    Args:
        collection: its name, one of ours; made in the target where missing.
        source: read from.
        target: written to.
        progress: called after every page.
        prune: delete the documents that only the target has.

    Raises:
        CollectionMissingError: the source has no such collection.
        ConfigurationError: both stores are the same, or one of the collections is not ours.
        DimensionError: the target has a collection of that name for other embeddings.
        StoreError: a store failed, or what was written is not what is read afterwards.
    """
    from rag_nodes.store.payload import with_words

    started = time.perf_counter()
    ours, theirs = _sides(collection, source, target)
    wanted, stored = source.documents(collection), target.documents(collection)
    total, due = sum(map(len, wanted.values())), _unlike(wanted, stored)
    alone = {d: nodes.keys() - wanted.get(d, {}).keys() for d, nodes in stored.items()}
    stale = [node_id for d, ids in alone.items() if prune or d in wanted for node_id in ids]
    if due or stale:
        with target.engine.step(collection):  # no ledger is believed that does not hear of this
            theirs.mark(dict.fromkeys(theirs.marks()))
    for first in range(0, len(due), PAGE):
        with source.engine.step(collection):
            page = ours.read(due[first : first + PAGE], vectors=True)
        with target.engine.step(collection):
            theirs.write(with_words(page, source.engine.place(collection)))
        if progress:
            progress(CopyStep(collection, total - len(due) + first + len(page), total))
    target.delete(collection, stale)
    target.flush(collection)
    if lost := len(_unlike(wanted, target.documents(collection), all_versions=True)):
        raise StoreError(
            f"{target.location}: collection '{collection}' differs from what was sent to it in "
            f"{lost} of {total} points; make sure that nothing else writes to it or to "
            f"{source.location}, and run this again"
        )
    extra = sum(map(len, alone.values())) - len(stale)
    seconds = time.perf_counter() - started
    return CopyReport(collection, total, len(due), total - len(due), len(stale), extra, seconds)


def _unlike(wanted: Documents, stored: Documents, *, all_versions: bool = False) -> list[str]:
    """Points that are not there as they are wanted.

    What no ingest wrote has no version: it counts as another one, but with `all_versions`.
    """
    return [
        node_id
        for document, nodes in wanted.items()
        for node_id, node in nodes.items()
        if not (node.source_hash or all_versions) or stored.get(document, {}).get(node_id) != node
    ]


def _sides(name: str, source: Store, target: Store) -> tuple[EngineCollection, EngineCollection]:
    """The collection and its copy, which has the same vectors; for errors see above."""
    if source.engine is target.engine:
        raise ConfigurationError(
            f"{source.location}: a store cannot be copied to itself; name another target"
        )
    with source.engine.step(name):
        ours = source.engine.collection(name)
    if ours is None:
        raise missing(source.location, name)
    with target.engine.step(name):
        if target.engine.collection(name) is None and ours.layout.is_ours:
            target.engine.create(name, Layout(ours.layout.size))
        theirs = target.engine.collection(name) or ours
    for store, side in ((source, ours), (target, theirs)):
        if not side.layout.is_ours:
            raise ConfigurationError(
                f"{store.location}: collection '{name}' was written by another program, and only "
                "collections of ours can be copied"
            )
    if theirs.layout.size != ours.layout.size:
        raise DimensionError(
            f"{target.location}: collection '{name}' holds vectors of length "
            f"{theirs.layout.size}, that of {source.location} {ours.layout.size}; drop the one "
            "that is wrong, and run this again"
        )
    return ours, theirs
