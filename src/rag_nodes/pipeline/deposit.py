"""What one column makes of one document: its points, and what is counted of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rag_nodes.ledger import StoredDocument
from rag_nodes.metadata import TOKEN_COUNT
from rag_nodes.pipeline.report import FileColumn
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llama_index.core.schema import BaseNode

    from rag_nodes.pipeline.report import ColumnStatus


class Counts:
    """Running totals of chunks and tokens; parents hold the same text again and count apart."""

    __slots__ = ("chunks", "largest", "parents", "tokens", "unplaced")

    def __init__(self) -> None:
        self.chunks = self.tokens = self.largest = self.parents = self.unplaced = 0

    def add(self, nodes: Iterable[tuple[int, bool, bool]]) -> None:
        """Add nodes: tokens, whether it is a chunk and no parent, whether it knows its place."""
        for count, is_chunk, is_placed in nodes:
            if not is_chunk:
                self.parents += 1
                continue
            self.chunks += 1
            self.unplaced += not is_placed
            self.tokens += count
            self.largest = max(self.largest, count)

    def join(self, other: Counts | StoredDocument) -> None:
        """Add what was counted of other nodes."""
        self.chunks += other.chunks
        self.tokens += other.tokens
        self.largest = max(self.largest, other.largest)
        self.parents += other.parents
        self.unplaced += other.unplaced


@dataclass(slots=True, eq=False)
class Deposit:
    """What a column makes of one version of a document, and what became of it.

    Attributes:
        document_id: of the document.
        label: the document, for messages.
        version: of the document in this column.
        counts: of the nodes it was cut into.
        ids: of these, parents included.
        put: ids of those of them that are to be stored.
        at: where their points begin and end among those of the column.
        kept: how many chunks are stored already as they would be now.
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

    document_id: str
    label: str
    version: str
    counts: Counts = field(default_factory=Counts)
    ids: tuple[str, ...] = ()
    put: frozenset[str] = frozenset()
    at: slice = field(default_factory=lambda: slice(0, 0))
    kept: int = 0
    missing: int = 0
    spared: int = 0
    is_known: bool = False
    is_cut: bool = False
    lacks_texts: bool = False
    choice: str | None = None
    error: str | None = None
    former: int = 0
    touched: bool = False

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

    def row(self, collection: str) -> StoredDocument:
        """What a ledger says of it, once it is whole."""
        counts = self.counts
        return StoredDocument(
            collection,
            self.document_id,
            self.version,
            chunks=counts.chunks,
            parents=counts.parents,
            tokens=counts.tokens,
            largest=counts.largest,
            unplaced=counts.unplaced,
        )

    def outcome(self) -> FileColumn:
        """What became of it."""
        chunks = self.counts.chunks if self.is_cut or self.is_known else 0
        if self.is_whole:
            status: ColumnStatus = "stored" if self.touched else "unchanged"
            return FileColumn(status, chunks, chunks, choice=self.choice)
        stored = max(0, chunks - self.missing)
        return FileColumn("incomplete", chunks, stored, self.former, self.error, self.choice)


def tokens_of(node: BaseNode) -> int:
    """Tokens of a node's text, as its parser counted them where it did."""
    known = node.metadata.get(TOKEN_COUNT)
    return int(known) if known is not None else count_tokens(node.get_content())
