"""Documents in memory made searchable: split, embedded and put into a store, and nothing else.

An ingest keeps what it makes and completes it in its next run. Here nothing outlives the store, so
there is no ledger to read, no version to compare and no process to start.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.schema import BaseNode, MetadataMode

from rag_nodes.core.errors import StoreError
from rag_nodes.core.metadata import page_name
from rag_nodes.core.processes import current_interrupt
from rag_nodes.embedding.build import is_ready, lacks_vector, tokens_of
from rag_nodes.embedding.column import SplittingColumn
from rag_nodes.embedding.report import (
    STAGES,
    ColumnLog,
    Counts,
    FileColumn,
    ParserOutcome,
    SplitDocument,
    StepCounts,
)
from rag_nodes.embedding.requests import Embedded, embed
from rag_nodes.models.prices import cost_of
from rag_nodes.parsers.parent_child import is_leaf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.embedding.report import ColumnStatus, Progress, Stage
    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.store import Store
    from rag_nodes.store.engine import Point


class Indexed(NamedTuple):
    """A parser's nodes of all documents, and how many can be found.

    Attributes:
        nodes: parents before their children, in the order of the documents, with those that could
            not be embedded.
        outcome: statistics of the parser, with the first error.
        documents: by id, how many chunks of each document can be found, and why not all.
        counts: by id, the sizes of the chunks of each document.
    """

    nodes: list[BaseNode]
    outcome: ParserOutcome
    documents: Mapping[str, FileColumn]
    counts: Mapping[str, Counts]


class StoredBefore(NamedTuple):
    """Stored chunks of some documents, as an equal parser made them.

    Attributes:
        documents: by id, the row and the sizes of the chunks of each document.
        points: of all these documents.
    """

    documents: Mapping[str, tuple[FileColumn, Counts]] = MappingProxyType({})
    points: Sequence[Point] = ()


NOTHING_BEFORE = StoredBefore()
"""No document was split before."""


def indexed(  # noqa: PLR0913 - options of one call, all but five with defaults
    store: Store,
    collection: str,
    parser: SpanNodeParser,
    documents: Sequence[Document],
    models: Models,
    *,
    name: str = "",
    progress: Callable[[Progress], None] = lambda _: None,
    prices: Prices = MappingProxyType({}),
    before: StoredBefore = NOTHING_BEFORE,
) -> Indexed:
    """Split documents by a parser and have the chunks found in a collection.

    A document that cannot be split costs no other document, and a chunk that the model refuses
    costs no other chunk: errors are in the result.

    Args:
        store: gets the collection, usually in memory.
        collection: name of the collection, which does not exist yet.
        parser: splits the documents.
        documents: with different ids.
        models: `models.embedding` embeds the chunks; what its cache knows, it is not asked for.
        name: of the parser in progress, errors and outcome.
        progress: hears of every step, and may raise to end the work.
        prices: US dollars per million tokens by embedding model, see `QueryOptions.prices`.
        before: documents whose chunks need no splitting and no embedding.

    Raises:
        CancelledError: see `interruptible`; nothing is left in the store.
    """
    column = _Column(name, collection, parser, models, progress, prices)
    try:
        for document in documents:
            column.add(document, before.documents.get(document.id_))
        column.embed()
        store.put(collection, before.points)
        column.put(store)
    except BaseException:
        with suppress(StoreError):
            store.drop(collection)
        raise
    return column.indexed()


@dataclass(slots=True, eq=False)
class _Split(SplitDocument):
    """A document's nodes; `chunks` can be found once they are stored, and `stored` of them are."""

    nodes: list[BaseNode] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    stored: int = 0

    @property
    def chunks(self) -> int:
        """Chunks that the parser made."""
        return self.counts.chunks

    def column(self) -> FileColumn:
        """Return the row of the document in a report."""
        is_whole = self.stored == self.chunks and not self.error
        status: ColumnStatus = "stored" if is_whole else "incomplete"
        return FileColumn(status, self.chunks, self.stored, error=self.error, choice=self.choice)


