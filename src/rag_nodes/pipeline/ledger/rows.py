"""Rows of a ledger, as plain data: files, documents, collections, stored documents."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag_nodes.embedding import Counts, DocumentFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rag_nodes.store import StoredNode

WEB_HOURS = 24.0
"""Hours after which a web page is due again."""

FileState = Literal["read", "partial", "failed"]
"""State of a file when it was last opened: "partial" means read with warnings, and "failed"
that it, or a document in it, could not be read, or has no text."""


class FileRow(NamedTuple):
    """A file of a corpus as it was when it was last opened, by its canonical path.

    `mtime_ns` is 0 where it may change again without its time telling; `content_hash` the SHA-256
    of its bytes, "" where it could not be read to the end; `reading` changes with whatever decides
    what becomes of the same bytes, and begins with the engine of a PDF. `documents` says how many
    it became, `error` why it, or one in it, could not be read, and `failed_at` since when, in
    seconds since 1970.
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

    @property
    def pdf_engine(self) -> str:
        """Engine and major version that a PDF was read with, such as "pdfium 5"; else ""."""
        return self.reading.rpartition(":")[0]


class DocumentRow(NamedTuple):
    """A document of a file; a crawl has many, and two crawls may have the same.

    `source_hash` is of all its nodes are made of, see `rag_nodes.core.metadata.SOURCE_HASH`;
    `name` what to call it; `source` where its text came from, path or URL; `pages` None for formats
    without; `warnings` what the reader could not take over. `expires_at` is when it is due again
    though unchanged, in seconds since 1970; None for never.
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

    @property
    def facts(self) -> DocumentFacts:
        """Facts for the row of a report."""
        facts = self.name, self.source, self.pages, self.characters, self.warnings
        return DocumentFacts(self.id, *facts)


class KnownFile(NamedTuple):
    """A file with its documents, in its order."""

    file: FileRow
    documents: list[DocumentRow]


class CollectionRow(NamedTuple):
    """A collection of a store: one parser with its options, and one embedding model.

    `parser` is the parser's class name, `fingerprint` that of its configuration, and `options` that
    configuration as JSON, never with a key in it. `dimension` is None until a vector was stored;
    times are seconds since 1970. `documents` counts those of which something is stored, as far as
    the ledger knows, and `chunks` theirs.
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
    """Chunks of a document in a collection.

    `version` is that which is stored whole, see `version_of`; "" where none is, and from before the
    first write until the store confirmed the last one: numbers are then true of before. `chunks`
    can be found, `parents` are above them, `tokens` are of all chunks and `largest` of one, in the
    parser's encoding; the place of `not_located` in the document is not known. `error` says on one
    line and without keys why the version that was read last is not stored whole, None where that is
    not known, or it is. Times are seconds since 1970.
    """

    collection: str
    document_id: str
    version: str
    chunks: int = 0
    parents: int = 0
    tokens: int = 0
    largest: int = 0
    not_located: int = 0
    error: str | None = None
    stored_at: float | None = None
    failed_at: float | None = None

    @classmethod
    def of(
        cls, collection: str, document_id: str, stored: Mapping[str, StoredNode]
    ) -> StoredDocument:
        """Return the row of a document whose nodes the store was asked for."""
        from rag_nodes.store import is_complete  # the help of commands needs rows, and no store

        chunks = [node for node in stored.values() if not node.is_parent]
        version = next((node.source_hash for node in stored.values()), "")
        return cls(
            collection,
            document_id,
            version if is_complete(stored, version) else "",
            chunks=len(chunks),
            parents=len(stored) - len(chunks),
            tokens=sum(node.tokens for node in chunks),
            largest=max((node.tokens for node in chunks), default=0),
            not_located=sum(not node.is_placed for node in chunks),
        )

    @property
    def counts(self) -> Counts:
        """Sizes of the chunks."""
        return Counts(self.chunks, self.parents, self.tokens, self.largest, self.not_located)

    @property
    def nodes(self) -> int:
        """Chunks and parents."""
        return self.chunks + self.parents


def with_errors(
    stored: Iterable[StoredDocument], ledger_rows: Mapping[str, StoredDocument]
) -> dict[str, StoredDocument]:
    """Return rows by document, with the errors that a ledger knows, also of what was not found."""
    rows = {row.document_id: row for row in stored}
    for key, row in ledger_rows.items():
        if row.error is not None:
            document = rows.get(key, StoredDocument(row.collection, key, ""))
            rows[key] = document._replace(error=row.error, failed_at=row.failed_at)
    return rows


def version_of(source_hash: str, code: str) -> str:
    """The version of a document that some code makes.

    Args:
        source_hash: of the document, as files have it.
        code: of the column where that is not of this package alone: `parser`, or `parser-model`
            with an embedding model of the user's own.

    >>> from rag_nodes.pipeline.ledger.rows import version_of
    >>> version_of("41ce", "9a-07"), version_of("41ce", "")
    ('9a-07:41ce', '41ce')
    """
    return f"{code}:{source_hash}" if code else source_hash


def source_hash_of(version: str) -> str:
    """The hash of the document, by whatever code.

    >>> from rag_nodes.pipeline.ledger.rows import source_hash_of
    >>> source_hash_of("9a-07:41ce")
    '41ce'
    """
    return version.rpartition(":")[2]


def model_of(version: str) -> str:
    """The code of the embedding model that made its vectors; "" for one that is installed.

    >>> from rag_nodes.pipeline.ledger.rows import model_of
    >>> model_of("9a-07:41ce"), model_of("9a:41ce"), model_of("41ce")
    ('07', '', '')
    """
    return version.rpartition(":")[0].partition("-")[2]


def utc_time(seconds: float | None) -> str | None:
    """A time of a ledger for programs, as ISO 8601; None where it is not known.

    Examples:
        >>> from rag_nodes.pipeline.ledger.rows import utc_time
        >>> utc_time(1_600_000_000.5)
        '2020-09-13T12:26:40Z'
    """
    if seconds is None:
        return None
    return datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")
