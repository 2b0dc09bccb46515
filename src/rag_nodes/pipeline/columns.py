"""One column of an ingest: a collection, what the ledger lists of it, and what is written there.

The order is what nothing is lost or doubled by: a document is opened in the ledger before the store
hears of it; its new points are stored, all other ones of it deleted, and what is there is counted;
and it is settled after the store was flushed. A run that is killed anywhere leaves documents that
are open, which the next run makes again: ids are functions of the content, so that what was stored
is overwritten automatically.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rag_nodes.core.errors import CancelledError, LedgerError, StoreError
from rag_nodes.core.own_metadata import own_metadata
from rag_nodes.embedding.failures import HOPELESS, noted, said
from rag_nodes.pipeline.ledger import StoredDocument, model_of, version_of
from rag_nodes.pipeline.units import in_brief
from rag_nodes.store import StoredNode
from rag_nodes.store.conditions import DOCUMENT_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag_nodes.pipeline.ledger import CollectionRow, Ledger
    from rag_nodes.pipeline.tally import Tally
    from rag_nodes.pipeline.units import ColumnResult, DocumentResult
    from rag_nodes.store import Store


_DISTURBED = "another process wrote to this document meanwhile; ingest it again"


class IngestColumn:
    """Writes what one column makes of units; used by one thread at a time.

    A failure of the store is an error of the column and of its documents, and stops nothing else:
    `stopped` says why no further document can be stored. `code` is that of what is written, and a
    part of the version of every document. Of a `dry_run` nothing is written but the ledger.
    """

    def __init__(
        self,
        name: str,
        row: CollectionRow,
        store: Store,
        ledger: Ledger,
        tally: Tally,
        *,
        code: str,
        dry_run: bool = False,
    ) -> None:
        self.name, self.collection, self.code = name, row.name, code
        self.stopped: str | None = None
        self._dry_run = dry_run
        self._row, self._store, self._ledger, self._tally = row, store, ledger, tally
        self._is_believed = self._is_marked = self._has_written = False
        self._trouble: StoreError | None = None
        self._pending: dict[str, DocumentResult] = {}
        self._own_keys: defaultdict[str, set[str]] = defaultdict(set)
        ledger.use(row)

    # What is stored.

    @property
    def row(self) -> CollectionRow:
        """Row of the collection in the ledger."""
        return self._row

    @property
    def dimension(self) -> int | None:
        """Length of the vectors in it; None where there are none, or nobody knows."""
        with self._failing((), "looking up what is stored"):
            self._believe()
        return self._row.dimension

    def stored_whole(self, document_ids: Sequence[str]) -> dict[str, StoredDocument]:
        """Return the rows of documents that are stored whole; none if the store does not answer."""
        documents: dict[str, StoredDocument] = {}
        with self._failing((), "looking up what is stored"):
            self._believe()
            rows = self._ledger.stored(self.collection, document_ids)
            documents = {document_id: row for document_id, row in rows.items() if row.version}
            for document_id in document_ids:
                if (pending := self._pending.get(document_id)) and pending.is_whole:
                    documents[document_id] = pending.stored
        return documents

    def vectors(self, document_ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Stored vectors of documents by the text that was embedded, by the same model."""
        vectors: dict[str, Sequence[float]] = {}
        own = model_of(version_of("", self.code))
        with self._failing((), "looking up what is stored"):
            self._believe()
            for payload, text, vector in self._store.vectors_of(self.collection, document_ids):
                self._own_keys[str(payload.get(DOCUMENT_ID))].update(own_metadata(payload))
                if model_of(StoredNode.of(payload).source_hash) == own:
                    vectors[text] = vector
        return vectors

    def _believe(self) -> None:
        """Have the ledger say what the store holds, once; if it is in doubt, it is rebuilt."""
        if self._trouble:
            raise self._trouble
        if self._is_believed:
            return
        try:
            store, name = self._store, self.collection
            count = store.count(name)
            documents = self._doubted(count)
            if documents is not None:
                rows = (StoredDocument.of(name, key, nodes) for key, nodes in documents.items())
                self._ledger.adopt(name, rows)
                if count:
                    self._use(self._row.dimension or store.dimension(name))
                    self._mark()
        except StoreError as error:
            self._trouble = None if isinstance(error, LedgerError) else error
            raise
        self._is_believed = True

    def _doubted(self, count: int) -> dict[str, dict[str, StoredNode]] | None:
        """Return the documents of the store if the ledger may be wrong; None if it is believed.

        That is where it bears the marks of this state of the store, and there may be as many chunks
        as there are.
        """
        store, name = self._store, self.collection
        is_covered = count and self._ledger.covers(name, store.marks(name), count)
        return None if is_covered else store.documents(name)

    def _mark(self) -> None:
        """Give the state of the collection an epoch, which the store and this ledger alone know.

        A process that is killed in between leaves two epochs, and so a ledger that is doubted.
        """
        if self._dry_run:
            return
        store, ledger, name = self._store, self._ledger, self.collection
        epoch = secrets.token_hex(8)
        with ledger.transaction():
            marks = {**dict.fromkeys(store.marks(name)), ledger.writer(name): epoch}
            if store.mark(name, marks):
                ledger.mark(name, epoch)
                self._is_marked = True

    def _use(self, dimension: int | None) -> None:
        self._row = self._row._replace(dimension=dimension)
        self._ledger.use(self._row)

    # What is written, in this order.

    def open(self, column_result: ColumnResult, paths: Mapping[str, str]) -> None:
        """Write down what is about to change, with the path of the file of each document.

        Where that fails, nothing is to be stored.
        """
        rows = self._ledger.stored(self.collection, [*column_result.documents])
        for key, row in rows.items():
            column_result.documents[key].previous = row.chunks
        changes = {
            key: document
            for key, document in column_result.documents.items()
            if document.points or document.is_new
        }
        if not changes or self.stopped:
            return
        due = list(changes.values())
        with self._failing(due, due[0].label):
            if not self._is_marked:
                self._mark()
            vectors = (point.vector for result in due for point in result.points if point.vector)
            if self._row.dimension is None and (vector := next(vectors, None)):
                self._use(len(vector))
            self._ledger.open(self.collection, [*changes], paths)
            for result in due:
                result.is_open = True
            return
        _refuse(due, due[0].error or "")  # what is not open is not stored

    def write(self, column_result: ColumnResult) -> int:
        """Store points, then delete what they replace; how many were stored."""
        self._compare_keys(column_result)
        due = [document for document in column_result.documents.values() if not document.is_known]
        stored = self._put([result for result in due if result.is_cut])
        for result in due:
            result.points, result.touched = (), True
        self._replace([result for result in due if result.is_new and result.is_open])
        for document_id, result in column_result.documents.items():
            column_result.documents[document_id] = self.enqueue(result)
        return stored

    def _compare_keys(self, column_result: ColumnResult) -> None:
        """Note which own keys the stored chunks of documents have, and the new ones have not."""
        for document_id, result in column_result.documents.items():
            keys = self._own_keys.pop(document_id, set())
            if keys and result.points:
                given = (own_metadata(point.payload) for point in result.points)
                result.removed_keys = keys.difference(*given)

    def _replace(self, results: Sequence[DocumentResult]) -> None:
        """Delete all but the new points of documents, and see that these are there."""
        ids = {result.stored.document_id: result.ids for result in results}
        with (
            self._failing(results, results[0].label if results else ""),
            self._tally.storing(self.name),
        ):
            previous = {
                result.stored.document_id for result in results if result.previous is not None
            }
            if previous:
                self._has_written = True
                kept = {
                    document_id: own for document_id, own in ids.items() if document_id in previous
                }
                self._store.delete_others(self.collection, kept)
                for result in results:
                    result.previous = 0
            if self._count(results) == sum(map(len, ids.values())):
                return
            for result in results:
                if self._count([result]) != len(result.ids):
                    result.fail(_DISTURBED)

    def _count(self, results: Sequence[DocumentResult]) -> int:
        ids = [result.stored.document_id for result in results]
        return self._store.count_of(self.collection, ids)

    def rehearse(self, column_result: ColumnResult) -> int:
        """Count what `write` would store."""
        points = 0
        self._compare_keys(column_result)
        for document_id, result in column_result.documents.items():
            result.touched = not result.is_known
            points += len(result.points)
            chunks = sum(point.vector is not None for point in result.points)
            self._tally.tell("store", self.name, chunks, 0)
            result.points = ()
            column_result.documents[document_id] = self.enqueue(result)
        return points

    def _put(self, results: Sequence[DocumentResult]) -> int:
        """Store the points of documents; where all are refused, those of each document alone."""
        points = [point for result in results for point in result.points]
        if not points:
            return 0
        if self.stopped:
            return _refuse(results, self.stopped)
        try:
            with self._tally.storing(self.name):
                self._store.put(self.collection, points)
                if not self._is_marked:  # the collection was not there before
                    self._mark()
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 -- of the store of somebody else
            if not isinstance(error, HOPELESS) and len(results) > 1:
                return sum(self._put([result]) for result in results)
            self._note_error(results[0].label, error)
            return _refuse(results, said(error))
        self._has_written = True
        chunks = sum(point.vector is not None for point in points)
        self._tally.tell("store", self.name, chunks, 0)
        return len(points)

    def enqueue(self, result: DocumentResult) -> DocumentResult:
        """Have a document settled at the next checkpoint, or its error written down.

        Returns:
            The same; or what this run made of it before, where that is to be settled, too.
        """
        document_id = result.stored.document_id
        pending = self._pending.get(document_id)
        if result.is_known:
            if pending and pending.stored.version == result.stored.version:
                return pending
            # Of another version that failed, or of a run that was killed; but it may have changed.
            row = self.stored_whole([document_id]).get(document_id) if result.stored.error else None
            if row is None or row.version != result.stored.version:
                return result
        self._pending[document_id] = result
        return result

    def flush(self) -> None:
        """Have the store keep what it was given."""
        if self._has_written:
            with self._failing(self._pending.values(), "the last chunks"):
                self._store.flush(self.collection)
                self._has_written = False

    def settle(self) -> None:
        """Say in the ledger what is stored whole, and why the others are not."""
        pending, self._pending = list(self._pending.values()), {}
        name = self.collection
        self._ledger.settle(
            result.stored._replace(collection=name, error=None, failed_at=None)
            for result in pending
            if result.is_whole
        )
        failed = {
            result.stored.document_id: in_brief(result.error) for result in pending if result.error
        }
        if failed:
            self._ledger.fail(name, failed)

    def conclude(self) -> None:
        """Tell what is stored now from what was while this ingest wrote."""
        if self._is_marked:
            with self._failing((), "the last chunks"):
                self._mark()

    # What fails.

    def _note_error(self, what: str, error: Exception) -> None:
        self._tally.fail(self.name, noted(self.name, what, error))
        if isinstance(error, HOPELESS):
            self.stopped = self.stopped or said(error)

    @contextmanager
    def _failing(self, results: Iterable[DocumentResult], what: str) -> Iterator[None]:
        """Turn failures of a store into an error of the column, and of some documents."""
        try:
            yield
        except (CancelledError, LedgerError):
            raise
        except Exception as error:  # noqa: BLE001 -- of the store of somebody else
            if not self.stopped:
                self._note_error(what, error)
            for result in results:
                result.fail(said(error))


def _refuse(results: Iterable[DocumentResult], why: str) -> int:
    """Say of documents that points of them are not stored, of which there are none."""
    for result in results:
        if result.points:
            result.missing += sum(point.vector is not None for point in result.points)
            result.points = ()
            result.fail(why)
    return 0
