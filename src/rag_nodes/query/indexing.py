"""Documents in memory made searchable: split, embedded and put into a store, and nothing else.

An ingest keeps what it makes and completes it in its next run. Here nothing outlives the store, so
there is no ledger to read, no version to compare and no process to start.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.schema import BaseNode, MetadataMode

from rag_nodes.core.errors import CancelledError, StoreError
from rag_nodes.core.metadata import DECISION, START_CHAR, page_name
from rag_nodes.core.processes import current_interrupt
from rag_nodes.embedding.build import behind_parser, identify, is_ready, lacks_vector, tokens_of
from rag_nodes.embedding.failures import HOPELESS, noted, said
from rag_nodes.embedding.report import FileColumn, ParserOutcome, Progress
from rag_nodes.embedding.requests import EmbeddedTokens, embed
from rag_nodes.models.prices import cost_of
from rag_nodes.parsers.parent_child import is_leaf, parents_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.embedding.report import ColumnStatus, Stage
    from rag_nodes.embedding.requests import Embedded
    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.store import Store


class Indexed(NamedTuple):
    """A parser's nodes of all documents, and how many can be found.

    Attributes:
        nodes: parents before their children, in the order of the documents, with those that could
            not be embedded.
        outcome: statistics of the parser, with the first error.
        documents: by id, how many chunks of each document can be found, and why not all.
    """

    nodes: list[BaseNode]
    outcome: ParserOutcome
    documents: Mapping[str, FileColumn]


def indexed(
    store: Store,
    collection: str,
    parser: SpanNodeParser,
    documents: Sequence[Document],
    models: Models,
    *,
    name: str = "",
    progress: Callable[[Progress], None] = lambda _: None,
    prices: Prices = MappingProxyType({}),
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
        prices: US dollars per million tokens by embedding model, over the built-in table.

    Raises:
        CancelledError: see `interruptible`; nothing is left in the store.
    """
    column = _Column(name, collection, models, progress)
    try:
        for document in documents:
            column.split(parser, document)
        column.reuse_vectors()
        embed([column], models)
        column.put(store)
    except BaseException:
        with suppress(StoreError):
            store.drop(collection)
        raise
    return column.result(prices)


@dataclass(eq=False)
class _Split:
    """A document's nodes; `found` of its chunks are in the store, and `error` says why not all."""

    label: str
    nodes: list[BaseNode] = field(default_factory=list)
    found: int = 0
    error: str | None = None

    @property
    def chunks(self) -> int:
        """Number of nodes that a search can find, so no parents."""
        return sum(map(is_leaf, self.nodes))

    def column(self) -> FileColumn:
        """Return the row of the document in a report."""
        choice = next((node.metadata.get(DECISION) for node in self.nodes), None)
        is_whole = self.found == self.chunks and not self.error
        status: ColumnStatus = "stored" if is_whole else "incomplete"
        return FileColumn(status, self.chunks, self.found, error=self.error, choice=choice)


