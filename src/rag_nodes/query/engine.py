"""LlamaIndex's query engine: question in, cited answer out, whole or streamed, sync and async."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from llama_index.core.base.base_query_engine import BaseQueryEngine

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.models import settled
from rag_nodes.query import tracing
from rag_nodes.query.answering import Answering, answer_of, messages
from rag_nodes.query.indexes import chunks_of, embedding_of
from rag_nodes.query.keywords import INSTEAD, options_with
from rag_nodes.query.preparing import Clock, Prepared, check_question, given, prepared
from rag_nodes.query.prompts import MODULE, NAMES, TEXT_QA, EnginePrompts, check_names
from rag_nodes.query.responses import (
    astreaming_response,
    innermost,
    response_of,
    streaming_response,
)
from rag_nodes.query.retriever import RagNodesRetriever
from rag_nodes.query.types import Retrieved

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Sequence
    from typing import Self

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.base.llms.types import ChatResponse
    from llama_index.core.base.response.schema import RESPONSE_TYPE
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.indices.vector_store import VectorStoreIndex
    from llama_index.core.llms import LLM
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.prompts import BasePromptTemplate
    from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
    from llama_index.core.response_synthesizers import ResponseMode
    from llama_index.core.schema import NodeWithScore, QueryBundle
    from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters

    from rag_nodes.models import Models
    from rag_nodes.query.indexes import Searchable
    from rag_nodes.query.options import QueryOptions
    from rag_nodes.query.preparing import QuestionVector, QuestionVectors
    from rag_nodes.query.types import Answer, Event
    from rag_nodes.store import Store

    Vector = Sequence[float] | QuestionVector


@partial(checks_keywords, instead=INSTEAD)
class RagNodesQueryEngine(BaseQueryEngine):
    """Answers from one collection, with citations down to the characters.

    `query` and `aquery` give LlamaIndex's `Response`, whose metadata holds the whole answer as
    plain data under "answer"; `answer` and `aanswer` give the `Answer` itself, `stream` and
    `astream` the events of its making. Tracers see retrieval, synthesis and the requests to the
    models. `get_prompts` and `update_prompts` know `response_synthesizer:text_qa_template` and
    `response_synthesizer:system_prompt`.

    `from_index` answers from a `VectorStoreIndex` instead of a `Store`.

    Args:
        store: where the chunks are.
        vector_store: any vector store of LlamaIndex that was filled before, instead of a `store`.
        collection: which of its collections; None for that of the next two.
        parser: parser or splitter that made the chunks, or the name of its preset.
        corpus: name of the document set they are of.
        models: embeds the question and, where there is an LLM, writes the answer; without one
            the answer is made of the documents' own sentences; None for the next two.
        embed_model: any embedding model of LlamaIndex, instead of `models`; None for that of
            LlamaIndex's `Settings` where it was set, else offline, see `Models.of`.
        llm: any LLM of LlamaIndex, likewise.
        parser_name: for display.
        document_ids: search only these documents; None for all.
        prompt: template with `{context}` and `{question}`; None for that of `models`.
        options: how much is retrieved, in which way, and what is read of it.
        vectors: embeddings of questions, where several engines share them; None for its own.
        streaming: `query` and `aquery` give LlamaIndex's streaming responses.
        similarity_top_k: number of chunks, the option `top_k` by LlamaIndex's name.
        filters: LlamaIndex's metadata filters; None for all chunks.
        node_postprocessors: choose among the chunks that were found and order them.
        response_mode: "compact", or "no_text" to retrieve only.
        text_qa_template: prompt with `{context_str}` and `{query_str}`; None for `prompt`.
        callback_manager: LlamaIndex's; None for that of its `Settings`.

    Raises:
        ConfigurationError: `models` stands next to `embed_model` or `llm`; both or none of
            `collection` and `parser` are given, or of `store` and `vector_store`; a keyword is
            unknown, contradicts `options` or cannot be honoured.
    """

    def __init__(  # noqa: PLR0913 - options of one engine, all but two with defaults
        self,
        *,
        store: Searchable | None = None,
        vector_store: BasePydanticVectorStore | None = None,
        collection: str | None = None,
        parser: Any = None,
        corpus: str = "default",
        models: Models | None = None,
        embed_model: BaseEmbedding | str | None = None,
        llm: LLM | str | None = None,
        parser_name: str = "",
        document_ids: str | Sequence[str] | None = None,
        prompt: str | None = None,
        options: QueryOptions | None = None,
        vectors: QuestionVectors | None = None,
        streaming: bool = False,
        similarity_top_k: int | None = None,
        filters: MetadataFilters | None = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] | None = None,
        response_mode: ResponseMode | str | None = None,
        text_qa_template: BasePromptTemplate | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        self.options = options_with(options, similarity_top_k, node_postprocessors, response_mode)
        chosen = settled(models, embed_model, llm)
        self._prompts = EnginePrompts(replace(chosen, prompt=prompt or chosen.prompt))
        if text_qa_template is not None:
            self._prompts.update_prompts({TEXT_QA: text_qa_template})
        self.parser_name = parser_name
        self.streaming = streaming
        self.retriever = RagNodesRetriever(
            store=store,
            vector_store=vector_store,
            collection=collection,
            parser=parser,
            corpus=corpus,
            models=self.models,
            document_ids=document_ids,
            options=self.options,
            vectors=vectors,
            filters=filters,
            callback_manager=callback_manager,
        )

    @classmethod
    def from_index(
        cls, index: VectorStoreIndex, *, filters: MetadataFilters | None = None, **options: Any
    ) -> Self:
        """Return an engine over the nodes of an index, embedded by the index's own model.

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

    @classmethod
    def from_args(cls, retriever: RagNodesRetriever, **options: Any) -> Self:
        """Return an engine that reads what a retriever of ours finds.

        Args:
            retriever: a `RagNodesRetriever`.
            options: the other arguments of this class, such as `llm`.

        Raises:
            ConfigurationError: it is another kind of retriever.
        """
        if not isinstance(retriever, RagNodesRetriever):
            raise ConfigurationError(
                f"{type(retriever).__name__} is not a RagNodesRetriever: give it and "
                "SentencePostprocessor to LlamaIndex's RetrieverQueryEngine"
            )
        given = {
            "store": retriever.store,
            "collection": retriever.collection,
            "document_ids": retriever.document_ids,
            "options": retriever.options,
            "vectors": retriever.vectors,
            "filters": retriever.filters,
            "callback_manager": retriever.callback_manager,
        }
        if "models" not in options:
            given["embed_model"] = retriever.models.embedding
        return cls(**{**given, **options})

    @property
    def models(self) -> Models:
        """Embedding model and LLM, with the prompts of the next answer."""
        return self._prompts.models

    @tracing.dispatcher.span
    def answer(self, question: str, *, question_vector: Vector | None = None) -> Answer:
        """Answer a question: what the last event of `stream` brings, asked for at once.

        Args:
            question: in the user's words.
            question_vector: its embedding, where several engines share one; None to embed here.

        Raises:
            ConfigurationError: the question is blank, or the model's window has no room for it.
            CollectionMissingError: nothing was ingested for this parser and embedding model.
            ModelError: a model failed.
            StoreError: the store failed.
        """
        check_question(question)
        *_, last = self._events(question, question_vector, whole=True)
        return answer_of(last)

    @tracing.dispatcher.span
    async def aanswer(self, question: str, *, question_vector: Vector | None = None) -> Answer:
        """Like `answer`, without blocking the event loop."""
        check_question(question)
        events = self._aevents(question, question_vector, whole=True)
        *_, last = [event async for event in events]
        return answer_of(last)

    def stream(self, question: str, *, question_vector: Vector | None = None) -> Generator[Event]:
        """Yield events while the answer grows; close it to end the request to the model.

        The first event is `Retrieved`, the last `Finished`, or `Failed` where the model fails.

        Raises:
            ConfigurationError: the question is blank.
            RagNodesError: while iterating: as `answer`, for what fails before the LLM is asked.
        """
        check_question(question)
        return self._events(question, question_vector)

    def astream(
        self, question: str, *, question_vector: Vector | None = None
    ) -> AsyncGenerator[Event]:
        """Like `stream`, without blocking the event loop."""
        check_question(question)
        return self._aevents(question, question_vector)

    def _events(
        self, question: str, vector: Vector | None, *, whole: bool = False
    ) -> Generator[Event]:
        """The events of one answer; `whole` has the LLM write all of it before any arrives."""
        clock, models = Clock(), self.models
        with clock("embed"):
            embedded = given(vector) or self.retriever.question_vector(question)
        asked = prepared(self.retriever, question, embedded, models, clock)
        yield Retrieved(asked.packed.hits, asked.packed.sources)
        tracing.begun(question)
        answering = Answering(asked, self.options)
        if not asked.prompt:
            yield from answering.events_of(answering.without_llm())
            return
        try:
            with closing(_asked(asked, whole=whole)) as pieces:
                for piece in pieces:
                    yield from answering.grow(piece)
        except Exception as error:  # noqa: BLE001 - any LlamaIndex LLM, each with its own errors
            yield answering.failed(error)
            return
        yield from answering.end()

    async def _aevents(
        self, question: str, vector: Vector | None, *, whole: bool = False
    ) -> AsyncGenerator[Event]:
        """Like `_events`, without blocking the event loop."""
        clock, models = Clock(), self.models
        with clock("embed"):
            embedded = given(vector) or await self.retriever.aquestion_vector(question)
        asked = await asyncio.to_thread(prepared, self.retriever, question, embedded, models, clock)
        yield Retrieved(asked.packed.hits, asked.packed.sources)
        tracing.begun(question)
        answering = Answering(asked, self.options)
        if not asked.prompt:
            for event in answering.events_of(await asyncio.to_thread(answering.without_llm)):
                yield event
            return
        try:
            async with aclosing(await _aasked(asked, whole=whole)) as pieces:
                async for piece in pieces:
                    for event in answering.grow(piece):
                        yield event
        except Exception as error:  # noqa: BLE001 - any LlamaIndex LLM, each with its own errors
            yield answering.failed(error)
            return
        for event in answering.end():
            yield event

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        asked = innermost(query_bundle)
        question, vector = asked.query_str, asked.embedding
        if self.streaming:
            return streaming_response(self.stream(question, question_vector=vector))
        return response_of(self.answer(question, question_vector=vector))

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        asked = innermost(query_bundle)
        question, vector = asked.query_str, asked.embedding
        if self.streaming:
            return await astreaming_response(self.astream(question, question_vector=vector))
        return response_of(await self.aanswer(question, question_vector=vector))

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """The hits alone, for LlamaIndex components that ask an engine for them."""
        return self.retriever.retrieve(innermost(query_bundle))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {MODULE: self._prompts}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        check_names(prompts_dict, NAMES)


def _asked(asked: Prepared, *, whole: bool) -> Generator[ChatResponse]:
    """Return the pieces that an LLM writes; a whole answer is a single piece."""
    llm: Any = asked.models.llm
    sent = messages(asked.models.system_prompt, asked.prompt)
    return (piece for piece in [llm.chat(sent)]) if whole else llm.stream_chat(sent)


async def _aasked(asked: Prepared, *, whole: bool) -> AsyncGenerator[ChatResponse]:
    llm: Any = asked.models.llm
    sent = messages(asked.models.system_prompt, asked.prompt)
    if whole:
        return _only(await llm.achat(sent))
    begun: AsyncGenerator[ChatResponse] = await llm.astream_chat(sent)
    return begun


async def _only(piece: ChatResponse) -> AsyncGenerator[ChatResponse]:
    yield piece


def ask(question: str, *, store: Store, **arguments: Any) -> Answer:
    """Answer one question; the other arguments are those of `RagNodesQueryEngine`."""
    engine = RagNodesQueryEngine(store=store, **arguments)
    return engine.answer(question)
