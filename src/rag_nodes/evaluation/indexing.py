"""A variant in a store, and the rankings that it gives: the product's own ingestion and search."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from llama_index.core.schema import MetadataMode, TextNode

from rag_nodes.core.errors import RagNodesError
from rag_nodes.core.several import several
from rag_nodes.evaluation.engines import FoundStore, StoredCollection
from rag_nodes.evaluation.scoring import ChunkMap, ContextRead
from rag_nodes.evaluation.sizes import chunk_statistics, token_counts
from rag_nodes.evaluation.tables import ChunkStatistics, Cost
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.parsers import SpanNodeParser, leaf_nodes
from rag_nodes.query.indexing import indexed
from rag_nodes.query.locations import document_of, span_of
from rag_nodes.query.options import CANDIDATES, READ_IN
from rag_nodes.query.reading import passage_of
from rag_nodes.query.retriever import RagNodesRetriever
from rag_nodes.store import Store, parser_collection
from rag_nodes.store.payload import filterable, points_of
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseNode

    from rag_nodes.evaluation.columns import Role, Variant
    from rag_nodes.evaluation.dataset import Question
    from rag_nodes.evaluation.measuring import Recipe
    from rag_nodes.query import QueryOptions
    from rag_nodes.query.options import Granularity
    from rag_nodes.query.sentences import Sentences
    from rag_nodes.store import Hit
    from rag_nodes.store.engine import Engine
    from rag_nodes.text.filling import Ranked

_CORPUS = "evaluation"
_FLOAT = 4
"""Bytes of a number in a vector."""
_SPARE = 1.5
"""Chunks retrieved over what would fill the budget if all had the mean size."""
_DEEPER = 4
"""Factor by which more nodes are retrieved if the first did not fill the budget."""
_LEAST = 20
"""Chunks retrieved at least; small parts at the ends of sections are below the mean."""


class RowStore(Store):
    """A store in memory whose nodes stay as they are: thousands of searches read none again."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._nodes: dict[str, dict[str, BaseNode]] = defaultdict(dict)

    def add(self, collection: str, nodes: Sequence[BaseNode]) -> None:
        """See `Store.add`."""
        plain = (node.model_copy(update={"embedding": None}) for node in nodes)
        self._nodes[collection].update((node.node_id, node) for node in plain)
        self.put(collection, points_of(nodes, filterable))

    def fetch(self, collection: str, node_ids: str | Sequence[str]) -> dict[str, TextNode]:
        """See `Store.fetch`."""
        nodes = self._nodes[collection]
        pairs = ((node_id, nodes.get(node_id)) for node_id in several(node_ids))
        return {node_id: node for node_id, node in pairs if isinstance(node, TextNode)}

    def drop(self, collection: str) -> None:
        """See `Store.drop`."""
        self._nodes.pop(collection, None)
        super().drop(collection)


class _NoEmbedding(LexicalEmbedding):
    """A number in place of each embedding, where keyword search alone is measured."""

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]


class QuestionReads(NamedTuple):
    """Chunks in their order, and by budget what is read of them: whole, and by sentences.

    `sentences` is empty where whole chunks alone are read; they are selected from the first
    `candidates` chunks.
    """

    ranked: Sequence[Ranked]
    whole: dict[int, ContextRead]
    sentences: dict[int, ContextRead]
    candidates: int

    @property
    def main(self) -> dict[int, ContextRead]:
        """Return the reading that the decision uses."""
        return self.sentences or self.whole


