"""What is noted of one column: of each document what is missing, of all chunks their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.ledger import DepositRow
from rag_nodes.metadata import TOKEN_COUNT
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.pipeline.report import ColumnStatus, FileColumn
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llama_index.core.schema import BaseNode

    from rag_nodes.store import StoredNode


class Deposit:
    """The chunks of one document within one column, as they are stored.

    The chunks of its former version are deleted when, and only when, all new ones are stored: a
    model that refuses must not cost what was there. Used by one thread at a time.

    Attributes:
        label: the document, for messages.
        document_id: of the document.
        source_hash: of its version.
        counts: of the nodes it was cut into.
        stale: ids of former chunks that are still there.
        choice: what its parser chose for it and why, if that is one that decides.
        error: why a chunk is not stored, the first reason of several.
        lacks_texts: chunks are stored without what an LLM was to write about them.
    """

    __slots__ = (
        *("label", "document_id", "source_hash", "counts", "stale", "choice", "error"),
        "lacks_texts",
        *("_chunks", "_former", "_due", "_touched"),
    )

    def __init__(self, label: str, document_id: str = "", source_hash: str = "") -> None:
        self.label = label
        self.document_id = document_id
        self.source_hash = source_hash
        self.counts = Counts()
        self.stale: list[str] = []
        self.choice: str | None = None
        self.error: str | None = None
        self.lacks_texts = False
        self._chunks: int | None = None
        self._former = 0
        self._due = [0, 0]  # parents, chunks
        self._touched = True

    def keep(self, ids: Iterable[str], chunks: int) -> None:
        """Say what is stored of the document before it is cut, which stays if that fails.

        Args:
            ids: of all nodes.
            chunks: how many of them are chunks and no parents.
        """
        self.stale, self._former = list(ids), chunks

    def expect(
        self,
        chunks: int,
        due: Iterable[bool] = (),
        *,
        stale: Iterable[str] = (),
        former: int = 0,
        begun: bool = False,
    ) -> None:
        """Say what the document was cut into.

        Args:
            chunks: how many in all, parents not counted.
            due: of each node that is to be stored, whether it is a chunk and no parent.
            stale: ids of the nodes that the new ones replace.
            former: how many of these are chunks and no parents.
            begun: some of it was written by this ingest before.
        """
        coming = list(due)
        self._chunks, self._due = chunks, [coming.count(False), coming.count(True)]
        self.stale, self._former = list(stale), former
        self._touched = begun or not chunks or bool(coming) or bool(self.stale)

    def count_stored(self, *, is_chunk: bool) -> None:
        """One more node is stored."""
        self._due[is_chunk] -= 1

    def fail(self, error: str) -> None:
        """Say why a chunk is not stored; the first reason is kept."""
        self.error = self.error or error

    @property
    def chunks(self) -> int:
        """Chunks that it was cut into, parents not counted; 0 where it did not come to that."""
        return self._chunks or 0

    @property
    def is_touched(self) -> bool:
        """Whether this ingest changes something of it in the store."""
        return self._touched

    @property
    def is_stored(self) -> bool:
        """Whether every node is in the store."""
        return self._chunks is not None and not any(self._due)

    @property
    def is_whole(self) -> bool:
        """Whether every node is in the store as it should be, and nothing else of the document."""
        return self.is_stored and not self.stale and not self.lacks_texts

    def row(self, collection: str) -> DepositRow:
        """What a ledger says of it, once it is whole."""
        counts = self.counts
        return DepositRow(
            collection,
            self.document_id,
            self.source_hash,
            chunks=counts.chunks,
            parents=counts.parents,
            tokens=counts.tokens,
            largest=counts.largest,
            unplaced=counts.unplaced,
        )

    def outcome(self) -> FileColumn:
        """What became of it; ask when the run is over."""
        chunks = self.chunks
        if self.is_whole:
            status: ColumnStatus = "stored" if self._touched else "unchanged"
            return FileColumn(status, chunks, chunks, choice=self.choice)
        former = self._former if self.stale else 0
        stored = chunks - self._due[True]
        return FileColumn("incomplete", chunks, stored, former, self.error, self.choice)


def is_kept(node: BaseNode, stored: Mapping[str, StoredNode], source_hash: str) -> bool:
    """Whether a node is stored as it would be now.

    Args:
        node: as its parser made it.
        stored: what is there of its document, by id.
        source_hash: of the document as it is.
    """
    known = stored.get(node.node_id)
    same_level = known is not None and known.is_parent != is_leaf(node)
    return known is not None and same_level and known.source_hash == source_hash


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

    def join(self, other: Counts | DepositRow) -> None:
        """Add what was counted of other nodes."""
        self.chunks += other.chunks
        self.tokens += other.tokens
        self.largest = max(self.largest, other.largest)
        self.parents += other.parents
        self.unplaced += other.unplaced


def tokens_of(node: BaseNode) -> int:
    """Tokens of a node's text, as its parser counted them where it did."""
    known = node.metadata.get(TOKEN_COUNT)
    return int(known) if known is not None else count_tokens(node.get_content())
