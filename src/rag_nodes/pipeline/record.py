"""What is known of a collection before it is written, and who is told what was written to it."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rag_nodes.errors import LedgerError, StoreError
from rag_nodes.ledger import DepositRow
from rag_nodes.models.rebuilding import without_keys
from rag_nodes.store import is_complete

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rag_nodes.ledger import CollectionRow, Ledger
    from rag_nodes.store import Catalogue, Store, StoredNode

FEW = 200
"""Documents that are asked for one by one; beyond it the store gives its whole catalogue."""

SOME = 5
"""Documents that are looked at where a count proves little."""

LONGEST = 1000
"""Characters of an error that a ledger keeps."""


class CollectionRecord:
    """A collection of a store that nobody keeps a ledger of.

    Args:
        store: where it is.
        collection: its name.

    Attributes:
        own: ids of nodes that this very ingest has begun to write, in another process that died.
        code: of what is written to it, which is part of the version of every document there.
    """

    is_new = False
    """Whether the ledger had never heard of it."""

    def __init__(self, store: Store, collection: str) -> None:
        self.store = store
        self.collection = collection
        self.own: frozenset[str] = frozenset()
        self.code = ""
        self._catalogue: Catalogue | None = None

    def stored(self, document_id: str) -> Mapping[str, StoredNode]:
        """The stored nodes of a document, by id, as they were when the first was asked for."""
        if self._catalogue is None:
            self._catalogue = self.store.catalogue(self.collection)
        return self._catalogue(document_id)

    def known(self, document_ids: Sequence[str]) -> dict[str, DepositRow]:  # noqa: ARG002
        """What is certain without asking the store, of those documents that are stored whole."""
        return {}

    def unsettle(
        self, documents: Mapping[str, Sequence[str]], dimension: int | None = None
    ) -> None:
        """Say that documents are about to be changed in the store.

        Args:
            documents: by id, the ids of the nodes that are to be written, none where some only go.
            dimension: length of the vectors that are to be written.
        """

    def settle(self, rows: Iterable[DepositRow], deleted: int = 0) -> None:
        """Say which documents are stored whole, as the store confirmed all it was given.

        Args:
            rows: of these.
            deleted: former nodes of them that went.
        """

    def fail(self, errors: Mapping[str, str]) -> None:
        """Say why documents are not stored whole.

        Args:
            errors: by document.
        """

    def conclude(self) -> None:
        """Say that this ingest changes nothing more."""


class LedgerRecord(CollectionRecord):
    """A collection of which a ledger is kept. Safe to share between threads.

    The ledger is believed where it is that of this state of the store, see `is_current`; else it is
    first made anew from the store.

    Args:
        store: where the collection is.
        row: the collection.
        ledger: of the store.

    Attributes:
        parser: class name of the collection's parser.
    """

    _is_shared = False
    """Whether others write to the same collection meanwhile, and keep ledgers of their own."""
    _knows_all = True
    """Whether nothing is stored of documents that a ledger has never heard of, if it is true."""

    def __init__(self, store: Store, row: CollectionRow, ledger: Ledger) -> None:
        super().__init__(store, row.name)
        self._row = row
        self._ledger = ledger
        self._lock = threading.RLock()
        self._believed: bool | None = None
        self._is_blank = False
        self._asked = 0
        self._is_marked = False
        self._open: set[str] = set()
        self.parser = row.parser
        self.is_new = ledger.use(row)

    def stored(self, document_id: str) -> Mapping[str, StoredNode]:
        """The stored nodes of a document, by id."""
        if not self._is_believed():
            return super().stored(document_id)
        row = self._ledger.deposits(self.collection, [document_id]).get(document_id)
        if self._is_blank or row is None or (row.is_empty and row.stored_at is not None):
            return {}
        self._asked += 1
        if self._asked > FEW:
            return super().stored(document_id)
        return self.store.stored(self.collection, document_id)

    def known(self, document_ids: Sequence[str]) -> dict[str, DepositRow]:
        """What is stored whole of some documents, by id; nothing where the store must be asked."""
        try:
            if not self._is_believed() or self._is_blank:
                return {}
        except LedgerError:
            raise
        except StoreError:
            return {}  # whoever writes to it will say so
        rows = self._ledger.deposits(self.collection, document_ids)
        return {
            one: row for one, row in rows.items() if row.stored_at is not None and row.source_hash
        }

    def unsettle(
        self, documents: Mapping[str, Sequence[str]], dimension: int | None = None
    ) -> None:
        """Mark their rows, so that a run that is killed now is found out by the next."""
        if not self._is_marked:
            self._mark()
        if dimension and self._row.dimension is None:
            self._row = self._row._replace(dimension=dimension)
            self._ledger.use(self._row)
        due = documents.keys() - self._open
        if due:
            self._ledger.unsettle(self.collection, sorted(due))
            self._open |= due

    def settle(self, rows: Iterable[DepositRow], deleted: int = 0) -> None:
        """Write down those that are stored whole, and nothing else of them."""
        del deleted
        if whole := list(rows):
            self._ledger.settle(whole)
            self._open -= {row.document_id for row in whole}
            if not self._is_marked:  # the collection was not there before
                self._mark()

    def fail(self, errors: Mapping[str, str]) -> None:
        """Write the reasons down, without keys; what is stored stays as it is known."""
        said = {one: without_keys(why, {}, most=LONGEST) for one, why in errors.items()}
        known = self._knows_all and self._believed is True
        self._ledger.fail(self.collection, said, is_complete=known)

    def conclude(self) -> None:
        """Tell what is stored now from what was while this ingest wrote."""
        if self._is_marked:
            self._mark()

    def _mark(self) -> None:
        """Give the state of the collection an epoch, which the store and this ledger alone know.

        A process that is killed in between leaves two epochs, and so a ledger that is not believed.
        """
        epoch = secrets.token_hex(8)
        with self._lock, self._ledger.together():
            there = {} if self._is_shared else self.store.marks(self.collection)
            marks = {**dict.fromkeys(there), self._ledger.writer: epoch}
            if self.store.mark(self.collection, marks):
                self._ledger.mark(self.collection, epoch, is_shared=self._is_shared)
                self._is_marked = True

    def _is_believed(self) -> bool:
        with self._lock:
            if self._believed is None:
                self._believed = self._reconciled()
            return self._believed

    def _reconciled(self) -> bool:
        """Make the ledger say what the store holds, and whether it does now."""
        count = self.store.count(self.collection)
        unsettled = self._ledger.unsettled(self.collection)
        if len(unsettled) <= FEW and (
            not count or _has_marks(self._ledger, self.store, self.collection)
        ):
            self._ask_for(unsettled)
            if self._ledger.is_true(self.collection, count):
                self._is_blank = not count
                return True
        found = self.store.each_document(self.collection)
        rows = [stored_row(self.collection, *pair) for pair in found]
        self._ledger.replace(self.collection, rows)
        is_true = self._ledger.is_true(self.collection, count)
        if is_true:
            self._mark()
        return is_true

    def _ask_for(self, document_ids: Sequence[str]) -> None:
        """Write down what the store says of some documents, and forget those it does not have."""
        found = {one: self.store.stored(self.collection, one) for one in document_ids}
        rows = [stored_row(self.collection, one, nodes) for one, nodes in found.items() if nodes]
        self._ledger.empty(self.collection, [one for one in found if not found[one]])
        self._ledger.confirm(rows)


class ShardRecord(LedgerRecord):
    """A collection that the other shards of an ingest write, too.

    The store then has more than this ledger knows of, so that its count proves little: the mark of
    another state, less than is known of, or a document that is missing among some that are looked
    at make the ledger doubted. What it does not know the store is asked for a document at a time: a
    catalogue is that of all.
    """

    _is_shared = True
    _knows_all = False

    def stored(self, document_id: str) -> Mapping[str, StoredNode]:
        """The stored nodes of a document, by id."""
        return self.store.stored(self.collection, document_id)

    def _reconciled(self) -> bool:
        rows = self._ledger.deposits(self.collection)
        torn = [one for one, row in rows.items() if row.stored_at is None]
        if not rows:
            return True
        if self._is_likely(rows):
            self._ask_for(torn)
        else:
            self._ask_for(list(rows))
            self._mark()
        return True

    def _is_likely(self, rows: Mapping[str, DepositRow]) -> bool:
        """Whether the store seems to have what these rows say."""
        own, writer = self._ledger.marks(self.collection), self._ledger.writer
        if self.store.marks(self.collection).get(writer, "") != own.get(writer):
            return False
        if self.store.count(self.collection) < sum(row.chunks for row in rows.values()):
            return False
        whole = [one for one, row in rows.items() if row.chunks and row.stored_at is not None]
        some = whole[:: max(1, len(whole) // SOME)]
        return all(self.store.stored(self.collection, one) for one in some)


def is_current(ledger: Ledger, store: Store, collection: str, count: int) -> bool:
    """Whether a ledger is that of the state in which a collection is, so that it can be believed.

    The store bears the marks that the ledger left, and the ledger knows of all its chunks.

    Args:
        ledger: of the store.
        store: where the collection is.
        collection: its name.
        count: its chunks, as the store counts them.
    """
    return _has_marks(ledger, store, collection) and ledger.is_true(collection, count)


def _has_marks(ledger: Ledger, store: Store, collection: str) -> bool:
    known = ledger.marks(collection)
    return bool(known) and known == store.marks(collection)


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
