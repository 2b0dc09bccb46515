"""`Inventory`: what a store holds, by collection and by document, with what its ledger adds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag_nodes.core.errors import StoreError, StoreUnreachableError
from rag_nodes.core.metadata import FILE_PATH, SOURCE, TOTAL_PAGES, page_name
from rag_nodes.pipeline.ledger import StoredDocument, source_hash_of, with_errors
from rag_nodes.pipeline.pruning import Removed
from rag_nodes.store import described, is_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rag_nodes.pipeline.ledger import CollectionRow, DocumentRow, FileRow, Ledger
    from rag_nodes.store import CollectionInfo, Store, StoredNode

_PORTION = 500
"""Nodes that are fetched at once."""
_INTERRUPTED = "the ingest that stored it was interrupted, or is still running; run it again"
DocumentState = Literal["stored", "incomplete", "expired", "failed", "gone"]
"""State of a document: whole in every collection of its corpus that has it; not whole in one;
whole, but due to be read again; or of a file that could not be read or is not there any more,
whatever is stored of it from before."""


class HeldCollection(NamedTuple):
    """A collection of a store, and what its ledger knows of it; None where it does not."""

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
        """Return True if it belongs to a document set."""
        return self.row.corpus == corpus if self.row else is_of(self.info, corpus)


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """Contents of a collection; None for facts that neither store nor ledger has.

    Of `documents` something is stored; those that are not whole, or not as they were last read, are
    `incomplete`, of these `interrupted` where the ingest did not end, and `failed` where it said
    why, mostly `error`, since `failed_at`; those due to be read again are `expired`. `chunks` can
    be found, `parents` stand above them. `size` is bytes on disk, None for a server; times are
    seconds since 1970. Where `trouble` says why it cannot be opened, numbers are the ledger's.
    """

    name: str
    corpus: str
    parser: str
    fingerprint: str | None
    options: str | None
    model: str
    dimension: int
    ignored_vectors: tuple[str, ...]
    chunks: int
    parents: int
    documents: int
    incomplete: int
    expired: int
    size: int | None
    first_used: float | None
    last_used: float | None
    trouble: str = ""
    interrupted: int = 0
    failed: int = 0
    error: str | None = None
    failed_at: float | None = None


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document and what is stored of it; None is for what nobody knows.

    `id` is "" for a file that failed and became none, `path` that of its file, `source` where its
    text came from. `chunks` and `errors`, what the ingest said, are by collection; `error` says
    what is wrong where the `state` is not "stored". Times are seconds since 1970.
    """

    id: str
    corpus: str
    name: str
    path: str | None = None
    source: str | None = None
    pages: int | None = None
    chunks: dict[str, int] = field(default_factory=dict)
    stored_at: float | None = None
    state: DocumentState = "stored"
    error: str | None = None
    errors: dict[str, str] = field(default_factory=dict)
    failed_at: float | None = None


