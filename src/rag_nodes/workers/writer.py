"""The one who may write: what workers send goes into the store in order."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rag_nodes.errors import RagNodesError
from rag_nodes.pipeline.notes import HOPELESS
from rag_nodes.workers.merging import Refusal
from rag_nodes.workers.messages import Deleted, NotStored, Settled, Unsettled
from rag_nodes.workers.packing import PackedPoints

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rag_nodes.pipeline.books import Books
    from rag_nodes.pipeline.record import CollectionRecord
    from rag_nodes.store import StoredNode
    from rag_nodes.workers.batches import DueFile, FileGroup
    from rag_nodes.workers.messages import FileNote, Stored, Vectors

Sent = PackedPoints | Deleted | Unsettled | Settled | NotStored
"""What of the messages of workers is for the one who writes."""
Refusals = dict[str, dict[str, Refusal]]
"""What the store did not take, by document, by collection."""


class Writer:
    """Puts what workers send into the store, and tells them what is in it.

    Args:
        records: of the collections that the ingest writes.
        books: told what becomes of files.
        vectors: names of what stored nodes were embedded as that is sent along, since doing it
            again costs money.
        is_shared: workers look and write into the store themselves; what is left is the books.

    Attributes:
        closed: why nothing more can be written, by collection.
    """

    def __init__(
        self,
        records: Iterable[CollectionRecord],
        books: Books,
        *,
        vectors: Collection[str] = (),
        is_shared: bool = False,
    ) -> None:
        self._records = {record.collection: record for record in records}
        self._books = books
        self._names = vectors
        self._is_shared = is_shared
        self.closed: dict[str, str] = {}

    def stored(self, group: FileGroup) -> Stored:
        """What is stored of the documents of some files, by collection and document.

        Of a file of many documents nobody knows which before it was read: it gets to see all.
        """
        found: dict[str, Mapping[str, Mapping[str, StoredNode]]] = {}
        for collection, record in self._records.items():
            if collection in self.closed:
                continue
            try:
                if self._is_shared:
                    # Before a worker writes, or its death in between would not be noticed.
                    known = record.known(group.documents)
                    record.unsettle(dict.fromkeys(known, ()))
                else:
                    found[collection] = _known(record, group)
            except HOPELESS as error:
                self.closed[collection] = str(error)
        return found

    def vectors(self, stored: Stored) -> Vectors:
        """What these nodes were embedded as, where that is worth sending."""
        found: dict[str, Mapping[str, Mapping[str, tuple[str, list[float]]]]] = {}
        for collection, known in stored.items():
            ids = [one for nodes in known.values() for one in nodes]
            store = self._records[collection].store
            if ids and self._names:
                found[collection] = {
                    name: store.vectors(collection, ids, name) for name in self._names
                }
        return found

    def write(self, sent: Sent, refusals: Refusals) -> None:
        """Do what a worker asks for.

        Args:
            sent: what it sent.
            refusals: of its batch; what the store does not take is noted there, and then nothing
                that it was to replace is deleted, and nothing is written down as whole.
        """
        collection = sent.collection
        if collection in self.closed and not isinstance(sent, NotStored):
            self._note(sent, self.closed[collection], refusals)
            return
        try:
            self._write(sent, is_whole=not refusals[collection])
        except RagNodesError as error:
            self._note(sent, str(error), refusals)
            if isinstance(error, HOPELESS):
                self.closed[collection] = str(error)

    def _write(self, sent: Sent, *, is_whole: bool) -> None:
        record = self._records[sent.collection]
        match sent:
            case PackedPoints():
                record.store.put(sent.collection, sent.points())
            case Unsettled():
                record.unsettle(sent.documents, sent.dimension)
            case Deleted() if is_whole:
                record.store.delete(sent.collection, sent.node_ids)
            case Settled() if is_whole:
                record.settle(sent.rows)
            case NotStored():
                record.fail(sent.errors)

    def announce(self, files: Sequence[DueFile], notes: Sequence[FileNote]) -> None:
        """Write down what a worker has read, before anything of it is stored; see `conclude`."""
        if notes:
            with self._books.together():
                for one in notes:
                    row = files[one.file].row
                    if row and one.found:
                        self._books.announce(row, one.found)

    def conclude(self, files: Sequence[DueFile], notes: Iterable[FileNote]) -> None:
        """Write down what files became, whose batch is done.

        Args:
            files: of the batch.
            notes: of them, by their positions, those of a file one after another.
        """
        with self._books.together():
            for one in notes:
                if row := files[one.file].row:
                    self._books.note(row, one.found, one.error)
            self._books.close()

    def _note(self, sent: Sent, why: str, refusals: Refusals) -> None:
        if not isinstance(sent, PackedPoints):
            refusals[sent.collection].setdefault("", Refusal(why, 0))
            return
        chunks = sent.chunks_by_document()
        for document in dict.fromkeys(sent.documents):
            before = refusals[sent.collection].get(document, Refusal(why, 0))
            refusals[sent.collection][document] = before._replace(
                chunks=before.chunks + chunks[document]
            )


def _known(record: CollectionRecord, group: FileGroup) -> dict[str, Mapping[str, StoredNode]]:
    """What is stored of the documents of some files, and of others of the same bytes."""
    if group.is_collection:
        return dict(record.store.documents(record.collection))
    ids = group.documents
    twins = [twin for one in group.files for twin in one.twins]
    found = {one: record.stored(one) for one in dict.fromkeys([*ids, *twins])}
    return {one: nodes for one, nodes in found.items() if nodes}


def no_refusals() -> Refusals:
    """Nothing was refused so far."""
    return defaultdict(dict)
