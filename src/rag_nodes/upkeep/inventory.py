"""`Inventory`: what a store holds, by collection and by document, with what its ledger adds."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag_nodes.ledger import StoredDocument, source_hash_of
from rag_nodes.metadata import SOURCE, TOTAL_PAGES, display_name
from rag_nodes.store import described
from rag_nodes.upkeep.rows import CollectionStatus, HeldCollection, ListedDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from rag_nodes.ledger import DocumentRow, FileRow, Ledger
    from rag_nodes.store import QdrantStore
    from rag_nodes.upkeep.rows import DocumentState

_PORTION = 500
"""Nodes that are fetched at once."""


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
        rows = {one.name: one for one in self.ledger.collections()} if self.ledger else {}
        held = (HeldCollection(info, rows.get(info.name)) for info in self.store.collections())
        return [one for one in held if corpus is None or one.is_of(corpus)]

    def never_stored(self, corpus: str | None = None) -> list[HeldCollection]:
        """Collections that are not there, as all documents failed that were to be in them."""
        there = {one.info.name for one in self.collections()}
        rows = self.ledger.collections(corpus or "") if self.ledger else []
        infos = ((described(row.name, 0), row) for row in rows if row.name not in there)
        return [
            HeldCollection(info, row) for info, row in infos if info and self._failures(row.name)
        ]

    def deposits(self, held: HeldCollection) -> dict[str, StoredDocument]:
        """What a collection holds of each document, by the document's id.

        The ledger is believed where it is that of this state of the store, and has to be where the
        collection cannot be opened; else the store is read.
        """
        name = held.info.name
        known = self.ledger.stored(name) if self.ledger else {}
        if held.info.trouble or (self.ledger and self._is_known(name, known, held.info.points)):
            return known
        from rag_nodes.pipeline.collections import stored_row  # it loads LlamaIndex

        found = self.store.each_document(name)
        there = {one: stored_row(name, one, nodes) for one, nodes in found}
        for one, row in known.items():
            if row.error is not None:
                held_row = there.get(one, StoredDocument(name, one, ""))
                there[one] = held_row._replace(error=row.error, failed_at=row.failed_at)
        return there

    def _is_known(self, name: str, known: dict[str, StoredDocument], count: int) -> bool:
        """Whether a ledger says exactly what a collection holds."""
        if not self.ledger or not self.ledger.covers(name, self.store.marks(name), count):
            return False
        unsettled = [one for one, row in known.items() if not row.version]
        chunks = sum(row.chunks for row in known.values())
        return chunks == count and not self.ledger.listed_ids(name, unsettled)

    def unread(self, corpus: str | None = None) -> list[FileRow]:
        """The files that could not be read, or a document in them; None for all corpora."""
        return self.ledger.unread(corpus or "") if self.ledger else []

    def status(self, held: HeldCollection) -> CollectionStatus:
        """What is in a collection."""
        name, row, trouble = held.info.name, held.row, held.info.trouble
        deposits = list(self.deposits(held).values())
        known = self._known(held.corpus)
        expired = {one for one, of in known.items() if self._is_expired(of[-1])}
        lacking = [one for one in deposits if not is_whole(one, known.get(one.document_id, []))]
        failed = [one for one in lacking if one.error is not None]
        with self.store.engine.step(name):
            found = None if trouble else self.store.engine.collection(name)
            size = found.disk_size() if found else None
        return CollectionStatus(
            name=name,
            corpus=held.corpus,
            parser=held.parser,
            fingerprint=row.fingerprint if row else None,
            options=row.options if row else None,
            model=row.model if row else held.info.embedding,
            dimension=found.layout.size if found else (row and row.dimension) or 0,
            vectors=self.store.vector_names(name) if found else (),
            chunks=sum(one.chunks for one in deposits) if trouble else held.info.points,
            parents=sum(one.parents for one in deposits),
            documents=sum(bool(one.nodes) for one in deposits),
            incomplete=len(lacking),
            expired=sum(one.document_id in expired for one in deposits),
            size=size,
            first_used=row.first_used if row else None,
            last_used=row.last_used if row else None,
            aliases=tuple(sorted(one for one, of in self.store.aliases().items() if of == name)),
            trouble=trouble,
            failed=len(failed),
            error=next((said for said, _ in Counter(o.error for o in failed).most_common(1)), None),
            failed_at=_first(failed),
        )

    def documents(self, corpus: str, collections: Iterable[HeldCollection]) -> list[ListedDocument]:
        """The documents of a corpus in some of its collections, by name; then files without any.

        With all of its collections, those too that were read and of which nothing is stored.
        """
        chosen, known = list(collections), self._known(corpus)
        found: dict[str, dict[str, StoredDocument]] = {}
        for held in chosen:
            for one, deposit in self.deposits(held).items():
                found.setdefault(one, {})[held.info.name] = deposit
        if {*chosen} >= {*self.collections(corpus)}:
            failed: dict[str, dict[str, StoredDocument]] = {}
            for held in self.never_stored(corpus):
                for row in self._failures(held.info.name):
                    failed.setdefault(row.document_id, {})[row.collection] = row
            for one, rows in known.items():
                if any(row.source_hash for row in rows):
                    found.setdefault(one, failed.get(one, {}))
        unread = {one.path: one for one in self.unread(corpus)}
        listed = [
            self._listed(corpus, known.get(one, []), one, of, unread) for one, of in found.items()
        ]
        listed.sort(key=lambda one: (one.name, one.id))
        paths = {one.path for one in listed}
        others = (one for one in unread.values() if one.documents or one.path not in paths)
        return [*listed, *map(_failed, others)]

    def _failures(self, collection: str) -> list[StoredDocument]:
        if not self.ledger:
            return []
        rows = [row for row in self.ledger.stored(collection).values() if row.error is not None]
        corpus = next(one.corpus for one in self.ledger.collections() if one.name == collection)
        known = self.ledger.documents(corpus, [row.document_id for row in rows])
        return [row for row in rows if not is_whole(row, known.get(row.document_id, []))]

    def _known(self, corpus: str) -> dict[str, list[DocumentRow]]:
        """What the ledger knows of documents, by id: those without a hash first."""
        return self.ledger.documents(corpus) if self.ledger else {}

    def _is_expired(self, row: DocumentRow) -> bool:
        return row.expires_at is not None and row.expires_at <= self.clock()

    def _listed(
        self,
        corpus: str,
        known: list[DocumentRow],
        document_id: str,
        found: dict[str, StoredDocument],
        unread: dict[str, FileRow],
    ) -> ListedDocument:
        row = known[-1] if known else None
        lacking = {name: one for name, one in found.items() if not is_whole(one, known)}
        errors = {name: one.error for name, one in lacking.items() if one.error is not None}
        state: DocumentState = "stored"
        error, since = None, _first(lacking.values())
        file = unread.get(row.path) if row else None
        if file and not file.documents:
            state, error, since = "failed", file.error, file.failed_at
        elif lacking or not found:
            error = "; ".join(dict.fromkeys(one for one in errors.values() if one))
            state = "incomplete"
            error = error or f"{_lack(lacking.values())}; ingest it again"
        elif row and self._is_expired(row):
            state = "expired"
        name, source, pages = self._facts(row, document_id, found)
        there = {of: one for of, one in found.items() if one.error is None or one.nodes}
        return ListedDocument(
            id=document_id,
            corpus=corpus,
            name=name,
            path=row.path if row else None,
            source=source,
            pages=pages,
            chunks={collection: one.chunks for collection, one in there.items()},
            stored_at=max((one.stored_at or 0 for one in there.values()), default=0) or None,
            state=state,
            error=error,
            errors=errors,
            failed_at=since,
        )

    def _facts(
        self, row: DocumentRow | None, document_id: str, found: dict[str, StoredDocument]
    ) -> tuple[str, str | None, int | None]:
        """Name, source and pages; asked of one of its nodes where no ledger knows them."""
        if row:
            return row.name, row.source, row.pages
        facts = next((known for one in found if (known := self._told(one).get(document_id))), {})
        return display_name(facts) or document_id, facts.get(SOURCE), facts.get(TOTAL_PAGES)

    def _told(self, collection: str) -> dict[str, dict[str, Any]]:
        """What one node of each document of a collection says of it, by the document's id."""
        if collection not in self._facts_told:
            documents = self.store.each_document(collection)
            first = {next(iter(nodes)): one for one, nodes in documents}
            ids = list(first)
            told: dict[str, dict[str, Any]] = {}
            for start in range(0, len(ids), _PORTION):
                nodes = self.store.fetch(collection, ids[start : start + _PORTION])
                told |= {first[one]: node.metadata for one, node in nodes.items()}
            self._facts_told[collection] = told
        return self._facts_told[collection]


def is_whole(deposit: StoredDocument, known: list[DocumentRow]) -> bool:
    """Whether all of a document is stored, in the version that was read last."""
    wanted = {row.source_hash for row in known if row.source_hash}
    if not wanted:  # nobody knows what was read
        return bool(deposit.version) and deposit.error is None
    return source_hash_of(deposit.version) in wanted


def _first(failed: Iterable[StoredDocument]) -> float | None:
    """Since when the first of them has failed."""
    return min((one.failed_at for one in failed if one.failed_at is not None), default=None)


def _lack(lacking: Collection[StoredDocument]) -> str:
    if not lacking:
        return "nothing of it is stored"
    if all(one.version for one in lacking):
        return "a former version of it is stored"
    return "not all of its chunks are stored"


def _failed(file: FileRow) -> ListedDocument:
    name = file.path.replace("\\", "/").rsplit("/", maxsplit=1)[-1]
    row = ListedDocument("", file.corpus, name, file.path, file.path, state="failed")
    return replace(row, error=file.error, failed_at=file.failed_at)