class Inventory:
    """Contents of a store, and the ledger about them, a blank one if there is none.

    `troubles` says why collections that were looked at cannot be read.
    """

    def __init__(self, store: Store, ledger: Ledger) -> None:
        self.store, self.ledger = store, ledger
        self.troubles: dict[str, str] = {}

    def collections(self, corpus: str | None = None) -> list[HeldCollection]:
        """The collections of a corpus, or of all of them, by name."""
        rows = {collection.name: collection for collection in self.ledger.collections()}
        held = (HeldCollection(info, rows.get(info.name)) for info in self.store.collections())
        return [collection for collection in held if corpus is None or collection.is_of(corpus)]

    def never_stored(self, corpus: str | None = None) -> list[HeldCollection]:
        """Collections that are not there, as all documents failed that were to be in them."""
        names = {info.name for info in self.store.collections()}
        return [
            HeldCollection(info, row)
            for row in self.ledger.collections(corpus or "")
            if row.name not in names
            and (info := described(row.name, 0))
            and any(row.error is not None for row in self.ledger.stored(row.name).values())
        ]

    def stored(self, held: HeldCollection) -> dict[str, StoredDocument]:
        """Return the stored documents of a collection, by the document's id.

        The ledger is believed where it is that of this state of the store, and has to be where the
        collection cannot be opened or read; else the store is read.
        """
        ledger_rows = self.ledger.stored(held.info.name)
        trouble = held.info.trouble
        try:
            if not trouble:
                return self._read(held, ledger_rows)
        except StoreUnreachableError:
            raise
        except StoreError as error:
            trouble = str(error)
        self.troubles[held.info.name] = trouble
        return ledger_rows

    def _read(
        self, held: HeldCollection, ledger_rows: dict[str, StoredDocument]
    ) -> dict[str, StoredDocument]:
        name, count = held.info.name, held.info.points
        if self.ledger.covers(name, self.store.marks(name), count):
            whole = {key: row for key, row in ledger_rows.items() if row.version}
            others = {key: row for key, row in ledger_rows.items() if not row.version}
            nodes = {other: self.store.stored(name, other) for other in others}
            rows = whole | _rows(name, nodes, others)
            if sum(row.chunks for row in rows.values()) == count:
                return rows
        return _rows(name, self.store.documents(name), ledger_rows)

    def _checked(self, held: HeldCollection) -> dict[str, StoredDocument]:
        """Return the stored documents, those as not whole that an interrupted run left."""
        rows = self.stored(held)
        for document_id in rows.keys() & self.ledger.opened(held.info.name):
            rows[document_id] = rows[document_id]._replace(version="", error=_INTERRUPTED)
        return rows

    def size_of(self, held: HeldCollection, document_ids: Collection[str] | None = None) -> Removed:
        """Return the size of some documents of a collection, or of all of it."""
        sizes = [
            row.nodes
            for document_id, row in self.stored(held).items()
            if document_ids is None or document_id in document_ids
        ]
        return Removed(held.info.name, sum(map(bool, sizes)), sum(sizes))

    def status(self, held: HeldCollection) -> CollectionStatus:
        """Return the status of a collection."""
        name, row = held.info.name, held.row
        stored = list(self._checked(held).values())
        trouble = self.troubles.get(name, "")
        documents = self.ledger.documents(held.corpus)
        lacking = [row for row in stored if not _is_whole(row, documents.get(row.document_id, ()))]
        failed = [row for row in lacking if row.error not in {None, _INTERRUPTED}]
        with self.store.engine.step(name):
            collection = None if trouble else self.store.engine.collection(name)
            size = collection.disk_size() if collection else None
        return CollectionStatus(
            name=name,
            corpus=held.corpus,
            parser=held.parser,
            fingerprint=row.fingerprint if row else None,
            options=row.options if row else None,
            model=row.model if row else held.info.embedding,
            dimension=collection.layout.size if collection else (row and row.dimension) or 0,
            ignored_vectors=self.store.ignored_vectors(name) if collection else (),
            chunks=sum(row.chunks for row in stored) if trouble else held.info.points,
            parents=sum(row.parents for row in stored),
            documents=sum(bool(row.nodes) for row in stored),
            incomplete=len(lacking),
            expired=sum(self._is_expired(documents.get(row.document_id, ())) for row in stored),
            size=size,
            first_used=row.first_used if row else None,
            last_used=row.last_used if row else None,
            trouble=trouble,
            interrupted=sum(row.error == _INTERRUPTED for row in lacking),
            failed=len(failed),
            error=next((text for text, _ in Counter(o.error for o in failed).most_common(1)), None),
            failed_at=_first(failed),
        )

    def documents(self, corpus: str, collections: Iterable[HeldCollection]) -> list[ListedDocument]:
        """The documents of a corpus in some of its collections, by name; then files without any.

        With all of its collections, those too that were read and of which nothing is stored.
        """
        chosen, documents = list(collections), self.ledger.documents(corpus)
        holdings: dict[str, dict[str, StoredDocument]] = {}
        is_all = {*chosen} >= {*self.collections(corpus)}
        for held in [*chosen, *self.never_stored(corpus)] if is_all else chosen:
            for document_id, row in self._checked(held).items():
                holdings.setdefault(document_id, {})[held.info.name] = row
        if is_all:
            for document_id, rows in documents.items():
                if rows[-1].source_hash:
                    holdings.setdefault(document_id, {})
        unrecorded: dict[str, ListedDocument] = {}
        for name in (held.info.name for held in chosen if held.info.name not in self.troubles):
            unknown = holdings.keys() - documents.keys() - unrecorded.keys()
            unrecorded |= self._unrecorded(corpus, name, unknown)
        unread = {file.path: file for file in self.ledger.unread(corpus)}
        listed = []
        for document_id, stored in holdings.items():
            rows = documents.get(document_id, [])
            about = unrecorded.get(document_id) or _about(corpus, document_id, rows)
            listed.append(self._judged(about, rows, stored, unread.get(about.path or "")))
        listed.sort(key=lambda document: (document.name, document.id))
        paths = {document.path for document in listed}
        others = (file for file in unread.values() if file.documents or file.path not in paths)
        return [*listed, *map(_failed, others)]

    def _is_expired(self, rows: Sequence[DocumentRow]) -> bool:
        at = rows[-1].expires_at if rows else None
        return at is not None and at <= self.ledger.clock()

    def _judged(
        self,
        about: ListedDocument,
        rows: Sequence[DocumentRow],
        stored: Mapping[str, StoredDocument],
        file: FileRow | None,
    ) -> ListedDocument:
        """A document with what is stored of it, and whether that is whole."""
        lacking = {name: row for name, row in stored.items() if not _is_whole(row, rows)}
        errors = {name: row.error for name, row in lacking.items() if row.error is not None}
        stored_rows = {name: row for name, row in stored.items() if row.error is None or row.nodes}
        state: DocumentState = "stored"
        error, since = None, _first(lacking.values())
        if file and not file.documents:
            state, error, since = "failed", file.error, file.failed_at
        elif lacking or not stored:
            state = "incomplete"
            error = "; ".join(dict.fromkeys(filter(None, errors.values())))
            error = error or f"{_lack(lacking.values())}; ingest it again"
        elif self._is_expired(rows):
            state = "expired"
        return replace(
            about,
            chunks={name: row.chunks for name, row in stored_rows.items()},
            stored_at=max((row.stored_at or 0 for row in stored_rows.values()), default=0) or None,
            state=state,
            error=error,
            errors=errors,
            failed_at=since,
        )

    def _unrecorded(
        self, corpus: str, collection: str, unknown: Collection[str]
    ) -> dict[str, ListedDocument]:
        """Return the rows of documents that no ledger knows, each by one of its nodes."""
        stored = self.store.documents(collection) if unknown else {}
        first = {next(iter(stored[key])): key for key in stored.keys() & unknown}
        ids, rows = list(first), dict[str, ListedDocument]()
        for start in range(0, len(ids), _PORTION):
            page = ids[start : start + _PORTION]
            for node_id, node in self.store.fetch(collection, page).items():
                facts, document_id = node.metadata, first[node_id]
                source = facts.get(SOURCE) or facts.get(FILE_PATH)
                name, pages = page_name(facts) or document_id, facts.get(TOTAL_PAGES)
                rows[document_id] = ListedDocument(document_id, corpus, name, None, source, pages)
        return rows


