"""Units of an ingest and what comes of them, plain data that goes to other processes and back."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import (
    CredentialsError,
    DimensionError,
    ModelConnectionError,
    RagNodesError,
    RateLimitedError,
    StoreError,
    UnknownModelError,
)
from rag_nodes.ledger import StoredDocument
from rag_nodes.metadata import SOURCE
from rag_nodes.models.keys import without_keys
from rag_nodes.pipeline.report import FileColumn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.ledger import DocumentRow, FileRow
    from rag_nodes.pipeline.report import Stage
    from rag_nodes.readers import ListedFile
    from rag_nodes.store.points import Point


logger = logging.getLogger(__name__)

HOPELESS = (
    CredentialsError,
    DimensionError,
    ModelConnectionError,
    RateLimitedError,
    StoreError,
    UnknownModelError,
)
"""Errors after which the next document would only fail the same way, slowly."""
LONGEST = 1000
"""Characters of an error that a ledger keeps."""


class DueFile(NamedTuple):
    """A file that is to be opened, or a document that was read already, by its place in the run.

    `row` is for the ledger, None where the file cannot be known there; `twins` are ids of documents
    of other files with the same bytes.
    """

    position: int
    file: ListedFile | None = None
    document: Document | None = None
    row: FileRow | None = None
    twins: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """In bytes or characters."""
        if self.document is not None:
            return len(self.document.text)
        return (self.file.size if self.file else 0) or 0

    @property
    def path(self) -> str:
        """For people."""
        if self.file is not None:
            return str(self.file.path)
        facts = self.document.metadata if self.document else {}
        return str(facts.get(SOURCE) or (self.document.id_ if self.document else ""))


@dataclass(slots=True)
class Known:
    """What is stored of the documents of a unit, as it was when the unit was made.

    `documents` are those that are stored whole, in whatever version, by column and id; `by_text`
    vectors by the text that was embedded, by column and name of the embedding; `dimensions` the
    lengths of the vectors of each column, None where that is not known.
    """

    documents: Mapping[tuple[int, str], StoredDocument] = field(default_factory=dict)
    by_text: Mapping[tuple[int, str], Mapping[str, Sequence[float]]] = field(default_factory=dict)
    dimensions: Sequence[int | None] = ()

    def document(self, column: int, document_id: str) -> StoredDocument | None:
        """What is stored of a document that is stored whole."""
        return self.documents.get((column, document_id))

    def vectors(
        self,
        column: int,
        document_ids: Sequence[str],  # noqa: ARG002 -- all that are known
        name: str,
    ) -> Mapping[str, Sequence[float]]:
        """Stored vectors of some documents at least, by the same model, by text."""
        return self.by_text.get((column, name), {})


class FileUnit(NamedTuple):
    """Files that are read, cut and embedded together.

    `stopped` says why columns have given up, by name, as other units found out.
    """

    files: tuple[DueFile, ...]
    known: Known
    stopped: Mapping[str, str] = MappingProxyType({})

    def parts(self, at: int | None) -> tuple[FileUnit, ...]:
        """The file at this number and the others, or halves for None; none of a single file."""
        if len(self.files) == 1:
            return ()
        if at is None:
            half = len(self.files) // 2
            return self._replace(files=self.files[:half]), self._replace(files=self.files[half:])
        others = self.files[:at] + self.files[at + 1 :]
        return self._replace(files=(self.files[at],)), self._replace(files=others)


class DocumentRead(NamedTuple):
    """What became of one document of a file, in how many seconds; no row where there is none.

    Of a blank document that was given there are row and error. `extra` is that of rag-nodes which
    would read it, where that is all that is lacking.
    """

    row: DocumentRow | None
    seconds: float = 0.0
    error: str | None = None
    is_empty: bool = False
    extra: str | None = None


@dataclass(slots=True, eq=False)
class DocumentResult:
    """What a column makes of one version of a document, and what became of it.

    `stored` is what the ledger says of it once it is whole, and its version alone until it is cut;
    `ids` are those of all its nodes, `points` what the store was not given yet. `missing` chunks
    are not stored, `spared` tokens had their vectors already. `is_known` is one that is stored
    whole and was not cut. `lacks_texts` says that chunks are stored without what an LLM was to
    write. `former` counts chunks of the former version that are still there, and `touched` says
    that this ingest changed something of it in the store.
    """

    label: str
    stored: StoredDocument
    ids: tuple[str, ...] = ()
    points: Sequence[Point] = ()
    missing: int = 0
    spared: int = 0
    is_known: bool = False
    is_cut: bool = False
    lacks_texts: bool = False
    choice: str | None = None
    error: str | None = None
    former: int = 0
    touched: bool = False

    @classmethod
    def known(cls, label: str, stored: StoredDocument) -> DocumentResult:
        """That of a document that is stored whole as it is."""
        return cls(label, stored, spared=stored.tokens, is_known=True)

    def fail(self, error: str) -> None:
        """Say why a chunk is not stored; the first reason is kept."""
        self.error = self.error or error

    @property
    def is_stored(self) -> bool:
        """Whether every node is, or is about to be, in the store."""
        return self.is_known or (self.is_cut and not self.missing)

    @property
    def is_whole(self) -> bool:
        """Whether every node is in the store as it should be, and nothing else of the document."""
        return self.is_stored and not self.former and not self.lacks_texts and self.error is None

    def outcome(self) -> FileColumn:
        """What became of it, for the report."""
        chunks = self.stored.chunks
        if self.is_whole:
            status = "stored" if self.touched else "unchanged"
            return FileColumn(status, chunks, chunks, choice=self.choice)  # type: ignore[arg-type]
        stored = max(0, chunks - self.missing)
        return FileColumn("incomplete", chunks, stored, self.former, self.error, self.choice)


@dataclass(slots=True, eq=False)
class ColumnResult:
    """What a column made of a unit: documents by id, of several versions of one the last.

    `errors` is everything that went wrong, in order; `stopped` why it gave up; `embedded` counts
    tokens that the model was given; `seconds` are by the clock, by stage.
    """

    documents: dict[str, DocumentResult] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    stopped: str | None = None
    embedded: int = 0
    seconds: dict[str, float] = field(default_factory=lambda: {"parse": 0.0, "embed": 0.0})


@dataclass(slots=True, eq=False)
class Result:
    """What came of a unit: of each file what was read, of each column what was made.

    `steps` are for whoever watches (stage, file or parser, chunks, tokens embedded), where it was
    not told meanwhile; `spent` by each writing transformation: requests, tokens in and out.
    `broken` is what ended it
    before it was done: what is there by then was paid for and is to be stored.
    """

    reads: list[list[DocumentRead]]
    columns: list[ColumnResult]
    steps: list[tuple[Stage, str, int, int]] = field(default_factory=list)
    spent: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    broken: BaseException | None = None


def noted(column: str, what: str, error: BaseException) -> None:
    """Log an error of a column."""
    # Where nobody configured logging, Python prints warnings, and with them any traceback.
    logger.warning("%s: %s: %s", column, what, said(error))
    if not isinstance(error, RagNodesError):  # ours say it all, and their causes may hold keys
        logger.debug("%s: %s", column, what, exc_info=error)


def said(error: BaseException) -> str:
    """An error in words; those that are not ours with their class."""
    if isinstance(error, RagNodesError):
        return str(error)
    return ": ".join(filter(None, (type(error).__name__, str(error))))


def in_brief(error: str) -> str:
    """As much of an error as a ledger keeps, without keys."""
    return without_keys(error, most=LONGEST)
