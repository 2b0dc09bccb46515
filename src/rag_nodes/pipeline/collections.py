"""A collection that an ingest writes, and the ledger that lists what is in it.

The order is what nothing is lost or doubled by: ids enter the ledger before the store hears of
their points, and leave it after the store deleted them and was flushed. So the ledger lists all
that is stored, and at times more; a document counts as stored only when it was settled. A run that
is killed anywhere leaves documents that are not, which the next run makes again: ids are functions
of the content, so that what was stored is overwritten by itself.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from rag_nodes.errors import LedgerError, StoreError
from rag_nodes.ledger import StoredDocument
from rag_nodes.models.keys import without_keys
from rag_nodes.store import is_complete

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag_nodes.ledger import CollectionRow, Ledger
    from rag_nodes.pipeline.deposit import Deposit
    from rag_nodes.store import Store, StoredNode
    from rag_nodes.store.points import Point

LONGEST = 1000
"""Characters of an error that a ledger keeps."""
SOME = 5
"""Documents that are looked at where a count proves little."""


class IngestCollection:
    """One collection of a store and of its ledger; used by one thread at a time.

    The ledger is believed where it bears the marks of this state of the store, and there may be as
    many chunks as there are; else it is first made anew from the store.

    Args:
        store: where the collection is.
        row: the collection.
        ledger: of the store, or one for this run alone.
        code: of what is written to it, which is part of the version of every document there.
        is_shared: others write to the same collection meanwhile, and keep ledgers of their own.
        dry_run: leave the store as it is; the ledger is a copy.

    Attributes:
        is_new: the ledger had never heard of it.
    """

    def __init__(
        self,
        store: Store,
        row: CollectionRow,
        ledger: Ledger,
        code: str,
        *,
        is_shared: bool = False,
        dry_run: bool = False,
    ) -> None:
        self.store, self.name, self.code, self.parser = store, row.name, code, row.parser
        self._row, self._ledger, self._is_shared = row, ledger, is_shared
        self._dry_run = dry_run
        self._is_believed: bool | None = None
        self._is_listed = True
        self._is_marked = self._is_asked = False
        self._trouble: StoreError | None = None
        self.is_new = ledger.use(row)

    def whole(self, document_ids: Sequence[str]) -> dict[str, StoredDocument]:
        """Which of some documents are stored whole, in whatever version."""
        self._believe()
        rows = self._ledger.stored(self.name, document_ids)
        return {one: row for one, row in rows.items() if row.version}

    def former(self, document_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Ids of all points that are stored of some documents; documents without any are left out.

        The store is asked of those that are not settled, of which the ledger may list more.

        Raises:
            StoreError: the store has to be asked and does not answer.
        """
        whole = self.whole(document_ids)
        found = self._ledger.listed_ids(self.name, document_ids)
        asked = found.keys() - whole.keys()
        if self._is_shared or not self._is_listed:
            asked |= set(document_ids) - found.keys()
        for one in asked:
            found[one] = tuple(self.store.stored(self.name, one))
        return {one: ids for one, ids in found.items() if ids}

    def stored(self, document_id: str) -> Mapping[str, StoredNode]:
        """The stored nodes of a document, by id; the store is asked where there may be any."""
        if not self.former([document_id]):
            return {}
        return self.store.stored(self.name, document_id)

    @property
    def dimension(self) -> int | None:
        """Length of the vectors in it; None where there are none, or nobody knows."""
        self._believe()
        if self._row.dimension is None and not self._is_asked:
            self._is_asked = True
            known = self._ledger.collections(self._row.corpus)
            found = next((row.dimension for row in known if row.name == self.name), None)
            self._row = self._row._replace(dimension=found)
        return self._row.dimension

    def intend(self, deposits: Iterable[Deposit], dimension: int | None) -> None:
        """Write down what is about to be stored of documents, and that they are not settled.

        Args:
            deposits: of the documents.
            dimension: length of their vectors; None where none is written.
        """
        if not self._is_marked:
            self._mark()
        if dimension and self._row.dimension is None:
            self._row = self._row._replace(dimension=dimension)
            self._ledger.use(self._row)
        ids: dict[str, set[str]] = {}
        for one in deposits:
            ids.setdefault(one.document_id, set()).update(one.ids)
        self._ledger.intend(self.name, {one: sorted(of) for one, of in ids.items()})

    def put(self, points: Sequence[Point]) -> None:
        """Store points; their documents were intended."""
        self.store.put(self.name, points)
        if not self._is_marked:  # the collection was not there before
            self._mark()

    def settle(self, deposits: Iterable[Deposit]) -> None:
        """Write down documents that are stored whole, after the store was flushed."""
        whole = list(deposits)
        rows = [one.row(self.name) for one in whole]
        ids = {one.document_id: one.ids for one in whole if not one.is_known}
        self._ledger.settle(rows, ids)

    def fail(self, deposits: Iterable[Deposit]) -> None:
        """Write down why documents are not stored whole; what is stored stays as it is known."""
        said = {
            one.document_id: without_keys(one.error, most=LONGEST)
            for one in deposits
            if one.error is not None
        }
        if said:
            self._ledger.fail(self.name, said)

    def conclude(self) -> None:
        """Tell what is stored now from what was while this ingest wrote."""
        if self._is_marked:
            self._mark()

    def _mark(self) -> None:
        """Give the state of the collection an epoch, which the store and this ledger alone know.

        A process that is killed in between leaves two epochs, and so a ledger that is not believed.
        """
        if self._dry_run:
            return
        epoch = secrets.token_hex(8)
        with self._ledger.transaction():
            there = {} if self._is_shared else self.store.marks(self.name)
            marks = {**dict.fromkeys(there), self._ledger.writer(self.name): epoch}
            if self.store.mark(self.name, marks):
                self._ledger.mark(self.name, epoch, is_shared=self._is_shared)
                self._is_marked = True

    def _believe(self) -> None:
        """Have the ledger say what the store holds, once."""
        if self._trouble:
            raise self._trouble
        if self._is_believed is None:
            try:
                self._is_believed = self._reconciled()
            except LedgerError:
                raise
            except StoreError as error:
                self._trouble = error
                raise

    def _reconciled(self) -> bool:
        count = self.store.count(self.name)
        if self._is_shared:
            return self._reconciled_part(count)
        if not count or not self._ledger.covers(self.name, self.store.marks(self.name), count):
            self._ledger.adopt(self.name, self._stored_rows())
            known, _ = self._ledger.totals(self.name)
            self._is_listed = known >= count
            if count:
                self._mark()
        return self._is_listed

    def _stored_rows(self) -> Iterator[tuple[StoredDocument, tuple[str, ...]]]:
        """What is stored of each document, and its ids."""
        for document_id, nodes in self.store.each_document(self.name):
            if self._row.dimension is None:
                self._measure(nodes)
            yield stored_row(self.name, document_id, nodes), tuple(nodes)

    def _measure(self, nodes: Mapping[str, StoredNode]) -> None:
        first = [one for one, node in nodes.items() if not node.is_parent][:1]
        for _, vector in self.store.vectors(self.name, first).values():
            self._row = self._row._replace(dimension=len(vector))
            self._ledger.use(self._row)

    def _reconciled_part(self, count: int) -> bool:
        """As far as a ledger can be compared with a store that others write as well.

        The store then has more than this ledger knows of: the mark of another state, less than is
        known of, or a document that is missing among some that are looked at make it doubted.
        """
        rows = self._ledger.stored(self.name)
        if not rows:
            return True
        writer = self._ledger.writer(self.name)
        own = self._ledger.marks(self.name).get(writer)
        known = self.store.marks(self.name).get(writer, "") == own
        whole = [one for one, row in rows.items() if row.chunks and row.version]
        some = whole[:: max(1, len(whole) // SOME)]
        if (
            known
            and count >= self._ledger.totals(self.name)[0]
            and all(self.store.stored(self.name, one) for one in some)
        ):
            return True
        found = {one: self.store.stored(self.name, one) for one in rows}
        self._ledger.adopt(
            self.name,
            ((stored_row(self.name, one, of), tuple(of)) for one, of in found.items() if of),
        )
        self._mark()
        return True


def stored_row(
    collection: str, document_id: str, stored: Mapping[str, StoredNode]
) -> StoredDocument:
    """What a ledger says of a document whose nodes the store was asked for."""
    chunks = [node for node in stored.values() if not node.is_parent]
    versions = {node.source_hash for node in stored.values()}
    source_hash = versions.pop() if len(versions) == 1 else ""
    return StoredDocument(
        collection,
        document_id,
        source_hash if is_complete(stored, source_hash) else "",
        chunks=len(chunks),
        parents=len(stored) - len(chunks),
        tokens=sum(node.tokens for node in chunks),
        largest=max((node.tokens for node in chunks), default=0),
        unplaced=sum(not node.is_placed for node in chunks),
    )
