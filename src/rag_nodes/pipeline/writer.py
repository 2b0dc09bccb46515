"""The only writer of a collection in an ingest: ids, points, deletions, checkpoints."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rag_nodes.errors import CancelledError, LedgerError
from rag_nodes.pipeline.failures import HOPELESS, noted, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rag_nodes.ledger import StoredDocument
    from rag_nodes.pipeline.collections import IngestCollection
    from rag_nodes.pipeline.deposit import Deposit
    from rag_nodes.pipeline.totals import Totals
    from rag_nodes.store.points import Point


class ColumnWriter:
    """Writes what one column makes of units.

    A failure of the store is an error of the column and of its documents, and stops nothing else.

    Args:
        number: of the column.
        name: of its parser in the report.
        collection: where its chunks go.
        totals: counts what is done.
        stop: hears why no further document can be stored.
        dry_run: store nothing, and write nothing down.
    """

    def __init__(
        self,
        number: int,
        name: str,
        collection: IngestCollection,
        totals: Totals,
        stop: Callable[[str], None],
        *,
        dry_run: bool,
    ) -> None:
        self.collection = collection
        self._number, self._name, self._totals = number, name, totals
        self._stop, self._dry_run = stop, dry_run
        self._unwritable: str | None = None
        self._pending: list[Deposit] = []
        self._has_written = False

    def whole(self, document_ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """What is stored whole of documents."""
        with self.failing((), "looking up what is stored"):
            return self.collection.whole(document_ids)
        return {}

    def listed(self, deposits: Iterable[Deposit]) -> dict[str, set[str]]:
        """Ids that are stored of documents, by document."""
        due = [one for one in deposits if not one.is_known]
        with self.failing(due, "looking up what is stored"):
            former = self.collection.former([one.document_id for one in due])
            return {one: set(ids) for one, ids in former.items()}
        return {}

    def intend(
        self, deposits: Iterable[Deposit], former: dict[str, set[str]], points: Sequence[Point]
    ) -> None:
        """Write down what is about to change."""
        due = [one for one in deposits if _changes(one, former)]
        if due and not self._unwritable:
            with self.failing(due, due[0].label):
                dimension = next((len(one.vector) for one in points if one.vector), None)
                self.collection.intend(due, dimension)

    def store(
        self, deposits: Sequence[Deposit], former: dict[str, set[str]], points: Sequence[Point]
    ) -> int:
        """Store points, then delete what they replace; how many were stored.

        Args:
            deposits: of a unit.
            former: what was stored of their documents before.
            points: of all of them, and perhaps of others.
        """
        due = [one for one in deposits if one.is_cut]
        stored = self._put(due, points)
        for one in due:
            stale = former.get(one.document_id, set()).difference(one.ids)
            one.touched = bool(one.put or stale or not one.counts.chunks)
            if one.is_stored and stale:
                with self.failing([one], one.label), self._totals.timed(self._number, "store"):
                    if not self._dry_run:
                        self.collection.store.delete(self.collection.name, sorted(stale))
                    self._totals.deleted(self._number, len(stale))
                    stale = set()
            one.former = self._former_chunks(one, stale)
        for one in deposits:
            if not one.is_cut and not one.is_known:
                one.former = self._former_chunks(one, former.get(one.document_id, set()))
        return stored

    def later(self, deposits: Iterable[Deposit]) -> None:
        """Write these down with the next checkpoint."""
        if not self._dry_run:
            self._pending += deposits

    def flush(self) -> None:
        """Have the store keep what it was given."""
        if self._has_written:
            with self.failing(self._pending, "the last chunks"):
                self.collection.store.flush(self.collection.name)
                self._has_written = False

    def settle(self) -> None:
        """Say in the ledger what is stored whole, and why the others are not."""
        pending, self._pending = self._pending, []
        newest = {one.document_id: one for one in pending}.values()
        self.collection.settle([one for one in newest if one.is_whole])
        self.collection.fail(one for one in newest if not one.is_whole)

    def conclude(self) -> None:
        """Nothing more is written."""
        with self.failing((), "the last chunks"):
            self.collection.conclude()

    def _put(self, deposits: Sequence[Deposit], points: Sequence[Point]) -> int:
        """Store the points of documents; where all are refused, those of each document alone."""
        own = [point for one in deposits for point in points[one.at]]
        if not own:
            return 0
        if self._unwritable:
            _refuse(deposits, points, self._unwritable)
            return 0
        try:
            with self._totals.timed(self._number, "store"):
                if not self._dry_run:
                    self.collection.put(own)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 -- of the store of somebody else
            if isinstance(error, HOPELESS) or len(deposits) == 1:
                self._note(deposits[0].label, error)
                _refuse(deposits, points, said(error))
                return 0
            return sum(self._put([one], points) for one in deposits)
        self._has_written = True
        self._totals.stored(self._number, sum(one.vector is not None for one in own))
        return len(own)

    def _former_chunks(self, deposit: Deposit, stale: Iterable[str]) -> int:
        """How many chunks, and no parents, of its former version are stored of a document."""
        if not stale:
            return 0
        with self.failing((), deposit.label):
            collection = self.collection
            stored = collection.store.stored(collection.name, deposit.document_id)
            return sum(one in stored and not stored[one].is_parent for one in stale)
        return 0

    def _note(self, what: str, error: Exception) -> None:
        noted(self._name, what, error)
        self._totals.note(self._number, f"{what}: {said(error)}")
        if isinstance(error, HOPELESS):
            self._unwritable = self._unwritable or said(error)
            self._stop(said(error))

    @contextmanager
    def failing(self, deposits: Iterable[Deposit], what: str) -> Iterator[None]:
        """Turn failures of a store into an error of the column, and of some documents."""
        try:
            yield
        except (CancelledError, LedgerError):
            raise
        except Exception as error:  # noqa: BLE001 -- of the store of somebody else
            if not self._unwritable:
                self._note(what, error)
            for one in deposits:
                one.fail(said(error))


def _refuse(deposits: Sequence[Deposit], points: Sequence[Point], why: str) -> None:
    """Say of documents that points of them are not stored."""
    for one in deposits:
        if lost := points[one.at]:
            one.missing += sum(point.vector is not None for point in lost)
            one.put, one.at = frozenset(), slice(0, 0)
            one.fail(why)


def _changes(deposit: Deposit, former: dict[str, set[str]]) -> bool:
    """Whether something is stored or deleted for it."""
    if deposit.put:
        return True
    stale = former.get(deposit.document_id, set()).difference(deposit.ids)
    return deposit.is_cut and deposit.is_stored and bool(stale)
