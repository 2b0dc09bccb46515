"""Units of an ingest, and what comes of them: it goes to other processes and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.core.keys import without_keys, words_of
from rag_nodes.core.metadata import SOURCE_HASH
from rag_nodes.embedding.failures import missing_extra
from rag_nodes.embedding.report import ColumnLog, DocumentFacts, SplitDocument
from rag_nodes.pipeline.ledger import DocumentRow, StoredDocument
from rag_nodes.readers import blank_page, blank_pages

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from llama_index.core.schema import BaseNode, Document

    from rag_nodes.core.own_metadata import Value
    from rag_nodes.embedding import Stage
    from rag_nodes.pipeline.ledger import FileRow
    from rag_nodes.readers import ListedFile
    from rag_nodes.store.engine import Point

LONGEST = 1000
"""Characters of an error that a ledger keeps."""


class StoredChunks(NamedTuple):
    """A document that is stored, and the nodes that a column is to embed again.

    `versions` are those that the document gets in each column, and `nodes` their nodes, without
    vectors: None in a column that has the document in that version, and if they cannot be had.
    """

    row: DocumentRow
    versions: Sequence[str]
    nodes: Sequence[Sequence[BaseNode] | None]


class DueFile(NamedTuple):
    """A file that is to be opened, or a document that was read already, by its place in the run.

    `row` is for the ledger, None where the file cannot be known there; `duplicates` are ids of
    documents of other files with the same bytes; `own` are metadata keys and values that its
    documents get. `stored` is a document whose chunks are taken from the store, and no file is
    opened.
    """

    position: int
    file: ListedFile | None = None
    document: Document | None = None
    row: FileRow | None = None
    duplicates: tuple[str, ...] = ()
    own: tuple[tuple[str, Value], ...] = ()
    stored: StoredChunks | None = None

    @property
    def size(self) -> int:
        """In bytes or characters."""
        if self.stored:
            return sum(len(node.get_content()) for own in self.stored.nodes for node in own or ())
        if self.document is not None:
            return len(self.document.text)
        return (self.file.size if self.file else 0) or 0

    @property
    def path(self) -> str:
        """For people."""
        if self.stored:
            row = self.stored.row
            return row.path or row.source or row.id
        if self.file is not None:
            return str(self.file.path)
        if self.document is None:
            return ""
        return str(DocumentFacts.of(self.document).source or self.document.id_)


class FileUnit(NamedTuple):
    """Files that are read, split and embedded together, and what is stored of their documents.

    `documents` are those that are stored whole, in whatever version, by column and id; `vectors`
    are by column and by the text that was embedded; `dimensions` the lengths of the vectors of each
    column, None where that is not known. `stopped` says by name why columns gave up, as every
    further document would fail the same way.
    """

    files: tuple[DueFile, ...]
    documents: Mapping[tuple[int, str], StoredDocument]
    vectors: Mapping[int, Mapping[str, Sequence[float]]]
    dimensions: Sequence[int | None]
    stopped: Mapping[str, str]

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
    """Outcome of one document of a file, and the seconds it took; no row if there is no document.

    Of a blank document that was given there are row and error. A page without text that was given
    as a document `is_blank_page`: it is no error, but is named in `blank_pages`, as are those of a
    file. `extra` is that of rag-nodes which would read it, where that is all that is lacking.
    """

    row: DocumentRow | None
    seconds: float = 0.0
    error: str | None = None
    is_blank_page: bool = False
    extra: str | None = None
    blank_pages: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, file: DueFile, document: Document | None, seconds: float, error: Exception | None
    ) -> DocumentRead:
        """Return the outcome of a document of a file, which has its hash."""
        row, page = None, None
        blank: tuple[str, ...] = ()
        if document is not None:
            facts, page, blank = (
                DocumentFacts.of(document),
                blank_page(document),
                tuple(blank_pages(document)),
            )
            corpus, path = (file.row.corpus, file.row.path) if file.row else ("", "")
            version = str(document.metadata[SOURCE_HASH])
            row = DocumentRow(corpus, path, facts.id, version, *facts[1:])
        if page is not None:
            return cls(row, seconds, is_blank_page=True, blank_pages=blank)
        if error is None:
            return cls(row, seconds, blank_pages=blank)
        return cls(row, seconds, words_of(error), extra=missing_extra(error))


@dataclass(slots=True, eq=False)
class DocumentResult(SplitDocument):
    """Outcome of one version of a document in a column.

    `stored` is what the ledger says of it once it is whole, and its version alone until it is
    split; `ids` are those of all its nodes, `points` what the store was not given yet. `missing`
    chunks are not stored. `is_known` is one that is stored
    whole and was not split. `lacks_summaries` says that chunks are stored without what an LLM was
    to write. `previous` chunks were stored of it, None where nothing was ever to be; a result that
    `is_open` is not whole by the ledger, and `touched` says that this ingest wrote it.
    `removed_keys` are own keys that the stored version had and this one has not.
    """

    stored: StoredDocument
    ids: tuple[str, ...] = ()
    points: Sequence[Point] = ()
    missing: int = 0
    is_known: bool = False
    is_cut: bool = False
    lacks_summaries: bool = False
    previous: int | None = None
    is_open: bool = False
    touched: bool = False
    removed_keys: Collection[str] = ()

    @classmethod
    def known(cls, label: str, stored: StoredDocument) -> DocumentResult:
        """Return the result of a document that is stored whole as it is."""
        return cls(label, stored, saved=stored.tokens, is_known=True)

    @property
    def is_stored(self) -> bool:
        """True if every node is, or is about to be, in the store."""
        return self.is_known or self.is_new

    @property
    def is_new(self) -> bool:
        """True if it was split without a missing chunk: it can replace the stored version."""
        return self.is_cut and not self.missing

    @property
    def is_whole(self) -> bool:
        """True if every node is in the store as it should be, and nothing else of the document."""
        return self.is_stored and not self.lacks_summaries and self.error is None


@dataclass(slots=True, eq=False)
class ColumnResult(ColumnLog):
    """Result of a column for a unit: documents by id, of several versions the last.

    `embedded` counts the tokens that the model was given.
    """

    documents: dict[str, DocumentResult] = field(default_factory=dict)
    embedded: int = 0


@dataclass(slots=True, eq=False)
class UnitResult:
    """Outcome of a unit: the documents that were read of each file, and those of each column.

    `steps` are for whoever watches (stage, file or parser, chunks, tokens embedded), where it was
    not reported meanwhile. `broken` is what ended it before it was done: what is there by then was
    paid for and is to be stored.
    """

    columns: list[ColumnResult]
    reads: list[list[DocumentRead]] = field(default_factory=list)
    steps: list[tuple[Stage, str, int, int]] = field(default_factory=list)
    broken: BaseException | None = None


def in_brief(error: str | None) -> str:
    """As much of an error as a ledger keeps, without keys."""
    return without_keys(error or "", most=LONGEST)
