"""`Inventory`: what a store holds, by collection and by document, with what its ledger adds."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rag_nodes.metadata import SOURCE, TOTAL_PAGES, display_name
from rag_nodes.pipeline.record import stored_row
from rag_nodes.store import is_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rag_nodes.ledger import CollectionRow, DepositRow, DocumentRow, FileRow, Ledger
    from rag_nodes.store import CollectionInfo, QdrantStore

_PORTION = 500
"""Nodes that are fetched at once."""

DocumentState = Literal["stored", "incomplete", "expired", "failed"]
"""Of a document: whole in every collection of its corpus that has it; not whole in one; whole, but
due to be read again; or a file of which nothing could be read."""


class HeldCollection(NamedTuple):
    """A collection that a store has.

    Attributes:
        info: what its name says, and how many chunks a search can find in it.
        row: what the ledger knows of it; None where it does not.
    """

    info: CollectionInfo
    row: CollectionRow | None

    @property
    def corpus(self) -> str:
        """Name of the document set; its readable form where there is no ledger to ask."""
        return self.row.corpus if self.row else self.info.corpus

    @property
    def parser(self) -> str:
        """Class name of the parser."""
        return self.row.parser if self.row else self.info.parser

    def is_of(self, corpus: str) -> bool:
        """Whether it belongs to a document set."""
        return self.row.corpus == corpus if self.row else is_of(self.info, corpus)


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """What is stored in a collection.

    Attributes:
        name: as the store knows it.
        corpus: name of the document set.
        parser: class name of the parser.
        fingerprint: of its configuration; None where no ledger knows it, as for all that follow
            with None.
        options: that configuration as JSON; None where unknown.
        model: name of the embedding model.
        dimension: length of its embeddings.
        vectors: names of the embeddings that its chunks have, the usual one first; empty where it
            cannot be opened.
        chunks: that a search can find.
        parents: nodes above them.
        documents: of which something is stored.
        incomplete: of these, not stored whole, or not as they were last read.
        expired: of these, due to be read again.
        size: bytes on disk; None for a server.
        first_used: of the first ingest, in seconds since 1970; None where unknown.
        last_used: of the last one.
        aliases: its other names.
        trouble: why it cannot be opened, with the remedy; numbers are then those of the ledger. ""
            where it can.
    """

    name: str
    corpus: str
    parser: str
    fingerprint: str | None
    options: str | None
    model: str
    dimension: int
    vectors: tuple[str, ...]
    chunks: int
    parents: int
    documents: int
    incomplete: int
    expired: int
    size: int | None
    first_used: float | None
    last_used: float | None
    aliases: tuple[str, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document and what is stored of it.

    Attributes:
        id: of the document; "" for a file that failed and became none.
        corpus: name of the document set.
        name: what to call it.
        path: canonical, of its file; None where no ledger knows it.
        source: where its text came from, path or URL; None where unknown.
        pages: None for formats without pages.
        chunks: stored of it, by collection.
        stored_at: when it was last stored, in seconds since 1970; None where unknown.
        state: whether it is stored whole.
        error: what is wrong with it; None where nothing is known to be.
    """

    id: str
    corpus: str
    name: str
    path: str | None
    source: str | None
    pages: int | None
    chunks: dict[str, int]
    stored_at: float | None
    state: DocumentState
    error: str | None = None