def _about(corpus: str, document_id: str, rows: Sequence[DocumentRow]) -> ListedDocument:
    """Return the row of a document by the ledger."""
    if not rows:
        return ListedDocument(document_id, corpus, document_id)
    row = rows[-1]
    name = row.name or document_id
    return ListedDocument(document_id, corpus, name, row.path, row.source, row.pages)


def _failed(file: FileRow) -> ListedDocument:
    """A file that could not be read."""
    return ListedDocument(
        id="",
        corpus=file.corpus,
        name=file.path.replace("\\", "/").rsplit("/", maxsplit=1)[-1],
        path=file.path,
        source=file.path,
        state="failed",
        error=file.error,
        failed_at=file.failed_at,
    )


def _rows(
    name: str,
    stored: Mapping[str, Mapping[str, StoredNode]],
    ledger_rows: Mapping[str, StoredDocument],
) -> dict[str, StoredDocument]:
    """Return the rows of stored documents, and the errors that the ledger has of others."""
    documents = (StoredDocument.of(name, key, nodes) for key, nodes in stored.items() if nodes)
    return with_errors(documents, ledger_rows)


def _is_whole(stored: StoredDocument, rows: Iterable[DocumentRow]) -> bool:
    """Return True if all of a document is stored, as any of its files was last read."""
    wanted = {row.source_hash for row in rows if row.source_hash}
    if not wanted:  # nobody knows what was read
        return bool(stored.version) and stored.error is None
    return source_hash_of(stored.version) in wanted


def _first(failed: Iterable[StoredDocument]) -> float | None:
    """Since when the first of them has failed."""
    return min((row.failed_at for row in failed if row.failed_at is not None), default=None)


def _lack(lacking: Collection[StoredDocument]) -> str:
    if not lacking:
        return "nothing of it is stored"
    if all(row.version for row in lacking):
        return "a previous version of it is stored"
    return "not all of its chunks are stored"
