"""A variant in a store, and the rankings that it gives: the product's own ingestion and search."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from llama_index.core.schema import MetadataMode

from rag_nodes.core.errors import RagNodesError
from rag_nodes.evaluation.engines import FoundStore, StoredCollection
from rag_nodes.evaluation.scoring import ChunkMap, ContextRead
from rag_nodes.evaluation.sizes import chunk_statistics, token_counts
from rag_nodes.evaluation.tables import ChunkStatistics, Cost
from rag_nodes.parsers import SpanNodeParser, leaf_nodes
from rag_nodes.query.indexing import indexed
from rag_nodes.query.locations import document_of, span_of
from rag_nodes.query.reading import passage_of
from rag_nodes.query.retriever import RagNodesRetriever
from rag_nodes.query.sentences import Sentences
from rag_nodes.query.similarity import counted_by
from rag_nodes.store import Store, parser_collection
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseNode

    from rag_nodes.evaluation.columns import Variant
    from rag_nodes.evaluation.dataset import Question
    from rag_nodes.evaluation.measuring import Recipe
    from rag_nodes.query import QueryOptions
    from rag_nodes.store import Hit
    from rag_nodes.text.filling import Ranked

_CORPUS = "evaluation"
_FLOAT = 4
"""Bytes of a number in a vector."""
_SPARE = 1.5
"""Chunks retrieved over what would fill the budget if all had the mean size."""
_DEEPER = 4
"""How many times as many are retrieved where those did not fill it."""
_LEAST = 20
"""Chunks retrieved at least; small parts at the ends of sections are below the mean."""


class Index:
    """One variant in a store; what was put there for it is gone with `close`.

    `lists_all` says whether all of its chunks are known, not only those that questions found.

    Args:
        variant: what is indexed: a parser, of which a collection is made, or a collection.
        recipe: of the run, prepared.

    Raises:
        RagNodesError: the documents could not be cut, embedded or stored.
    """

    def __init__(self, variant: Variant, recipe: Recipe) -> None:
        self.options = variant.options or recipe.options
        self._recipe, self._seconds = recipe, 0.0
        self._price: float | None = None
        parser, self._drops = variant.parser, not isinstance(variant.parser, StoredCollection)
        self._store: Store = recipe.room
        counts = None
        if isinstance(parser, StoredCollection):
            self._store, self.collection = parser.store, parser.name
            nodes = self._standing(parser)
        else:
            assert isinstance(parser, SpanNodeParser)  # noqa: S101 -- for the type checker
            self.collection = parser_collection(_CORPUS, parser, recipe.known.embedding_name)
            nodes, counts = self._indexed(variant.name, parser), parser.tokenizer
        leaves = leaf_nodes(nodes)
        self.chunks = ChunkMap.of((document_of(node), span_of(node)) for node in leaves)
        self.statistics: ChunkStatistics = chunk_statistics(token_counts(nodes, counts))
        found = self._store if isinstance(self._store, FoundStore) else None
        self.lists_all = found is None or found.lists_all
        placed = sum(map(len, self.chunks.spans.values()))
        texts = [node.get_content().encode("utf-8", "replace") for node in leaves]
        embedded = sum(count_tokens(node.get_content(MetadataMode.EMBED)) for node in leaves)
        size = sum(map(len, texts)) + len(leaves) * _FLOAT * recipe.dimension()
        self.cost = Cost(
            chunks=len(leaves) if self.lists_all else None,
            tokens=self.statistics.tokens if self.lists_all else None,
            embedded=embedded if self.lists_all else None,
            bytes=size if self.lists_all else None,
            seconds=self._seconds,
            price=self._price,
            recovery=placed / len(leaves) if leaves else 1.0,
            outdated=found.outdated if found else 0,
        )

    def _standing(self, column: StoredCollection) -> list[BaseNode]:
        """The chunks of a column that is there already, as far as they can be known."""
        if not isinstance(column.store, FoundStore):
            return [*column.nodes_of(one.id_ for one in self._recipe.dataset.documents)]
        if not column.store.embeds:  # it makes of a question what it needs
            self.options = replace(self.options, mode="sparse")
        for question in self._recipe.dataset.questions:
            self.search(question, _LEAST)
        return list(column.store.nodes())

    def _indexed(self, name: str, parser: SpanNodeParser) -> list[BaseNode]:
        """The nodes of all documents, which are in the store from now on."""
        recipe = self._recipe
        documents, models = recipe.dataset.documents, recipe.known
        made = indexed(self._store, self.collection, parser, documents, models, name=name)
        outcome = made.outcome
        if outcome.error:
            if outcome.written:
                self.close()
            raise RagNodesError(outcome.error)
        if not made.nodes:
            raise RagNodesError("it cut no chunk out of the documents; check its options")
        self._seconds = sum(outcome.seconds.values())
        costs = outcome.embedding_cost, outcome.saved_cost
        self._price = None if None in costs else sum(cost or 0.0 for cost in costs)
        return made.nodes

    @property
    def mode(self) -> str:
        """How chunks are searched; "own" where something finds in its own way."""
        asks_itself = isinstance(self._store, FoundStore) and not self._store.embeds
        return "own" if asks_itself else self._retriever(self.options).mode

    @property
    def seconds(self) -> list[float]:
        """How long each search of a column took that is asked once; none of others."""
        return self._store.seconds if isinstance(self._store, FoundStore) else []

    def close(self) -> None:
        """Drop what was made for this variant: the next one needs the memory."""
        if self._drops:
            self._store.drop(self.collection)

    def read(
        self, question: Question, budgets: Sequence[int], chunks: int
    ) -> tuple[Sequence[Ranked], dict[int, ContextRead]]:
        """What is retrieved for a question, at least so many chunks, and what is read by budget."""
        passages = self._passages(question, budgets)
        reads = {at: ContextRead.of(one, at) for at, one in passages.items()}
        if passages.get(most := max(budgets)):
            return passages[most], reads
        whole = self._filling(question, most, chunks)
        for at in budgets:
            reads.setdefault(at, whole if at == most else ContextRead.of(whole.ranked, at))
        return whole.ranked, reads

    def _filling(self, question: Question, budget: int, chunks: int) -> ContextRead:
        """At least so many chunks, and what fills a budget."""
        mean = max(1.0, self.statistics.mean)
        depth = max(_LEAST, chunks, ceil(_SPARE * budget / mean))
        read = ContextRead.of(self.search(question, depth), budget)
        # Small chunks may come first, and those that overlap share what they hold.
        unlisted = isinstance(self._store, FoundStore) and self._store.deepens
        while (unlisted or depth < self.statistics.chunks) and not read.is_full:
            depth *= _DEEPER
            found = self.search(question, depth)
            if len(found) <= len(read.ranked):
                break
            read = ContextRead.of(found, budget)
        return read

    def search(self, question: Question, depth: int) -> list[Ranked]:
        """The best `depth` chunks as what is read of them."""
        whole = replace(self.options, top_k=depth, budget=None, granularity="chunks")
        return [passage_of(hit) for hit in self._candidates(question, whole)]

    def _passages(self, question: Question, budgets: Sequence[int]) -> dict[int, list[Ranked]]:
        """By budget the passages that are read, best first; none where whole chunks are read."""
        if self.options.granularity != "sentences":
            return {}
        options = replace(self.options, top_k=None, budget=max(budgets))
        candidates = self._candidates(question, options)
        sentences = Sentences(question.text, candidates, counted_by(self._recipe.known))
        return {budget: sentences.passages(budget) for budget in budgets}

    def _candidates(self, question: Question, options: QueryOptions) -> list[Hit]:
        retriever = self._retriever(options, question.within)
        vector = retriever.question_vector(question.text).vector
        return retriever.candidates(question.text, vector)

    def _retriever(
        self, options: QueryOptions, within: Sequence[str] | None = None
    ) -> RagNodesRetriever:
        return RagNodesRetriever(
            store=self._store,
            collection=self.collection,
            models=self._recipe.known,
            document_ids=within,
            options=replace(options, step_factor=1.0),
            vectors=self._recipe.vectors,
        )
