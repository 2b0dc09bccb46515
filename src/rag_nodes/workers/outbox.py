"""Store and books of a worker that has none: what is written is sent, what is asked came along."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from rag_nodes.errors import RagNodesError, StoreError
from rag_nodes.ledger import FileRow
from rag_nodes.pipeline.books import Books
from rag_nodes.pipeline.found import Seen
from rag_nodes.pipeline.record import CollectionRecord
from rag_nodes.store import Store
from rag_nodes.store.payload import agreed_length, lengths_of, points_of
from rag_nodes.vector_names import USUAL
from rag_nodes.workers.messages import Deleted, FileNote, NotStored, Settled, Unsettled
from rag_nodes.workers.packing import PackedPoints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from llama_index.core.schema import BaseNode, TextNode

    from rag_nodes.ledger import CollectionRow, DepositRow
    from rag_nodes.pipeline.found import FoundDocument
    from rag_nodes.readers import ListedFile
    from rag_nodes.store import CollectionInfo, Hit, Query, StoredNode
    from rag_nodes.workers.messages import Batch, Message


class Outbox(Store):
    """Gives to the one who may write what an ingest stores, as points, in order.

    An embedded store is open in one process only. All that an ingest asks of its store is what is
    there of the documents it reads, and that comes with the batch.

    Args:
        batch: whose files are ingested.
        send: takes packed points and ids to delete; called by any thread.
    """

    location = "the driver's store"

    def __init__(self, batch: Batch, send: Callable[[PackedPoints | Deleted], None]) -> None:
        self._batch = batch
        self._send = send

    def add(self, collection: str, nodes: Sequence[BaseNode]) -> None:
        """Send nodes away as points; the store's own checks are made where it is."""
        self._check(collection)
        if lengths := lengths_of(nodes):
            agreed_length(lengths, None, f"collection {collection!r}")
        documents = [node.ref_doc_id or "" for node in nodes]
        self._send(PackedPoints.of(collection, points_of(nodes), documents))

    def delete(self, collection: str, node_ids: Sequence[str]) -> None:
        """Send ids away."""
        self._check(collection)
        self._send(Deleted(collection, tuple(node_ids)))

    def stored(self, collection: str, document_id: str) -> dict[str, StoredNode]:
        """What is stored of a document, as it came with the batch."""
        self._check(collection)
        return dict(self._batch.stored.get(collection, {}).get(document_id, {}))

    def vectors(
        self, collection: str, node_ids: Sequence[str], using: str = USUAL
    ) -> dict[str, tuple[str, list[float]]]:
        """What came with the batch."""
        known = self._batch.vectors.get(collection, {}).get(using, {})
        return {one: known[one] for one in node_ids if one in known}

    def count(self, collection: str) -> int:
        """Chunks of the documents of the batch."""
        documents = self._batch.stored.get(collection, {}).values()
        return sum(not node.is_parent for nodes in documents for node in nodes.values())

    def collections(self) -> list[CollectionInfo]:
        """Nothing can be listed here."""
        return []

    def drop(self, collection: str) -> NoReturn:
        """Not from here."""
        self._refuse(collection)

    def fetch(self, collection: str, node_ids: Sequence[str]) -> dict[str, TextNode]:
        """Not from here."""
        del node_ids
        self._refuse(collection)

    def find(self, collection: str, query: Query) -> list[Hit]:
        """Not from here."""
        del query
        self._refuse(collection)

    def close(self) -> None:
        """Nothing is held."""

    def _check(self, collection: str) -> None:
        """Refuse what the store refused before: for every file after, as it would itself."""
        if why := self._batch.refused.get(collection):
            raise StoreError(why)

    def _refuse(self, collection: str) -> NoReturn:
        raise StoreError(
            f"collection {collection!r} is written by workers and read by nobody meanwhile; ask "
            "the store itself when the ingest is over"
        )


class SentBooks(Books):
    """Tells the driver, which keeps the books, what is to be written down.

    Args:
        batch: whose files are ingested.
        send: takes messages; called by any thread.

    Attributes:
        file: position in the batch of the file that is read.
    """

    def __init__(self, batch: Batch, send: Callable[[Message], None]) -> None:
        self._batch = batch
        self._send = send
        self.file = 0

    def record(self, store: Store, row: CollectionRow) -> CollectionRecord:
        """The record of a collection."""
        return SentRecord(store, row.name, self._send, self._batch.own.get(row.name, ()))

    def seen(self, files: Iterable[ListedFile]) -> Iterator[Seen]:
        """The driver saw to it that every file is due."""
        twins = self._batch.twins[self.file] if self._batch.twins else ()
        for file in files:
            # The driver has the row; here it says which file a note is of.
            row = FileRow("", str(self.file), 0, 0, "", "", "read", 0)
            yield Seen(file, row, (), twins)

    def note(self, file: FileRow, found: FoundDocument | None, error: Exception | None) -> None:
        """Send what a file became."""
        known = error if error is None or isinstance(error, RagNodesError) else _typed(error)
        self._send(FileNote(int(file.path), found, known))


class SentRecord(CollectionRecord):
    """Tells the driver what changes in a collection next, what is whole, and what failed."""

    def __init__(
        self,
        store: Store,
        collection: str,
        send: Callable[[Message], None],
        own: Iterable[str],
    ) -> None:
        super().__init__(store, collection)
        self.own = frozenset(own)
        self._send = send

    def unsettle(
        self, documents: Mapping[str, Sequence[str]], dimension: int | None = None
    ) -> None:
        """Send the ids."""
        ids = {document: tuple(own) for document, own in documents.items()}
        self._send(Unsettled(self.collection, ids, dimension))

    def settle(self, rows: Iterable[DepositRow], deleted: int = 0) -> None:
        """Send the rows."""
        if whole := tuple(rows):
            self._send(Settled(self.collection, whole, deleted))

    def fail(self, errors: Mapping[str, str]) -> None:
        """Send the reasons."""
        self._send(NotStored(self.collection, errors))


def _typed(error: Exception) -> RagNodesError:
    return RagNodesError(f"{type(error).__name__}: {error}")
