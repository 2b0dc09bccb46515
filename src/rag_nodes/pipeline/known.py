"""What is known of documents before they are read: versions, stored nodes, vectors to be reused."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rag_nodes.errors import LedgerError, StoreError
from rag_nodes.ledger import model_of, version_of
from rag_nodes.metadata import USUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rag_nodes.ledger import StoredDocument
    from rag_nodes.pipeline.collections import IngestCollection
    from rag_nodes.store import StoredNode


class KnownDocuments(Protocol):
    """What a column can ask about the documents of a unit."""

    def whole(self, column: int, document_id: str) -> StoredDocument | None:
        """What is stored of a document that is stored whole, in whatever version."""

    def stored(self, column: int, document_id: str) -> Mapping[str, StoredNode]:
        """The stored nodes, by id, of a document that may be stored in part."""

    def dimension(self, column: int) -> int | None:
        """Length of the vectors that are stored; None where there are none, or nobody knows."""

    def vectors(
        self, column: int, document_ids: Sequence[str], name: str
    ) -> Mapping[str, Sequence[float]]:
        """Stored vectors of documents by the text that was embedded, by the same model.

        Args:
            column: number of the column.
            document_ids: of the documents.
            name: of the embedding.
        """


class Asked:
    """What the collections say, asked when it is needed.

    Pickled it is what they say of some documents now, as another process cannot ask.

    Args:
        collections: of the columns, in order.
        document_ids: what is pickled of, asked when that is done.
        names: of the embeddings that are pickled.
    """

    def __init__(
        self,
        collections: Sequence[IngestCollection],
        document_ids: Callable[[], Sequence[str]] = list,
        names: Sequence[str] = (USUAL,),
    ) -> None:
        self._collections = collections
        self._document_ids = document_ids
        self._names = names

    def whole(self, column: int, document_id: str) -> StoredDocument | None:
        """See `KnownDocuments`."""
        return self._collections[column].whole([document_id]).get(document_id)

    def stored(self, column: int, document_id: str) -> Mapping[str, StoredNode]:
        """See `KnownDocuments`."""
        return self._collections[column].stored(document_id)

    def dimension(self, column: int) -> int | None:
        """See `KnownDocuments`."""
        return self._collections[column].dimension

    def vectors(
        self, column: int, document_ids: Sequence[str], name: str
    ) -> Mapping[str, Sequence[float]]:
        """See `KnownDocuments`."""
        collection = self._collections[column]
        own = model_of(version_of("", collection.code))
        whole, ids = collection.whole(document_ids), list[str]()
        for document_id, former in collection.former(document_ids).items():
            if row := whole.get(document_id):
                ids += former if model_of(row.version) == own else ()
            elif former:
                nodes = collection.stored(document_id)
                ids += [one for one, node in nodes.items() if model_of(node.source_hash) == own]
        found = collection.store.vectors(collection.name, ids, name) if ids else {}
        return dict(found.values())

    def __reduce__(self) -> tuple[Any, ...]:
        whole, stored, vectors = {}, {}, {}
        lengths: list[int | None] = [None] * len(self._collections)
        document_ids = self._document_ids()
        for column, collection in enumerate(self._collections):
            try:
                rows, former = collection.whole(document_ids), collection.former(document_ids)
            except LedgerError:
                raise
            except StoreError:
                continue  # whoever writes to it will say so
            lengths[column] = collection.dimension
            whole.update({(column, one): row for one, row in rows.items()})
            for one in former.keys() - rows.keys():
                stored[column, one] = dict(collection.stored(one))
            if former:
                for name in self._names:
                    found = self.vectors(column, list(former), name)
                    vectors[column, name] = {k: array("f", v) for k, v in found.items()}
        return Told, (whole, stored, vectors, lengths)


class Told(NamedTuple):
    """What was said about some documents, of which no others are known.

    Attributes:
        rows: what is stored whole, by column and document.
        nodes: what is stored of the others, by column and document.
        texts: vectors by text, by column and name.
        lengths: of the vectors of each column; None where that is not known.
    """

    rows: Mapping[tuple[int, str], StoredDocument] = {}
    nodes: Mapping[tuple[int, str], Mapping[str, StoredNode]] = {}
    texts: Mapping[tuple[int, str], Mapping[str, Sequence[float]]] = {}
    lengths: Sequence[int | None] = ()

    def whole(self, column: int, document_id: str) -> StoredDocument | None:
        """See `KnownDocuments`."""
        return self.rows.get((column, document_id))

    def stored(self, column: int, document_id: str) -> Mapping[str, StoredNode]:
        """See `KnownDocuments`."""
        return self.nodes.get((column, document_id), {})

    def dimension(self, column: int) -> int | None:
        """See `KnownDocuments`."""
        return self.lengths[column] if self.lengths else None

    def vectors(
        self,
        column: int,
        document_ids: Sequence[str],  # noqa: ARG002 -- all that are known
        name: str,
    ) -> Mapping[str, Sequence[float]]:
        """See `KnownDocuments`."""
        return self.texts.get((column, name), {})