class _Column(SplittingColumn[_Split]):
    """All documents of one parser."""

    def __init__(
        self,
        name: str,
        collection: str,
        parser: SpanNodeParser,
        models: Models,
        progress: Callable[[Progress], None],
        prices: Prices,
    ) -> None:
        log = ColumnLog()
        self._outcome = ParserOutcome(name, collection, seconds=log.seconds)
        self._documents: dict[str, _Split] = {}
        self._cost = partial(cost_of, written=0, model=models.embedding_name, prices=prices)
        steps = StepCounts(name, self._cost)

        def tell(stage: Stage, _: str, chunks: int, tokens: int) -> None:
            progress(steps.step(stage, chunks, tokens))

        super().__init__(name, parser, models, log, tell, vector_of=_cached(models))
        self._models = models

    def add(self, document: Document, before: tuple[FileColumn, Counts] | None = None) -> None:
        """Split a document, unless its chunks are there already."""
        entry = _Split(page_name(document.metadata) or document.id_)
        self._documents[document.id_] = entry
        if before is None:
            self.split(document, entry)
            return
        row, counts = before
        entry.choice, entry.stored, entry.saved = row.choice, counts.chunks, counts.tokens
        self.taken(entry, [], counts)
        self._outcome.unchanged += counts.chunks
        for stage in STAGES:
            self._tell(stage, self.name, counts.chunks, 0)

    def taken(self, entry: _Split, nodes: list[BaseNode], counts: Counts) -> None:
        """Keep the nodes, and add their counts to the statistics."""
        entry.nodes, entry.counts = nodes, counts
        self._outcome.add(counts)

    def embed(self) -> None:
        """Give all nodes their vectors; a server is asked for equal texts once.

        If it refused the first of them, it is asked for the others, too: each needs its error.
        """
        if self._models.embeds_offline:
            embed([self], self._models)
            return
        every, first = self.waiting, dict[str, BaseNode]()
        for node, _ in every:
            first.setdefault(node.get_content(MetadataMode.EMBED), node)
        asked = set(map(id, first.values()))
        self.waiting = [pair for pair in every if id(pair[0]) in asked]
        has_answered = embed([self], self._models)
        copied = []
        for node, entry in every:
            vector = first[node.get_content(MetadataMode.EMBED)].embedding
            if lacks_vector(node) and vector is not None:
                node.embedding = list(vector)
                entry.saved += tokens_of(node)
                copied.append((node, entry))
        if copied:
            self.receive(Embedded(copied))
        self.waiting = [pair for pair in every if id(pair[0]) not in asked]
        embed([self], self._models, has_answered=has_answered)

    def put(self, store: Store) -> None:
        """Store what has a vector, and parents of which a child has one."""
        for entry in self._documents.values():
            current_interrupt().check(f"{self.name}: {entry.label}")
            ready = sum(map(is_ready, entry.nodes))
            if ready < entry.chunks and self.log.stopped:
                entry.fail(self.log.stopped)
            if not ready:
                continue
            due = [node for node in entry.nodes if is_ready(node) or not is_leaf(node)]
            with self.failures_noted(entry), self.timed("store"):
                store.add(self._outcome.collection, due)
                entry.stored = ready
                self._outcome.written += ready
            self._tell("store", self.name, entry.stored, 0)

    def indexed(self) -> Indexed:
        """Return all nodes, priced statistics, and the rows of the documents."""
        outcome, errors = self._outcome, self.log.errors
        outcome.embedding_tokens = self.embedded.tokens
        outcome.saved_tokens = sum(entry.saved for entry in self._documents.values())
        outcome.error = errors[0] if errors else None
        outcome.conclude(len(errors), self._cost)
        rows = self._documents
        return Indexed(
            nodes=[node for entry in rows.values() for node in entry.nodes],
            outcome=outcome,
            documents={key: entry.column() for key, entry in rows.items()},
            counts={key: entry.counts for key, entry in rows.items()},
        )


def _cached(models: Models) -> Callable[[str], Sequence[float] | None] | None:
    """Return a look-up of texts in the cache of a model, None if it has no cache."""
    cache = models.embedding.embeddings_cache
    if cache is None:
        return None

    def vector_of(text: str) -> Sequence[float] | None:
        return next(iter((cache.get(text, collection="embeddings") or {}).values()), None)

    return vector_of