class Inventory:
    """What a store holds.

    Args:
        store: to look at.
        ledger: of the store; None where there is none.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        store: QdrantStore,
        ledger: Ledger | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.ledger = ledger
        self.clock = clock
        self._facts_told: dict[str, dict[str, dict[str, Any]]] = {}

    def collections(self, corpus: str | None = None) -> list[HeldCollection]:
        """The collections of a corpus, or of all of them, by name."""
        rows = {one.row.name: one.row for one in self.ledger.collections()} if self.ledger else {}
        held = (HeldCollection(info, rows.get(info.name)) for info in self.store.collections())
        return [one for one in held if corpus is None or one.is_of(corpus)]

    def deposits(self, held: HeldCollection) -> dict[str, DepositRow]:
        """What a collection holds of each document, by the document's id.

        The ledger is believed where its sum is what the store counts, and has to be where the
        collection cannot be opened; else the store is read.
        """
        name = held.info.name
        known = self.ledger.deposits(name) if self.ledger else {}
        if held.info.trouble or (self.ledger and self.ledger.is_true(name, held.info.points)):
            return known
        found = self.store.each_document(name)
        errors = {one: row.error for one, row in known.items()}
        return {
            one: stored_row(name, one, nodes)._replace(error=errors.get(one))
            for one, nodes in found
        }

    def status(self, held: HeldCollection) -> CollectionStatus:
        """What is in a collection."""
        name, row = held.info.name, held.row
        deposits = [one for one in self.deposits(held).values() if one.chunks or one.parents]
        expired = {one.id for one in self.ledger.expired(held.corpus)} if self.ledger else set()
        known = self._known(held.corpus)
        engine = self.store.engine
        with engine.step(name):
            layout = engine.layout(name)
            size = engine.disk_size(name)
        return CollectionStatus(
            name=name,
            corpus=held.corpus,
            parser=held.parser,
            fingerprint=row.fingerprint if row else None,
            options=row.options if row else None,
            model=row.model if row else held.info.embedding,
            dimension=layout.size if layout else 0,
            vectors=() if held.info.trouble else self.store.vector_names(name),
            chunks=sum(one.chunks for one in deposits) if held.info.trouble else held.info.points,
            parents=sum(one.parents for one in deposits),
            documents=len(deposits),
            incomplete=sum(not _is_whole(one, known.get(one.document_id, [])) for one in deposits),
            expired=sum(one.document_id in expired for one in deposits),
            size=size,
            first_used=row.first_used if row else None,
            last_used=row.last_used if row else None,
            aliases=tuple(sorted(one for one, of in self.store.aliases().items() if of == name)),
            trouble=held.info.trouble,
        )

    def documents(self, corpus: str, collections: Iterable[HeldCollection]) -> list[ListedDocument]:
        """The documents of a corpus in some of its collections, by name; failed files last.

        With all of its collections, those too that were read and of which nothing is stored.
        """
        rows: dict[str, dict[str, DepositRow]] = {}
        chosen = list(collections)
        for held in chosen:
            for one, deposit in self.deposits(held).items():
                rows.setdefault(one, {})[held.info.name] = deposit
        known = self._known(corpus)
        if {*chosen} >= {*self.collections(corpus)}:
            lacking = (one for one, same in known.items() if any(row.source_hash for row in same))
            rows = {**{one: {} for one in lacking}, **rows}
        listed = [self._listed(corpus, known.get(one, []), one, of) for one, of in rows.items()]
        listed.sort(key=lambda one: (one.name, one.id))
        read = {row.path for one in rows for row in known.get(one, ())}
        return [*listed, *map(_failed, self._failures(corpus, read))]

    def _known(self, corpus: str) -> dict[str, list[DocumentRow]]:
        """What the ledger knows of documents, by id: those without a hash first."""
        found: dict[str, list[DocumentRow]] = {}
        paths = self.ledger.documents(corpus) if self.ledger else {}
        for row in sorted(chain(*paths.values()), key=lambda row: bool(row.source_hash)):
            found.setdefault(row.id, []).append(row)
        return found

    def _failures(self, corpus: str, read: set[str]) -> list[FileRow]:
        """Files that could not be read, and of which nothing is stored from before."""
        files = self.ledger.files(corpus) if self.ledger else {}
        return [file for path, file in files.items() if file.state == "failed" and path not in read]

    def _listed(
        self,
        corpus: str,
        known: list[DocumentRow],
        document_id: str,
        found: dict[str, DepositRow],
    ) -> ListedDocument:
        row = known[-1] if known else None
        state, error = self._state(known, found)
        name, source, pages = self._facts(row, document_id, found)
        return ListedDocument(
            id=document_id,
            corpus=corpus,
            name=name,
            path=row.path if row else None,
            source=source,
            pages=pages,
            chunks={collection: one.chunks for collection, one in found.items()},
            stored_at=max((one.stored_at or 0 for one in found.values()), default=0) or None,
            state=state,
            error=error,
        )

    def _state(
        self, known: list[DocumentRow], found: dict[str, DepositRow]
    ) -> tuple[DocumentState, str | None]:
        lacking = [one for one in found.values() if not _is_whole(one, known)]
        if lacking or not found:
            said = next((one.error for one in lacking if one.error), None)
            return "incomplete", said or f"{_lack(lacking)}; ingest it again"
        expiries = [row.expires_at for row in known[-1:] if row.expires_at is not None]
        return ("expired" if any(one <= self.clock() for one in expiries) else "stored"), None

    def _facts(
        self, row: DocumentRow | None, document_id: str, found: dict[str, DepositRow]
    ) -> tuple[str, str | None, int | None]:
        """Name, source and pages; asked of one of its nodes where no ledger knows them."""
        if row:
            return row.name, row.source, row.pages
        facts = next((known for one in found if (known := self._told(one).get(document_id))), {})
        return display_name(facts) or document_id, facts.get(SOURCE), facts.get(TOTAL_PAGES)

    def _told(self, collection: str) -> dict[str, dict[str, Any]]:
        """What one node of each document of a collection says of it, by the document's id."""
        if collection not in self._facts_told:
            found = self.store.each_document(collection)
            first = {next(iter(nodes)): one for one, nodes in found}
            ids = list(first)
            told: dict[str, dict[str, Any]] = {}
            for start in range(0, len(ids), _PORTION):
                nodes = self.store.fetch(collection, ids[start : start + _PORTION])
                told |= {first[one]: node.metadata for one, node in nodes.items()}
            self._facts_told[collection] = told
        return self._facts_told[collection]


def _is_whole(deposit: DepositRow, known: list[DocumentRow]) -> bool:
    """Whether all of a document is stored, in the version that was read last."""
    wanted = {row.source_hash for row in known if row.source_hash}
    return bool(deposit.source_hash) and (not wanted or deposit.source_hash in wanted)


def _lack(lacking: list[DepositRow]) -> str:
    if not lacking:
        return "nothing of it is stored"
    if all(one.source_hash for one in lacking):
        return "a former version of it is stored"
    return "not all of its chunks are stored"


def _failed(file: FileRow) -> ListedDocument:
    name = file.path.replace("\\", "/").rsplit("/", maxsplit=1)[-1]
    return ListedDocument(
        id="",
        corpus=file.corpus,
        name=name,
        path=file.path,
        source=file.path,
        pages=None,
        chunks={},
        stored_at=None,
        state="failed",
        error=file.error,
    )
