"""What commands show, as plain data: collections, documents, and what is wrong with a store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rag_nodes.errors import (
    StoreDamagedError,
    StoreFullError,
    StoreLockedError,
    StoreUnreachableError,
)
from rag_nodes.store import is_of

if TYPE_CHECKING:
    from collections.abc import Callable

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
        incomplete: documents that are not stored whole, or not as they were last read.
        expired: documents that are due to be read again.
        size: bytes on disk; None for a server.
        first_used: of the first ingest, in seconds since 1970; None where unknown.
        last_used: of the last one.
        aliases: its other names.
        trouble: why it cannot be opened, with the remedy; numbers are then those of the ledger. ""
            where it can.
        failed: of the incomplete ones those of which the ingest said why.
        error: why, of most of these; None where there are none.
        failed_at: since when, of the first of these, in seconds since 1970; None where unknown.
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
        errors: what the ingest said of it, by collection.
        failed_at: since when, in seconds since 1970; None where nothing failed, or it is unknown.
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


FindingKind = Literal[
    "disk",
    "failed",
    "folder",
    "foreign",
    "ledger",
    "locked",
    "torn",
    "unreachable",
    "unreadable",
]
"""What it is about: free space, what an ingest could not read or store, permissions of the folder,
what is none of ours, the ledger, documents of which not all is there, a folder that another process
holds, a server that does not answer, data that cannot be read."""

_KINDS: tuple[tuple[type[Exception], FindingKind], ...] = (
    (StoreLockedError, "locked"),
    (StoreUnreachableError, "unreachable"),
    (StoreDamagedError, "unreadable"),
    (StoreFullError, "disk"),
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that was found.

    Attributes:
        kind: what it is about.
        where: the folder, collection, document or file.
        what: what is wrong with it.
        remedy: what to do.
        is_wrong: something has to be done; else it is only worth knowing.
        repair: mends it without a loss; None where a person has to decide.
        mended: it was.
    """

    kind: FindingKind
    where: str
    what: str
    remedy: str
    is_wrong: bool = True
    repair: Callable[[], None] | None = field(default=None, compare=False)
    mended: bool = False

    @classmethod
    def of(cls, error: Exception, where: str, otherwise: FindingKind, remedy: str = "") -> Trouble:
        """What an error tells: what is wrong and, behind a semicolon, what to do about it.

        Args:
            error: that was raised.
            where: at what.
            otherwise: its kind where the error has none.
            remedy: a better one than the error's.
        """
        kinds = (kind for of, kind in _KINDS if isinstance(error, of))
        what, _, said = str(error).partition("; ")
        return cls(next(kinds, otherwise), where, what, remedy or said or "see what it says")

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        said = {one: getattr(self, one) for one in ("kind", "where", "what", "remedy", "is_wrong")}
        return {**said, "can_be_repaired": self.repair is not None, "mended": self.mended}
