"""What a ledger holds, as plain data: files, documents, collections, what is stored of each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, NamedTuple

WEB_HOURS = 24.0
"""Hours after which a web page is due again."""

FileState = Literal["read", "partial", "failed", "empty"]
"""What became of a file when it was last opened: "partial" means read with warnings, "failed" that
it, or a document in it, could not be read, and "empty" that there is no text in it any more."""


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
            the file has it no more, or was not read to its end since it has it.
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
    """A file with its documents in its order, those that it has no more at the end."""

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
        documents: of which something is stored, as far as the ledger knows.
        chunks: of these together.
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
    documents: int = 0
    chunks: int = 0


class StoredDocument(NamedTuple):
    """What a collection holds of a document.

    Attributes:
        collection: its name.
        document_id: of the document.
        version: that is stored whole, see `version_of`; "" where none is, and from before the first
            write until the store confirmed the last one. All else is then true of before.
        chunks: stored nodes that a search can find.
        parents: stored nodes above them.
        tokens: of the chunks together, in the parser's encoding.
        largest: tokens of the largest chunk.
        unplaced: chunks whose place in the document is not known.
        error: why the version that was read last is not stored whole, on one line and without
            keys; None where that is not known, or it is.
        stored_at: when the store last confirmed it, in seconds since 1970; None for never.
        failed_at: since when it has failed, in seconds since 1970; None where it does not.
    """

    collection: str
    document_id: str
    version: str
    chunks: int = 0
    parents: int = 0
    tokens: int = 0
    largest: int = 0
    unplaced: int = 0
    error: str | None = None
    stored_at: float | None = None
    failed_at: float | None = None

    @property
    def nodes(self) -> int:
        """Chunks and parents."""
        return self.chunks + self.parents


def version_of(source_hash: str, code: str) -> str:
    """The version of a document that some code makes.

    Args:
        source_hash: of the document, as files have it.
        code: of the column where that is not of this package alone: `parser`, or `parser-model`
            with an embedding model of the user's own.

    >>> version_of("41ce", "9a-07"), version_of("41ce", "")
    ('9a-07:41ce', '41ce')
    """
    return f"{code}:{source_hash}" if code else source_hash


def source_hash_of(version: str) -> str:
    """The hash of the document, by whatever code.

    >>> source_hash_of("9a-07:41ce")
    '41ce'
    """
    return version.rpartition(":")[2]


def model_of(version: str) -> str:
    """The code of the embedding model that made its vectors; "" for one that is installed.

    >>> model_of("9a-07:41ce"), model_of("9a:41ce"), model_of("41ce")
    ('07', '', '')
    """
    return version.rpartition(":")[0].partition("-")[2]


def utc_time(seconds: float | None) -> str | None:
    """A time of a ledger for programs, as ISO 8601; None where it is not known.

    Example:
        >>> utc_time(1_600_000_000.5)
        '2020-09-13T12:26:40Z'
    """
    if seconds is None:
        return None
    return datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")
