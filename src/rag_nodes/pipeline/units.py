"""Units of an ingest and what comes of them: plain data, which goes to other processes and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.ledger import StoredDocument
from rag_nodes.metadata import SOURCE
from rag_nodes.pipeline.report import FileColumn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.ledger import DocumentRow, FileRow
    from rag_nodes.pipeline.report import ColumnStatus, Stage
    from rag_nodes.readers import ListedFile
    from rag_nodes.store.points import Point
    from rag_nodes.transforms import PromptKey


class DueFile(NamedTuple):
    """A file that is to be opened, or a document that was read already.

    Attributes:
        position: in the listing.
        file: as it was found; None for a document.
        document: that was given; None for a file.
        row: of the file, for the ledger; None where none is kept.
        twins: ids of documents of other files with the same bytes.
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

    Attributes:
        documents: those that are stored whole, in whatever version, by column and id.
        by_text: vectors by the text that was embedded, by column and name of the embedding.
        dimensions: of the vectors of each column; None where that is not known.
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

    Attributes:
        files: them.
        known: what is stored of their documents.
        stopped: why columns have given up, by name, as other units found out.
    """

    files: tuple[DueFile, ...]
    known: Known
    stopped: Mapping[str, str] = MappingProxyType({})

    def parts(self, at: int | None) -> tuple[FileUnit, ...]:
        """Two units: the file at this number, and the others; halves for None.

        Empty for a single file, of which there are no parts.
        """
        if len(self.files) == 1:
            return ()
        cut = len(self.files) // 2 if at is None else 1
        files = (
            self.files if at is None else (self.files[at], *self.files[:at], *self.files[at + 1 :])
        )
        return self._replace(files=files[:cut]), self._replace(files=files[cut:])


class DocumentRead(NamedTuple):
    """What became of one document of a file.

    Attributes:
        row: the document; None where there is none.
        seconds: that reading it took.
        error: why it could not be read, in words; of a blank document that was given both are
            there.
        is_empty: there is no text in it.
        extra: of rag-nodes that would read it, where that is all that is lacking.
    """

    row: DocumentRow | None
    seconds: float = 0.0
    error: str | None = None
    is_empty: bool = False
    extra: str | None = None


@dataclass(slots=True, eq=False)
class DocumentResult:
    """What a column makes of one version of a document, and what became of it.

    Attributes:
        label: the document, for messages.
        stored: what the ledger says of it once it is whole; until it is cut, its version alone.
        ids: of all its nodes, parents included.
        points: that are to be stored, and were not given to the store yet.
        missing: how many chunks are not stored, as they got no vector or the store refused them.
        spared: tokens whose vectors were there already.
        is_known: the document is stored whole already, and was not cut.
        is_cut: it came to that.
        lacks_texts: chunks are stored without what an LLM was to write about them.
        choice: what its parser chose for it and why, if that is one that decides.
        error: why a chunk is not stored, the first reason of several.
        former: chunks of its former version that are still stored.
        touched: this ingest changed something of it in the store.
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
            status: ColumnStatus = "stored" if self.touched else "unchanged"
            return FileColumn(status, chunks, chunks, choice=self.choice)
        stored = max(0, chunks - self.missing)
        return FileColumn("incomplete", chunks, stored, self.former, self.error, self.choice)


@dataclass(slots=True, eq=False)
class ColumnResult:
    """What a column made of a unit.

    Attributes:
        documents: by id; of one that the unit has in several versions the last one.
        errors: everything that went wrong, in order.
        stopped: why it gave up; None where it did not.
        embedded: tokens that the model was given.
        seconds: wall-clock time by stage.
    """

    documents: dict[str, DocumentResult] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    stopped: str | None = None
    embedded: int = 0
    seconds: dict[str, float] = field(default_factory=lambda: {"parse": 0.0, "embed": 0.0})


@dataclass(slots=True, eq=False)
class Result:
    """What came of a unit.

    Attributes:
        reads: of each file, by the unit's order.
        columns: in order.
        steps: what was done, for whoever watches: stage, file or parser, chunks, tokens embedded.
            Empty where it was told while it was done.
        spent: of each transformation by which an LLM writes: requests, tokens in and out.
        written: texts for journals that are elsewhere, by their paths.
        broken: what ended it before it was done; what is there by then is to be stored all the
            same, as it was paid for.
    """

    reads: list[list[DocumentRead]]
    columns: list[ColumnResult]
    steps: list[tuple[Stage, str, int, int]] = field(default_factory=list)
    spent: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    written: dict[str, list[tuple[PromptKey, str]]] = field(default_factory=dict)
    broken: BaseException | None = None
