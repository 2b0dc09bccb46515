"""Documents of a store whose chunks another model is to embed: no file is opened, nothing is split.

They take the place of files that are due, and all behind them is an ordinary ingest.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.schema import Document

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.metadata import SOURCE_HASH
from rag_nodes.embedding.report import DocumentFacts
from rag_nodes.parsers.parent_child import parents_first
from rag_nodes.pipeline.ledger import DocumentRow, source_hash_of
from rag_nodes.pipeline.units import DocumentResult, DueFile, StoredChunks
from rag_nodes.pipeline.upkeep import Inventory
from rag_nodes.store.conditions import DOCUMENT_ID, Condition
from rag_nodes.store.payload import node_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llama_index.core.schema import BaseNode

    from rag_nodes.pipeline.columns import IngestColumn
    from rag_nodes.pipeline.ledger import Ledger, StoredDocument
    from rag_nodes.pipeline.recipe import Origins
    from rag_nodes.pipeline.tally import Tally
    from rag_nodes.pipeline.upkeep import HeldCollection
    from rag_nodes.store import Store

_BLOCK = 32
"""Documents whose chunks are read at once."""


class _Held(NamedTuple):
    """A document as a collection holds it.

    `version` is the version that it gets by the model of this ingest, "" if its chunks cannot be
    used. One that `is_current` has the content that the ledger knows.
    """

    collection: str
    stored: StoredDocument
    version: str
    is_current: bool

    @property
    def rank(self) -> tuple[bool, bool]:
        """The higher, the better the chunks are taken from here."""
        return bool(self.version), self.is_current

    def is_in(self, column: IngestColumn) -> bool:
        """Return True if a column has the document already."""
        is_whole = self.version == self.stored.version != ""
        return is_whole and self.collection == column.collection


class StoredDocuments:
    """Looks up the documents of a corpus that some columns lack and other collections hold."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        columns: Sequence[IngestColumn],
        tally: Tally,
        corpus: str,
        origins: Origins,
    ) -> None:
        self._store, self._columns, self._tally = store, columns, tally
        self._corpus, self._origins = corpus, origins
        self._inventory = Inventory(store, ledger)
        self._known = ledger.documents(corpus)

    def due(self) -> Iterator[DueFile]:
        """Yield the documents that are to be embedded; the others are counted.

        Raises:
            ConfigurationError: there is no collection of a parser.
        """
        held = [self._held(column) for column in self._columns]
        ids = sorted(
            {*chain(*held)}, key=lambda document_id: (self._path(document_id), document_id)
        )
        self._tally.expect(len(ids))
        for first in range(0, len(ids), _BLOCK):
            block = ids[first : first + _BLOCK]
            nodes = [
                self._nodes(column, {key: own[key] for key in block if key in own})
                for column, own in zip(self._columns, held, strict=True)
            ]
            for position, document_id in enumerate(block, start=first):
                each = [own.get(document_id) for own in held]
                own_nodes = [own.get(document_id) for own in nodes]
                row = self._row(document_id, each, own_nodes)
                versions = [document.version if document else "" for document in each]
                file = DueFile(position, stored=StoredChunks(row, versions, own_nodes))
                pairs = zip(self._columns, each, strict=True)
                whole = {
                    c: document.stored for c, document in pairs if document and document.is_in(c)
                }
                if len(whole) < len(each):
                    yield file
                    continue
                results = {
                    c.name: c.enqueue(DocumentResult.known(row.name, w)) for c, w in whole.items()
                }
                self._tally.leave(position, file.path, row, results)

    def _path(self, document_id: str) -> str:
        """Return the path of the file of a document; "" if no file is known."""
        rows = self._known.get(document_id)
        return rows[-1].path if rows else ""

    def _held(self, column: IngestColumn) -> dict[str, _Held]:
        """Return where each document is best taken from, by its id.

        Whole documents of the content that the ledger knows are better than other whole ones; then
        the collection of the column comes first, and of others the one that was used last.
        """
        column.stored_whole(())  # has the ledger agree with the store
        best: dict[str, _Held] = {}
        for collection in self._collections(column):
            is_own = collection.info.name == column.collection  # whole is what the ledger calls so
            ledger = self._inventory.ledger
            stored = (
                ledger.stored(column.collection) if is_own else self._inventory.stored(collection)
            )
            for document_id, row in stored.items():
                version = self._origins.reembedded(column.name, row.version)
                hashes = {row.source_hash for row in self._known.get(document_id, ())}
                is_current = source_hash_of(version) in hashes
                held = _Held(collection.info.name, row, version, is_current)
                if document_id not in best or held.rank > best[document_id].rank:
                    best[document_id] = held
        return best

    def _collections(self, column: IngestColumn) -> list[HeldCollection]:
        """Return the collections of the parser of a column, that of the column first."""
        ledger, wanted = self._inventory.ledger, column.row
        rows = ledger.collections(self._corpus)
        names = [row.name for row in rows if row.fingerprint == wanted.fingerprint]
        names.sort(key=lambda name: name != column.collection)
        held = {
            collection.info.name: collection
            for collection in self._inventory.collections(self._corpus)
        }
        collections = [held[name] for name in names if name in held and not held[name].info.trouble]
        if not collections:
            parsers = {document.parser: None for document in held.values()}
            raise ConfigurationError(
                f"{self._store.location}: the ledger knows no chunks of {column.name} with these "
                f"options in corpus '{self._corpus}' (stored: {', '.join(parsers) or 'none'}); "
                "name a parser that is stored, with its options, or ingest the files"
            )
        return collections

    def _nodes(
        self, column: IngestColumn, held: Mapping[str, _Held]
    ) -> dict[str, Sequence[BaseNode]]:
        """Return the nodes of documents that a column is to embed.

        Documents that it has, and those that another process changed meanwhile, are left out.
        """
        due = {
            key: document
            for key, document in held.items()
            if document.version and not document.is_in(column)
        }
        nodes_by_document: dict[str, list[BaseNode]] = {key: [] for key in due}
        for name in {document.collection for document in due.values()}:
            own = [key for key, document in due.items() if document.collection == name]
            place = self._store.engine.place(name)
            for point in self._store.select(name, Condition(DOCUMENT_ID, "in", own), None):
                node = node_in(point.payload, point.node_id, place)
                nodes_by_document[str(point.payload[DOCUMENT_ID])].append(node)
        return {
            key: parents_first(nodes)
            for key, nodes in nodes_by_document.items()
            if len(nodes) == due[key].stored.nodes
            and {node.metadata.get(SOURCE_HASH) for node in nodes} <= {due[key].stored.version}
        }

    def _row(
        self,
        document_id: str,
        held: Sequence[_Held | None],
        nodes: Sequence[Sequence[BaseNode] | None],
    ) -> DocumentRow:
        """Return the row of a document in the ledger, or what its nodes say of it."""
        if rows := self._known.get(document_id):
            return rows[-1]
        metadata = next((node.metadata for own in nodes for node in own or ()), {})
        version = next((document.version for document in held if document), "")
        facts = DocumentFacts.of(Document(id_=document_id, metadata=metadata))
        return DocumentRow(self._corpus, "", document_id, source_hash_of(version), *facts[1:])
