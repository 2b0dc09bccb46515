"""A variant in a store, and the rankings that it gives: the product's own ingestion and search."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from llama_index.core.schema import MetadataMode

from rag_nodes.columns import FoundStore, StoredCollection
from rag_nodes.errors import RagNodesError
from rag_nodes.evaluation.chunk_facts import ChunkStatistics, chunk_statistics
from rag_nodes.evaluation.scoring import ChunkMap
from rag_nodes.evaluation.sizes import token_counts
from rag_nodes.parsers import SpanNodeParser, leaf_nodes
from rag_nodes.pipeline import ingest_documents
from rag_nodes.processes import current_interrupt
from rag_nodes.query.locations import document_of, span_of
from rag_nodes.query.reading import passage_of
from rag_nodes.query.retriever import RagNodesRetriever
from rag_nodes.query.sentences import Sentences
from rag_nodes.store import parser_collection
from rag_nodes.text.filling import fill
from rag_nodes.text.tokens import count_tokens
from rag_nodes.transforms import vector_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseNode, Document, TransformComponent

    from rag_nodes.evaluation.columns import Variant
    from rag_nodes.evaluation.dataset import Question
    from rag_nodes.models import Models
    from rag_nodes.pipeline import ParserOutcome
    from rag_nodes.pipeline.build import Parse
    from rag_nodes.query import QueryOptions, QuestionVectors
    from rag_nodes.store import Hit, Store
    from rag_nodes.text.filling import Ranked
    from rag_nodes.transforms import WrittenTexts

_CORPUS = "evaluation"
_FLOAT = 4
"""Bytes of a number in a vector."""
_SPARE = 1.5
"""Chunks retrieved over what would fill the budget if all had the mean size."""
_DEEPER = 4
"""How many times as many are retrieved where those did not fill it."""
_LEAST = 20
"""Chunks retrieved at least; small parts at the ends of sections are below the mean."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What it takes to have a column in a store.

    How large an index is that only finds chunks by questions, is not known: None.

    Attributes:
        chunks: that can be found; parents, which are read in their place, do not count.
        tokens: the chunks' own texts, overlap counted twice.
        embedded: tokens the embedding model is given: headings above the text included.
        bytes: of vectors and texts; an index takes more.
        seconds: cutting, embedding and storing here and now; not to be compared between runs; 0
            of a collection.
        price: US dollars for the embedding; None where it is not known, as of a collection.
        recovery: share of the chunks whose place in their document is known; 1 for our parsers.
        outdated: documents of which a collection holds another version; see `FoundStore`.
    """

    chunks: int | None
    tokens: int | None
    embedded: int | None
    bytes: int | None
    seconds: float
    price: float | None
    recovery: float
    outdated: int = 0


class Index:
    """One variant in a store; what was put there for it is gone with `close`.

    `lists_all` says whether all of its chunks are known, not only those that questions found.

    Args:
        variant: what is indexed.
        documents: all of the dataset.
        store: where; a collection of its own, unless the variant has one.
        models: embeds chunks and questions.
        options: how is searched, unless the variant says it.
        vectors: the questions' embeddings, shared by all variants.
        dimension: numbers of a vector; 0 where none are made.
        parse: cuts a document; None to have the parser do it.
        written: keeps what the LLM of `models` writes about chunks; None to keep it nowhere.
        questions: by which is seen what a column has that cannot be asked for all of its chunks.

    Raises:
        RagNodesError: the documents could not be cut, embedded or stored.
    """

    def __init__(  # noqa: PLR0913 -- what the rows share, by name
        self,
        variant: Variant,
        documents: Sequence[Document],
        *,
        store: Store,
        models: Models,
        options: QueryOptions,
        vectors: QuestionVectors,
        dimension: int = 0,
        parse: Parse | None = None,
        written: WrittenTexts | None = None,
        questions: Sequence[Question] = (),
    ) -> None:
        self.variant, self._models = variant, models
        self.options, self._vectors = variant.options or options, vectors
        self._own = not isinstance(variant.parser, StoredCollection)
        if isinstance(variant.parser, StoredCollection):
            self._store, self.collection = variant.parser.store, variant.parser.name
            nodes, counts = self._standing(variant.parser, documents, questions), None
            outcome, seconds = None, 0.0
        else:
            assert isinstance(variant.parser, SpanNodeParser)  # noqa: S101 -- for the type checker
            self._store = store
            self.collection = parser_collection(_CORPUS, variant.parser, models.embedding_name)
            steps = vector_steps([self.options.vector], models.llm, written)
            nodes, outcome, seconds = _ingested(variant, documents, store, models, parse, steps)
            counts = variant.parser.tokenizer
        leaves = leaf_nodes(nodes)
        self.chunks = ChunkMap.of((document_of(node), span_of(node)) for node in leaves)
        self.statistics: ChunkStatistics = chunk_statistics(token_counts(nodes, counts))
        placed = sum(len(spans) for spans in self.chunks.spans.values())
        embedded = sum(count_tokens(node.get_content(MetadataMode.EMBED)) for node in leaves)
        size = sum(dimension * _FLOAT + len(_encoded(node)) for node in leaves)
        self.lists_all = not isinstance(self._store, FoundStore) or self._store.lists_all
        self.cost = Cost(
            chunks=len(leaves) if self.lists_all else None,
            tokens=self.statistics.tokens if self.lists_all else None,
            embedded=embedded if self.lists_all else None,
            bytes=size if self.lists_all else None,
            seconds=seconds,
            price=outcome.embedding_cost if outcome else None,
            recovery=placed / len(leaves) if leaves else 1.0,
            outdated=self._store.outdated if isinstance(self._store, FoundStore) else 0,
        )

    def _standing(
        self,
        column: StoredCollection,
        documents: Sequence[Document],
        questions: Sequence[Question],
    ) -> list[BaseNode]:
        """The chunks of a column that is there already, as far as they can be known."""
        if not isinstance(column.store, FoundStore):
            return [*column.nodes_of(one.id_ for one in documents)]
        if not column.store.embeds:  # it makes of a question what it needs
            self.options = replace(self.options, mode="sparse")
        for question in questions:
            self.search(question, _LEAST)
        return list(column.store.nodes())

    @property
    def seconds(self) -> list[float]:
        """How long each search of a column took that is asked once; none of others."""
        return self._store.seconds if isinstance(self._store, FoundStore) else []

    def close(self) -> None:
        """Drop what was made for this variant: the next one needs the memory."""
        if self._own:
            self._store.drop(self.collection)

    def ranking(self, question: Question, *, budget: int, chunks: int) -> list[Ranked]:
        """What is retrieved for a question, deep enough to fill a budget.

        Args:
            question: to ask.
            budget: tokens to fill.
            chunks: how many there are to be at least.
        """
        mean = max(1.0, self.statistics.mean)
        depth = max(_LEAST, chunks, ceil(_SPARE * budget / mean))
        ranked = self.search(question, depth)
        # Small chunks may come first, and those that overlap share what they hold.
        unlisted = isinstance(self._store, FoundStore) and self._store.deepens
        while (unlisted or depth < self.statistics.chunks) and not _fills(ranked, budget):
            depth *= _DEEPER
            found = self.search(question, depth)
            if len(found) <= len(ranked):
                break
            ranked = found
        return ranked

    def search(self, question: Question, depth: int) -> list[Ranked]:
        """The best `depth` chunks as what is read of them."""
        whole = replace(self.options, top_k=depth, budget=None, granularity="chunks")
        return [passage_of(hit) for hit in self._candidates(question, whole)]

    def passages(self, question: Question, budgets: Sequence[int]) -> dict[int, list[Ranked]]:
        """By budget the passages that are read, best first; none where whole chunks are read."""
        if self.options.granularity != "sentences":
            return {}
        options = replace(self.options, top_k=None, budget=max(budgets))
        candidates = self._candidates(question, options)
        by_meaning = self._models.embeds_meaning
        sentences = Sentences(question.text, candidates, by_meaning=by_meaning)
        return {budget: sentences.passages(budget) for budget in budgets}

    def _candidates(self, question: Question, options: QueryOptions) -> list[Hit]:
        retriever = RagNodesRetriever(
            store=self._store,
            collection=self.collection,
            models=self._models,
            document_ids=question.within,
            options=replace(options, step_factor=1.0),
            vectors=self._vectors,
        )
        vector = retriever.question_vector(question.text).vector
        return retriever.candidates(question.text, vector)


def _ingested(
    variant: Variant,
    documents: Sequence[Document],
    store: Store,
    models: Models,
    parse: Parse | None,
    steps: Sequence[TransformComponent],
) -> tuple[list[BaseNode], ParserOutcome, float]:
    """The nodes of all documents, cut once and stored, and what that took, in seconds too."""
    parser = variant.parser
    assert isinstance(parser, SpanNodeParser)  # noqa: S101 -- for the type checker
    started = time.perf_counter()
    cut = {
        document.id_: parse(parser, document) if parse else parser([document])
        for document in documents
    }
    seconds = time.perf_counter() - started
    nodes = [node for made in cut.values() for node in made]
    if not nodes:
        raise RagNodesError("it cut no chunk out of the documents; check its options")

    def made_before(_: SpanNodeParser, document: Document) -> list[BaseNode]:
        return cut.pop(document.id_)

    outcome = ingest_documents(
        documents,
        {variant.name: parser},
        store,
        models=models,
        corpus=_CORPUS,
        progress=lambda _: current_interrupt().check("the evaluation"),
        parse=made_before,
        transformations=steps,
    ).columns[0]
    if outcome.error:
        raise RagNodesError(outcome.error)
    return nodes, outcome, seconds + sum(outcome.seconds.values())


def _fills(ranked: Sequence[Ranked], budget: int) -> bool:
    """Whether something of a ranking is left when a budget is full."""
    filled = fill(ranked, budget, exact=True)
    return filled.cut or len(filled.parts) < len(ranked)


def _encoded(node: BaseNode) -> bytes:
    return node.get_content().encode("utf-8", "replace")
