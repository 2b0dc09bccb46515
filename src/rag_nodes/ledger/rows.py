"""What a ledger holds, as plain data: files, documents, collections, what is stored of each."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

WEB_HOURS = 24.0
"""Hours after which a web page is due again."""

FileState = Literal["read", "partial", "failed", "empty"]
"""What became of a file when it was last opened: "partial" means read with warnings, "failed" that
it, or a document in it, could not be read, and "empty" that there is no text in it any more."""
_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_WIDTH = 16
"""Bytes of a point in a list of ids."""
_NAMED = b"\xff" * 4
"""What the bytes begin with that stand for an id in the table of names."""


def utc_time(seconds: float | None) -> str | None:
    """A time of a ledger for programs, as ISO 8601; None where it is not known.

    Example:
        >>> utc_time(1_600_000_000.5)
        '2020-09-13T12:26:40Z'
    """
    if seconds is None:
        return None
    return datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")


class FileRow(NamedTuple):
    """A file as it was when it was last opened.

    Attributes:
        corpus: the document set it belongs to.
        path: canonical.
        size: in bytes.
        mtime_ns: time of its last change, in nanoseconds since 1970; 0 where it may change again
            without its time telling.
        content_hash: SHA-256 of its bytes, hex; "" where it could not be read to the end.
        reading: changes with whatever decides what becomes of the same bytes.
        state: what became of it.
        documents: how many it became; 0 for one that could not be read at all, or is empty.
        error: why it, or a document in it, could not be read; None where all could.
        failed_at: when that was found first since it was last read, in seconds since 1970.
    """

    corpus: str
    path: str
    size: int
    mtime_ns: int
    content_hash: str
    reading: str
    state: FileState
    documents: int
    error: str | None = None
    failed_at: float | None = None


class DocumentRow(NamedTuple):
    """A document of a file; a crawl has many, and two crawls may have the same.

    Attributes:
        corpus: the document set it belongs to.
        path: canonical path of the file.
        id: of the document.
        source_hash: of all its nodes are made of, see `rag_nodes.metadata.SOURCE_HASH`; "" where
            the file has it no more.
        name: what to call it.
        source: where its text came from, path or URL.
        pages: None for formats without pages.
        characters: of its text.
        warnings: what the reader could not take over; None where nothing.
        expires_at: seconds since 1970 from which it is due again though unchanged; None for never.
    """

    corpus: str
    path: str
    id: str
    source_hash: str
    name: str
    source: str | None
    pages: int | None
    characters: int
    warnings: str | None = None
    expires_at: float | None = None


class KnownFile(NamedTuple):
    """A file with its documents, those that it has no more at the end."""

    file: FileRow
    documents: list[DocumentRow]


class CollectionRow(NamedTuple):
    """A collection of a store: one parser with its options, and one embedding model.

    Attributes:
        name: as the store knows it.
        corpus: the document set in it.
        parser: class name of the parser.
        fingerprint: of the parser's configuration.
        options: that configuration, as JSON; never with a key in it.
        model: name of the embedding model.
        dimension: of its vectors; None until one was stored.
        first_used: seconds since 1970.
        last_used: seconds since 1970.
    """

    name: str
    corpus: str
    parser: str
    fingerprint: str
    options: str
    model: str
    dimension: int | None = None
    first_used: float = 0.0
    last_used: float = 0.0


class DepositRow(NamedTuple):
    """What a collection holds of a document.

    Attributes:
        collection: its name.
        document_id: of the document.
        source_hash: of the version that is stored whole; "" where none is.
        chunks: stored nodes that a search can find.
        parents: stored nodes above them.
        tokens: of the chunks together, in the parser's encoding.
        largest: tokens of the largest chunk.
        unplaced: chunks whose place in the document is not known.
        error: why the version that was read last is not stored whole, on one line and without
            keys; None where that is not known, or it is. All else is true all the same.
        stored_at: when the store confirmed it, in seconds since 1970; None from before the first
            write until then, so that whoever finds it so asks the store.
        failed_at: since when it has failed, in seconds since 1970; None where it does not.
    """

    collection: str
    document_id: str
    source_hash: str
    chunks: int = 0
    parents: int = 0
    tokens: int = 0
    largest: int = 0
    unplaced: int = 0
    error: str | None = None
    stored_at: float | None = None
    failed_at: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stored, so that the row is there for its error alone."""
        return not (self.chunks or self.parents)


class CollectionSums(NamedTuple):
    """A collection and what the ledger says is in it.

    Attributes:
        row: the collection.
        documents: of which something is stored.
        chunks: together; to be compared with `Store.count`.
    """

    row: CollectionRow
    documents: int
    chunks: int


def packed_ids(node_ids: Iterable[str]) -> tuple[bytes, list[tuple[bytes, str]]]:
    """Ids in 16 bytes each, and rows of `names` for those that are no UUIDs.

    Qdrant takes no other ids but numbers, and an ingest writes UUIDs alone; other stores and other
    programs may have any.
    """
    keys, names = [], []
    for one in node_ids:
        if _UUID.fullmatch(one) and not one.startswith(_NAMED.hex()):
            keys.append(bytes.fromhex(one.replace("-", "")))
        else:
            keys.append(_NAMED + hashlib.sha256(one.encode()).digest()[: _WIDTH - len(_NAMED)])
            names.append((keys[-1], one))
    return b"".join(keys), names


def ids_of_both(packed: bytes, other: bytes) -> bytes:
    """The ids of two lists of a ledger, each once."""
    return b"".join(dict.fromkeys(keys_of(packed + other)))


def keys_of(packed: bytes) -> list[bytes]:
    """What stands for each id in a list."""
    return [packed[start : start + _WIDTH] for start in range(0, len(packed), _WIDTH)]


def is_named(key: bytes) -> bool:
    """Whether the table of names has the id."""
    return key.startswith(_NAMED)


def uuid_of(key: bytes) -> str:
    """The id that a key is the bytes of."""
    digits = key.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
