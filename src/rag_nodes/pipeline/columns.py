"""One column of an ingest: a collection, what the ledger lists of it, and what is written there.

The order is what nothing is lost or doubled by: ids enter the ledger before the store hears of
their points, and leave it after the store deleted them and was flushed. So the ledger lists all
that is stored, and at times more; a document counts as stored only when it was settled. A run that
is killed anywhere leaves documents that are not, which the next run makes again: ids are functions
of the content, so that what was stored is overwritten by itself.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from rag_nodes.embedding.failures import HOPELESS, noted, said
from rag_nodes.errors import CancelledError, LedgerError, StoreError
from rag_nodes.ledger import StoredDocument, model_of, version_of
from rag_nodes.pipeline.units import in_brief
from rag_nodes.store import is_complete

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag_nodes.ledger import CollectionRow, Ledger
    from rag_nodes.pipeline.tally import Tally
    from rag_nodes.pipeline.units import ColumnResult, DocumentResult
    from rag_nodes.store import Store, StoredNode


class IngestColumn:
    """Writes what one column makes of units; used by one thread at a time.

    A failure of the store is an error of the column and of its documents, and stops nothing else:
    `stopped` says why no further document can be stored. `code` is that of what is written, and a
    part of the version of every document.
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
    ) -> None:
        self.name, self.collection, self.code = name, row.name, code
        self.stopped: str | None = None
        self._row, self._store, self._ledger, self._tally = row, store, ledger, tally
        self._is_believed = self._is_marked = self._has_written = False
        self._trouble: StoreError | None = None
        self._pending: dict[str, DocumentResult] = {}
        ledger.use(row)

    # What is stored.

    @property
    def dimension(self) -> int | None:
        """Length of the vectors in it; None where there are none, or nobody knows."""
        with self._failing((), "looking up what is stored"):
            self._believe()
        return self._row.dimension

    def stored_whole(self, document_ids: Sequence[str]) -> dict[str, StoredDocument]:
        """Which of some documents are stored whole; none where the store does not answer."""
        found: dict[str, StoredDocument] = {}
        with self._failing((), "looking up what is stored"):
            self._believe()
            rows = self._ledger.stored(self.collection, document_ids)
            found = {one: row for one, row in rows.items() if row.version}
            for one in document_ids:
                if (made := self._pending.get(one)) and made.is_whole:
                    found[one] = made.stored
        return found

    def vectors(self, document_ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Stored vectors of documents by the text that was embedded, by the same model."""
        found: dict[str, tuple[str, list[float]]] = {}
        with self._failing((), "looking up what is stored"):
            own = model_of(version_of("", self.code))
            settled, others = self._stored(document_ids)
            ids = [i for row, of in settled.values() if model_of(row.version) == own for i in of]
            for nodes in others.values():
                ids += [one for one, node in nodes.items() if model_of(node.source_hash) == own]
            found = self._store.vectors(self.collection, ids) if ids else {}
        return dict(found.values())

    def _stored(
        self, document_ids: Sequence[str]
    ) -> tuple[dict[str, tuple[StoredDocument, tuple[str, ...]]], dict[str, dict[str, StoredNode]]]:
        """Rows and ids of documents that are settled, and what the store has of the others."""
        self._believe()
        listed = self._ledger.listed_ids(self.collection, document_ids)
        rows = self._ledger.stored(self.collection, list(listed))
        settled = {one: (rows[one], ids) for one, ids in listed.items() if rows[one].version}
        asked = listed.keys() - settled.keys()
        return settled, {one: self._store.stored(self.collection, one) for one in asked}

    def _believe(self) -> None:
        """Have the ledger say what the store holds, once: made anew from it where it is doubted."""
        if self._trouble:
            raise self._trouble
        if self._is_believed:
            return
        try:
            store, name = self._store, self.collection
            count = store.count(name)
            found = self._doubted(count)
            if found is not None:
                rows = ((stored_row(name, one, of), of) for one, of in found.items())
                self._ledger.adopt(name, rows)
                if count:
                    nodes = (pair for of in found.values() for pair in of.items())
                    chunks = (one for one, node in nodes if not node.is_parent)
                    sample = store.vectors(name, list(islice(chunks, 1))).values()
                    there = next((len(vector) for _, vector in sample), None)
                    self._use(self._row.dimension or there)
                    self._mark()
        except StoreError as error:
            self._trouble = None if isinstance(error, LedgerError) else error
            raise
        self._is_believed = True

    def _doubted(self, count: int) -> dict[str, dict[str, StoredNode]] | None:
        """What the store says of documents; None where the ledger is believed.

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

    def look_up(self, made: ColumnResult) -> None:
        """See what is stored of documents that are about to be written; that need not be put."""
        due = {key: one for key, one in made.documents.items() if not one.is_known}
        with self._failing(due.values(), "looking up what is stored"):
            settled, others = self._stored(list(due))
            for key, (row, ids) in settled.items():
                due[key].former, due[key].former_chunks = frozenset(ids), row.chunks
            self._has_written |= bool(others)  # perhaps by a run that could not flush it
            for key, nodes in others.items():
                one, version = due[key], due[key].stored.version
                one.former = frozenset(nodes)
                one.former_chunks = sum(not node.is_parent for node in nodes.values())
                there = {i: n.is_parent for i, n in nodes.items() if n.source_hash == version}
                one.points = [p for p in one.points if there.get(p.node_id) != (p.vector is None)]

    def intend(self, made: ColumnResult, paths: Mapping[str, str]) -> None:
        """Write down what is about to change, with the path of the file of each document.

        Where that fails, nothing is to be stored.
        """
        due = [one for one in made.documents.values() if one.points or one.stale]
        if not due or self.stopped:
            return
        with self._failing(due, due[0].label):
            if not self._is_marked:
                self._mark()
            vectors = (point.vector for one in due for point in one.points if point.vector)
            if self._row.dimension is None and (vector := next(vectors, None)):
                self._use(len(vector))
            ids = {one.stored.document_id: one.ids for one in due}
            self._ledger.intend(self.collection, ids, paths)
            for one in due:
                one.is_listed = True
            return
        _refuse(due, due[0].error or "")  # what is not listed is not stored

    def write(self, made: ColumnResult) -> int:
        """Store points, then delete what they replace; how many were stored."""
        due = [one for one in made.documents.values() if not one.is_known]
        for one in due:
            one.touched = bool(one.points or one.stale or not one.stored.chunks)
        stored = self._put([one for one in due if one.is_cut])
        for one in due:
            one.points = ()
            if one.is_listed and (stale := one.stale):
                with self._failing([one], one.label), self._tally.storing(self.name):
                    self._store.delete(self.collection, sorted(stale))
                    self._has_written = True
                    self._tally.columns[self.name].deleted += len(stale)
                    one.former -= stale
        for document_id, one in made.documents.items():
            made.documents[document_id] = self.enqueue(one)
        return stored

    def _put(self, made: Sequence[DocumentResult]) -> int:
        """Store the points of documents; where all are refused, those of each document alone."""
        points = [point for one in made for point in one.points]
        if not points:
            return 0
        if self.stopped:
            return _refuse(made, self.stopped)
        try:
            with self._tally.storing(self.name):
                self._store.put(self.collection, points)
                if not self._is_marked:  # the collection was not there before
                    self._mark()
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 -- of the store of somebody else
            if not isinstance(error, HOPELESS) and len(made) > 1:
                return sum(self._put([one]) for one in made)
            self._note_error(made[0].label, error)
            return _refuse(made, said(error))
        self._has_written = True
        chunks = sum(point.vector is not None for point in points)
        self._tally.tell("store", self.name, chunks, 0)
        return len(points)

    def enqueue(self, made: DocumentResult) -> DocumentResult:
        """Have a document settled at the next checkpoint, or its error written down.

        Returns:
            The same; or what this run made of it before, where that is to be settled, too.
        """
        document_id = made.stored.document_id
        pending = self._pending.get(document_id)
        if made.is_known:
            if pending and pending.stored.version == made.stored.version:
                return pending
            # Of another version that failed, or of a run that was killed; but it may have changed.
            row = self.stored_whole([document_id]).get(document_id) if made.stored.error else None
            if row is None or row.version != made.stored.version:
                return made
        self._pending[document_id] = made
        return made

    def flush(self) -> None:
        """Have the store keep what it was given."""
        if self._has_written:
            with self._failing(self._pending.values(), "the last chunks"):
                self._store.flush(self.collection)
                self._has_written = False

    def settle(self) -> None:
        """Say in the ledger what is stored whole, and why the others are not."""
        pending, self._pending = list(self._pending.values()), {}
        whole = [one for one in pending if one.is_whole]
        name = self.collection
        self._ledger.settle(
            [one.stored._replace(collection=name, error=None, failed_at=None) for one in whole],
            {one.stored.document_id: one.ids for one in whole if not one.is_known},
        )
        failed = {one.stored.document_id: in_brief(one.error) for one in pending if one.error}
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
    def _failing(self, made: Iterable[DocumentResult], what: str) -> Iterator[None]:
        """Turn failures of a store into an error of the column, and of some documents."""
        try:
            yield
        except (CancelledError, LedgerError):
            raise
        except Exception as error:  # noqa: BLE001 -- of the store of somebody else
            if not self.stopped:
                self._note_error(what, error)
            for one in made:
                one.fail(said(error))


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


def _refuse(made: Iterable[DocumentResult], why: str) -> int:
    """Say of documents that points of them are not stored, of which there are none."""
    for one in made:
        if one.points:
            one.missing += sum(point.vector is not None for point in one.points)
            one.points = ()
            one.fail(why)
    return 0