class Index:
    """One variant in a store; what was put there for it is gone with `close`.

    `lists_all` says whether all of its chunks are known, not only those that questions found.

    Args:
        variant: what is indexed: a parser, of which a collection is made, or a collection.
        recipe: of the run, prepared.

    Raises:
        RagNodesError: the documents could not be split, embedded or stored.
    """

    def __init__(self, variant: Variant, recipe: Recipe) -> None:
        self.options = replace(variant.options or recipe.plan.options, step_factor=1.0)
        self._recipe, self._seconds = recipe, 0.0
        self._search_seconds: list[float] = []
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
        found_store = self._store if isinstance(self._store, FoundStore) else None
        self.lists_all = found_store is None or found_store.lists_all
        self.options = replace(self.options, granularity=self._granularity(variant.role))
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
            outdated=found_store.outdated if found_store else 0,
        )

    def _standing(self, column: StoredCollection) -> list[BaseNode]:
        """The chunks of a column that is there already, as far as they can be known."""
        if not isinstance(column.store, FoundStore):
            return [*column.nodes_of(document.id_ for document in self._recipe.dataset.documents)]
        if not column.store.embeds:  # it makes of a question what it needs
            self.options = replace(self.options, mode="sparse")
        for question in self._recipe.dataset.questions:
            self.search(question, _LEAST)
        return list(column.store.nodes())

    def _indexed(self, name: str, parser: SpanNodeParser) -> list[BaseNode]:
        """The nodes of all documents, which are in the store from now on."""
        recipe = self._recipe
        documents, models = recipe.dataset.documents, recipe.known
        if self.mode == "sparse" and models.embeds_offline:
            models = replace(models, embedding=_NoEmbedding())
        result = indexed(self._store, self.collection, parser, documents, models, name=name)
        outcome = result.outcome
        if outcome.error:
            if outcome.written:
                self.close()
            raise RagNodesError(outcome.error)
        if not result.nodes:
            raise RagNodesError("it made no chunk of the documents; check its options")
        self._seconds = sum(outcome.seconds.values())
        costs = outcome.embedding_cost, outcome.saved_cost
        self._price = None if None in costs else sum(cost or 0.0 for cost in costs)
        return result.nodes

    @property
    def mode(self) -> str:
        """Search mode; "own" if the column finds chunks in its own way."""
        asks_itself = isinstance(self._store, FoundStore) and not self._store.embeds
        return "own" if asks_itself else self._retriever(self.options).mode

    @property
    def seconds(self) -> list[float]:
        """Seconds that each search took; for an engine that answers, seconds until its answer."""
        of_others = self._store.seconds if isinstance(self._store, FoundStore) else []
        return of_others or self._search_seconds

    def close(self) -> None:
        """Drop what was made for this variant: the next one needs the memory."""
        if self._drops:
            self._store.drop(self.collection)

    def read(self, question: Question, budgets: Sequence[int], chunks: int) -> QuestionReads:
        """Return the best chunks for a question, at least so many, and what is read at each budget.

        Sentences and whole chunks are read of the same search.
        """
        hits, sentences = self._sentences(question, budgets)
        most = max(budgets)
        whole = self._filling(question, most, chunks, hits)
        by_budget = {
            at: whole if at == most else ContextRead.of(whole.ranked, at) for at in budgets
        }
        return QuestionReads(whole.ranked, by_budget, sentences, len(hits))

    def _sentences(
        self, question: Question, budgets: Sequence[int]
    ) -> tuple[list[Hit], dict[int, ContextRead]]:
        """Return the ranked chunks, and by budget the sentences that `ask` reads of them.

        Nothing where whole chunks alone are read.
        """
        hits: list[Hit] = []
        sentences: Sentences | None = None
        reads: dict[int, ContextRead] = {}
        if self.options.granularity != "sentences":
            return hits, reads
        for at in sorted(budgets):
            options = replace(self.options, top_k=None, budget=at)
            retriever = self._retriever(options, question.within)
            if sentences is None or retriever.needs_more(hits):
                hits = self._ranked(retriever, question)
                sentences = retriever.sentences(question.text, hits)
            reads[at] = ContextRead.of(sentences.passages(at), at)
        return hits, reads

    def _filling(
        self, question: Question, budget: int, chunks: int, ranked_hits: Sequence[Hit]
    ) -> ContextRead:
        """Return at least so many whole chunks, and what fills a budget.

        They are taken from those that were found already, if these are enough.
        """
        if self.options.rerank:  # nobody reads what it did not rank
            whole = self._whole(CANDIDATES, question)
            ranked_hits = ranked_hits or self._ranked(whole, question)
            return ContextRead.of([*map(passage_of, whole.readable(ranked_hits))], budget)
        mean = max(1.0, self.statistics.mean)
        depth = max(_LEAST, chunks, ceil(_SPARE * budget / mean))
        if len(ranked_hits) >= depth or 0 < len(ranked_hits) < READ_IN:  # fewer are all there are
            hits = self._whole(depth, question).readable(ranked_hits[:depth])
            read = ContextRead.of([*map(passage_of, hits)], budget)
        else:
            read = ContextRead.of(self.search(question, depth), budget)
        # Small chunks may come first, and those that overlap share what they hold.
        unlisted = isinstance(self._store, FoundStore) and self._store.deepens
        while (unlisted or depth < self.statistics.chunks) and not read.is_full:
            depth *= _DEEPER
            deeper = self.search(question, depth)
            if len(deeper) <= len(read.ranked):
                break
            read = ContextRead.of(deeper, budget)
        return read

    def search(self, question: Question, depth: int) -> list[Ranked]:
        """Return the best `depth` chunks as what is read of them, before any reranker."""
        whole = self._whole(depth, question, rerank=None)
        return [passage_of(hit) for hit in whole.readable(self._ranked(whole, question))]

    def _ranked(self, retriever: RagNodesRetriever, question: Question) -> list[Hit]:
        started = time.perf_counter()
        vector = retriever.question_vector(question.text).vector
        hits = retriever.ranked(question.text, vector)
        self._search_seconds.append(time.perf_counter() - started)
        return hits

    def _whole(self, depth: int, question: Question, **changes: Any) -> RagNodesRetriever:
        """Return what reads that many whole chunks."""
        options = replace(self.options, top_k=depth, budget=None, granularity="chunks", **changes)
        return self._retriever(options, question.within)

    def _granularity(self, role: Role) -> Granularity:
        """Return how the rows of a variant are read: as `ask` reads them, at their own options.

        Other sizes and keywords of passages are compared in whole chunks, and what others built is
        read as they give it.
        """
        if role != "own" or not self.lists_all:
            return "chunks"
        if self.options.granularity or self._recipe.dataset.probed:
            return self.options.granularity or "chunks"
        usual = replace(self.options, top_k=None, budget=self._recipe.plan.budget)
        return "sentences" if self._retriever(usual).reads_sentences else "chunks"

    def _retriever(
        self, options: QueryOptions, within: Sequence[str] | None = None
    ) -> RagNodesRetriever:
        return RagNodesRetriever(
            store=self._store,
            collection=self.collection,
            models=self._recipe.known,
            document_ids=within,
            options=options,
            vectors=self._recipe.vectors,
        )
