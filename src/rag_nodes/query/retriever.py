"""LlamaIndex's retriever over one collection."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from llama_index.core import Settings
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several
from rag_nodes.models import settled
from rag_nodes.parsers import as_parser
from rag_nodes.query.expansion import expanded, with_neighbours
from rag_nodes.query.indexes import IndexChunks, chunks_of, embedding_of, index_over
from rag_nodes.query.keywords import INSTEAD, check_filters, options_with
from rag_nodes.query.locations import tokens_of
from rag_nodes.query.missing_keys import check_keys
from rag_nodes.query.options import CANDIDATES, QueryOptions
from rag_nodes.query.preparing import QuestionVector, QuestionVectors
from rag_nodes.query.reranking import in_order, reranked
from rag_nodes.query.responses import fitting, innermost, replaced
from rag_nodes.query.sentences import Sentences, with_places
from rag_nodes.query.similarity import counted_by
from rag_nodes.query.tracing import dispatcher, retrieving
from rag_nodes.store import parser_collection
from rag_nodes.store.conditions import all_of
from rag_nodes.store.filters import Filter
from rag_nodes.store.queries import Query, mode_that_runs
from rag_nodes.store.terms import where_of

logger = logging.getLogger(__name__)
_ENOUGH = 2
"""Times the budget that the chunks hold from which sentences are chosen, if there are as many."""
_DEEPER = 4
"""Factor by which more chunks are searched for if the first ones do not fill the budget."""

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.indices.vector_store import VectorStoreIndex
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters

    from rag_nodes.models import Models
    from rag_nodes.query.indexes import Searchable
    from rag_nodes.store import Hit, SearchMode


@partial(checks_keywords, instead=INSTEAD)
class RagNodesRetriever(BaseRetriever):
    """Retrieval for any LlamaIndex query engine, sync and async, embedded and served.

    By default, its nodes are the sentences that answer, exact slices of their documents that fill
    the budget, over every store and index, also one without a keyword index. With `top_k` or
    `mode="dense"` they are whole chunks; `granularity` chooses either. All nodes together fit the
    budget, and a chunk that does not is truncated; with `top_k` and no budget of your own there are
    as many chunks as `top_k` says, however long they are. Where a parser made windows
    or parents, these are read (option `expand`), each text once; `hits` says what was found as
    well. Scores are those of `Hit.score`, from 0 to 1 in the order of the ranking; cosine, BM25 and
    fused score are in the metadata of the nodes, under the keys of
    `rag_nodes.core.metadata.SCORES`, hidden from embedding models and LLMs.

    `from_index` retrieves from a `VectorStoreIndex` instead of a `Store`. A `QdrantVectorStore`
    with `enable_hybrid` is searched by both of its vectors.

    Args:
        store: where the chunks are.
        vector_store: any vector store of LlamaIndex that was filled before, instead of a `store`.
        collection: which of its collections; None for that of the next two.
        parser: parser or splitter that made the chunks, or the name of its preset.
        corpus: name of the document set they are of.
        models: embeds the question; None for `embed_model`.
        embed_model: any embedding model of LlamaIndex, instead of `models`; None for that of
            LlamaIndex's `Settings` where it was set, else offline, see `Models.of`.
        document_ids: search only these documents; None for all.
        options: how much is retrieved, and in which way.
        vectors: embeddings of questions, where several retrievers share them; None for its own.
        similarity_top_k: number of chunks, the option `top_k` by LlamaIndex's name.
        filters: LlamaIndex's metadata filters; None for all chunks.
        node_postprocessors: choose among the chunks that were found and order them.
        callback_manager: LlamaIndex's; None for that of its `Settings`.

    Raises:
        ConfigurationError: both or none of `collection` and `parser` are given, or of `store` and
            `vector_store`; a keyword is unknown or contradicts `options`.
    """

    def __init__(  # noqa: PLR0913 -- options of one retriever, all but one with defaults
        self,
        *,
        store: Searchable | None = None,
        vector_store: BasePydanticVectorStore | None = None,
        collection: str | None = None,
        parser: Any = None,
        corpus: str = "default",
        models: Models | None = None,
        embed_model: BaseEmbedding | str | None = None,
        document_ids: str | Sequence[str] | None = None,
        options: QueryOptions | None = None,
        vectors: QuestionVectors | None = None,
        similarity_top_k: int | None = None,
        filters: MetadataFilters | None = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        check_filters(filters)
        super().__init__(callback_manager=callback_manager or Settings.callback_manager)
        self.models = settled(models, embed_model)
        if vector_store is not None and store is None and collection is None and parser is None:
            index = index_over(vector_store, self.models.embedding)
            store, collection, vector_store = *chunks_of(index, filters), None
        if store is None or vector_store is not None:
            raise ConfigurationError(
                "pass a store with a collection or parser, or a vector_store alone; for an index "
                "of LlamaIndex use from_index"
            )
        self.store, self.filters = store, filters
        if (collection is None) == (parser is None):
            raise ConfigurationError(
                "name either the collection, or the parser whose chunks to search"
            )
        if parser is not None:
            collection = parser_collection(corpus, as_parser(parser), self.models.embedding_name)
        self.collection = str(collection)
        self.document_ids = several(document_ids)
        self.options = options_with(options, similarity_top_k, node_postprocessors)
        if self.options.mode == "hybrid" and isinstance(store, IndexChunks):
            store.warn_of_dense()
        self._has_warned = False
        self.vectors = vectors or QuestionVectors(ttl_hours=self.options.cache_ttl_hours)

    @classmethod
    def from_index(
        cls, index: VectorStoreIndex, *, filters: MetadataFilters | None = None, **options: Any
    ) -> Self:
        """Return a retriever over the nodes of an index, embedded by the index's own model.

        Args:
            index: any `VectorStoreIndex`, whatever its vector store and splitter.
            filters: LlamaIndex's metadata filters; None for all nodes.
            options: the other arguments of this class.

        Raises:
            ConfigurationError: it is another kind of index.
        """
        store, collection = chunks_of(index, filters)
        if not options.keys() & {"models", "embed_model"}:
            options["embed_model"] = embedding_of(index)
        return cls(store=store, collection=collection, filters=filters, **options)

    @property
    def mode(self) -> SearchMode:
        """Search mode of the collection, see `QueryOptions.mode`."""
        return self._modes()[1]

    def _modes(self) -> tuple[SearchMode, SearchMode]:
        """Return the mode that the store is asked for, and the mode that it can search by."""
        has_words = self.store.has_words(self.collection)
        by_meaning = self.models.embeds_meaning
        asked = self.options.search_mode(by_meaning=by_meaning, has_words=has_words)
        return asked, mode_that_runs(asked, has_words=has_words)

    def unsearched(self) -> int:
        """Return the number of chunks that a keyword search cannot find, see `Answer.unsearched`.

        The first time that there are some, it logs a warning.

        Raises:
            StoreError: the store failed.
        """
        if self.mode != "sparse":
            return 0
        where = all_of(self._scope.conditions(), where_of(self.filters))
        chunks = self.store.count_unindexed(self.collection, where)
        if chunks and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "%s: chunks that another program stored without a keyword vector are not searched "
                "(%d); choose mode 'hybrid' to search them too",
                self.collection,
                chunks,
            )
        return chunks

    @property
    def _scope(self) -> Filter:
        """The filter of the options, narrowed to the documents that are searched."""
        return self.options.scope.within(self.document_ids)

    def question_vector(self, question: str) -> QuestionVector:
        """The question's embedding, remembered or fresh; none where the mode needs none.

        Raises:
            ModelError: the embedding model failed.
        """
        if self.mode == "sparse":
            return QuestionVector(None)
        return self.vectors.get(self.models, question)

    async def aquestion_vector(self, question: str) -> QuestionVector:
        """Like `question_vector`, without blocking the event loop."""
        if self.mode == "sparse":
            return QuestionVector(None)
        return await self.vectors.aget(self.models, question)

    @dispatcher.span
    def find(
        self, question: str, vector: Sequence[float] | None, *, widened: bool = False
    ) -> list[Hit]:
        """Like `hits`, and tracers of LlamaIndex see what was found, as in `retrieve`."""
        with retrieving(question) as report:
            hits = self.hits(question, vector, widened=widened)
            report(hits)
        return hits

    def hits(
        self, question: str, vector: Sequence[float] | None, *, widened: bool = False
    ) -> list[Hit]:
        """The best passages or chunks for a question that is embedded already.

        Args:
            question: in the user's words.
            vector: its embedding; None where the mode needs none.
            widened: retrieve more, as for a question that asks for steps.

        Raises:
            CollectionMissingError: nothing was ingested.
            DimensionError: the vector is not from the model the chunks were embedded with.
        """
        ranked = self.ranked(question, vector, widened=widened)
        budget = self.options.tokens(widened=widened)
        if self.reads_sentences and budget is not None:
            return self.sentences(question, ranked, widened=widened).hits(budget)
        return self.readable(ranked, widened=widened)

    def ranked(
        self, question: str, vector: Sequence[float] | None, *, widened: bool = False
    ) -> list[Hit]:
        """Return the chunks of a search in the order of the reranker, before any is read.

        Args:
            question: in the user's words.
            vector: its embedding; None where the mode needs none.
            widened: retrieve more, as for a question that asks for steps.
        """
        options = self.options
        wanted = options.chunks(widened=widened)
        limit = max(wanted, CANDIDATES) if options.rerank else wanted
        hits = self._search(Query(vector, question, limit, self._modes()[0]), options)
        if (least := options.similarity_cutoff) is not None:
            hits = [hit for hit in hits if hit.similarity is None or hit.similarity >= least]
        return in_order(reranked(hits, question, options.rerank)) if options.rerank else hits

    def readable(self, ranked: Sequence[Hit], *, widened: bool = False) -> list[Hit]:
        """Return as many ranked chunks as are read, with all that may be read because of them.

        Where sentences are read, they are chosen from these chunks and the ones beside them, which
        come last. Whole chunks come with the places of other documents that repeat them.
        """
        options = self.options
        limit = options.chunks(widened=widened) if options.rerank else len(ranked)
        read = expanded(ranked, self._fetch, options.expand, limit=limit)
        return self._with_context(read) if options.reads_sentences else with_places(read)

    def sentences(
        self, question: str, ranked: Sequence[Hit], *, widened: bool = False
    ) -> Sentences:
        """Return the sentences of the ranked chunks, for any number of budgets."""
        hits = self.readable(ranked, widened=widened)
        return Sentences(question, hits, counted_by(self.models), self._scope)

    def needs_more(self, ranked: Sequence[Hit]) -> bool:
        """Return whether the ranked chunks are too few to choose the sentences of a budget from."""
        options = self.options
        is_all = len(ranked) < options.chunks(widened=False) and options.similarity_cutoff is None
        return not (options.rerank or is_all) and _is_little(ranked, options)

    @property
    def reads_sentences(self) -> bool:
        """True if sentences of the collection are read instead of whole chunks."""
        return self.options.reads_sentences

    def _search(self, query: Query, options: QueryOptions) -> list[Hit]:
        """So many chunks, or more where they are so small that there is little to choose from."""
        scope = self._scope
        query = replace(query, filter=scope, fusion=options.fusion, also=where_of(self.filters))
        while True:
            hits = self.store.search(self.collection, query)
            if not hits:
                check_keys(self.store, self.collection, scope)
            if len(hits) < query.limit or options.rerank or not _is_little(hits, options):
                return hits
            query = replace(query, limit=query.limit * _DEEPER)

    def _with_context(self, hits: Sequence[Hit]) -> list[Hit]:
        """The hits and what stands beside them, as far as the options let it be read."""
        if self.options.expand != "auto":
            return list(hits)  # nothing is wanted, or it is there already
        if self.options.similarity_cutoff is not None or self.filters is not None:
            return list(hits)  # what stands beside them was not compared
        scope = replace(self._scope, pages=None)  # they may end a sentence of these pages
        both = with_neighbours(hits, self._fetch)
        beside = (hit for hit in both if hit.origin == "neighbour" and scope.passes(hit.node))
        return [*hits, *beside]

    def _fetch(self, node_ids: Sequence[str]) -> dict[str, TextNode]:
        return self.store.fetch(self.collection, node_ids)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        asked = innermost(query_bundle)
        question = asked.query_str
        vector = asked.embedding or self.question_vector(question).vector
        self.unsearched()
        return self._nodes(self.hits(question, vector))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        asked = innermost(query_bundle)
        question = asked.query_str
        vector = asked.embedding or (await self.aquestion_vector(question)).vector
        await asyncio.to_thread(self.unsearched)
        return self._nodes(await asyncio.to_thread(self.hits, question, vector))

    def _nodes(self, hits: Sequence[Hit]) -> list[NodeWithScore]:
        """Return what is read of the hits, whole chunks as far as they fit the budget."""
        nodes, budget = replaced(hits), self.options.node_budget
        return nodes if self.reads_sentences or budget is None else fitting(nodes, budget)


def _is_little(hits: Sequence[Hit], options: QueryOptions) -> bool:
    """Return True if there is less than twice the budget to choose sentences from."""
    if not options.reads_sentences or options.top_k or options.budget is None:
        return False
    return sum(tokens_of(hit.node) for hit in hits) < _ENOUGH * options.budget