class _Column:
    """All documents of one parser; asks the model as an `EmbeddedColumn`."""

    def __init__(
        self, name: str, collection: str, models: Models, progress: Callable[[Progress], None]
    ) -> None:
        self.waiting: list[tuple[BaseNode, _Split]] = []
        self.embedded = EmbeddedTokens(models.embedding)
        self._models, self._progress = models, progress
        seconds = dict.fromkeys(("parse", "embed", "store"), 0.0)
        self._outcome = ParserOutcome(name, collection, seconds=seconds)
        self._documents: dict[str, _Split] = {}
        self._errors: list[str] = []
        self._stopped: str | None = None

    def split(self, parser: SpanNodeParser, document: Document) -> None:
        """Have the nodes of a document wait for their vectors."""
        split = _Split(page_name(document.metadata) or document.id_)
        self._documents[document.id_] = split
        current_interrupt().check(f"{self._outcome.parser}: {split.label}")
        if self._stopped:
            split.error = self._stopped
            return
        with self._noting(split), self.timed("parse"), self.embedded.counting():
            nodes: Sequence[BaseNode] = parser([document])
            for step in behind_parser(parser, ()):
                nodes = step(nodes)
            split.nodes = parents_first(nodes)
            identify(split.nodes, document)
        self.waiting += [(node, split) for node in split.nodes]
        self._count([node for node in split.nodes if is_leaf(node)], len(split.nodes))

    def _count(self, chunks: Sequence[BaseNode], nodes: int) -> None:
        tokens, outcome = list(map(tokens_of, chunks)), self._outcome
        outcome.chunks += len(chunks)
        outcome.parents += nodes - len(chunks)
        outcome.tokens += sum(tokens)
        outcome.max_tokens = max([outcome.max_tokens, *tokens])
        outcome.unplaced += sum(START_CHAR not in chunk.metadata for chunk in chunks)
        self._tell("parse", outcome.chunks)

    def reuse_vectors(self) -> None:
        """Give chunks the vectors that the cache of the model has of their texts."""
        cache = self._models.embedding.embeddings_cache
        if cache is None:
            return
        for node, _ in self.waiting:
            known = cache.get(node.get_content(MetadataMode.EMBED), collection="embeddings")
            if lacks_vector(node) and known:
                (node.embedding,) = known.values()
                self._outcome.saved_tokens += tokens_of(node)

    def may_ask(self) -> bool:
        """Return False once the model has failed in a way that every request would.

        Raises:
            CancelledError: see `interruptible`.
        """
        current_interrupt().check(f"{self._outcome.parser}: embedding")
        return self._stopped is None

    def receive(self, embedded: Embedded[_Split]) -> None:
        """Note the outcome of a request; no later failure costs its vectors."""
        for node, split, refusal in embedded.refused:
            split.error = split.error or said(refusal)
            self._note(f"{split.label}, chunk {node.node_id}", refusal)
        ready = sum(is_ready(node) for node, _ in self.waiting)
        self._tell("embed", ready, self._outcome.chunks)
        error = embedded.error
        if isinstance(error, CancelledError):
            raise error
        if error:
            self._note(embedded.part[0][1].label, error)
            for node, split in embedded.part:
                if lacks_vector(node):
                    split.error = split.error or said(error)

    def put(self, store: Store) -> None:
        """Store what has a vector, and parents of which a child has one."""
        for split in self._documents.values():
            current_interrupt().check(f"{self._outcome.parser}: {split.label}")
            ready = sum(map(is_ready, split.nodes))
            if ready < split.chunks:
                split.error = split.error or self._stopped
            if not ready:
                continue
            due = [node for node in split.nodes if is_ready(node) or not is_leaf(node)]
            with self._noting(split), self.timed("store"):
                store.add(self._outcome.collection, due)
                split.found = ready
                self._outcome.written += ready
            self._tell("store", self._outcome.written, self._outcome.chunks)

    def result(self, prices: Prices) -> Indexed:
        """Return all nodes, priced statistics, and the rows of the documents."""
        outcome, model = self._outcome, self._models.embedding_name
        outcome.embedding_tokens = self.embedded.tokens
        outcome.embedding_cost = cost_of(outcome.embedding_tokens, 0, model, prices)
        outcome.saved_cost = cost_of(outcome.saved_tokens, 0, model, prices)
        if self._errors:
            more = len(self._errors) - 1
            outcome.error = self._errors[0] + (f" (and {more} more, see the log)" if more else "")
        nodes = [node for split in self._documents.values() for node in split.nodes]
        return Indexed(nodes, outcome, {key: one.column() for key, one in self._documents.items()})

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._outcome.seconds[stage] += time.perf_counter() - started

    @contextmanager
    def _noting(self, split: _Split) -> Iterator[None]:
        """Turn the failure of a document into a row: it costs no other document."""
        try:
            yield
        except CancelledError:
            raise
        # Parsers and models are other people's code; one with a loop of its own may raise its
        # cancellation, which is no `Exception`.
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            split.error = split.error or said(error)
            self._note(split.label, error)

    def _note(self, what: str, error: BaseException) -> None:
        self._errors.append(noted(self._outcome.parser, what, error))
        if isinstance(error, HOPELESS):
            self._stopped = self._stopped or said(error)

    def _tell(self, stage: Stage, done: int, total: int | None = None) -> None:
        tokens = self.embedded.tokens
        self._progress(Progress(stage, self._outcome.parser, done, total, tokens))
