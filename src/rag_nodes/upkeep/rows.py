"""What commands show, as plain data: collections, documents, and what is wrong with a store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag_nodes.store import is_of

if TYPE_CHECKING:
    from rag_nodes.ledger import CollectionRow
    from rag_nodes.store import CollectionInfo

DocumentState = Literal["stored", "incomplete", "expired", "failed"]
"""Of a document: whole in every collection of its corpus that has it; not whole in one; whole, but
due to be read again; or of a file that could not be read, whatever is stored of it from before."""


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
    """What is stored in a collection; what the store cannot tell is None where no ledger knows it.

    Attributes:
        name: as the store knows it; `aliases` are its other names.
        parser: class name, with `fingerprint` and `options` (JSON) of its configuration.
        model: name of the embedding model, with the `dimension` of its embeddings.
        vectors: names of the embeddings that its chunks have, the usual one first.
        chunks: that a search can find; `parents` are the nodes above them.
        documents: of which something is stored. Those that are not whole, or not as they were last
            read, are `incomplete`, of these `failed` where the ingest said why, mostly `error`,
            since `failed_at`. Those that are due to be read again are `expired`.
        size: bytes on disk; None for a server.
        first_used: time of the first ingest in seconds since 1970, as `last_used` and `failed_at`.
        trouble: why it cannot be opened, with the remedy; numbers are then those of the ledger.
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
    failed: int = 0
    error: str | None = None
    failed_at: float | None = None


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document and what is stored of it; None is for what nobody knows.

    Attributes:
        id: of the document; "" for a file that failed and became none.
        path: canonical, of its file; `source` is where its text came from, path or URL.
        chunks: stored of it, by collection, and last at `stored_at`, in seconds since 1970.
        state: whether it is stored whole; `error` says what is wrong with it, since `failed_at`.
        errors: what the ingest said of it, by collection.
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
