"""LlamaIndex's query engine: question in, cited answer out, whole or streamed, sync and async."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llama_index.core import Settings
from llama_index.core.base.base_query_engine import BaseQueryEngine

from rag_nodes.models import settled
from rag_nodes.models.prices import cost_of
from rag_nodes.query import tracing
from rag_nodes.query.answering import Written, generated, messages, translated, without_llm
from rag_nodes.query.engine_prompts import MODULE, NAMES, EnginePrompts, check_names
from rag_nodes.query.options import DEFAULT_TOP_K, QueryOptions
from rag_nodes.query.preparing import Preparation, Prepared, check_question
from rag_nodes.query.responses import astreaming_response, response_of, streaming_response
from rag_nodes.query.retriever import RagNodesRetriever
from rag_nodes.query.streaming import GrowingAnswer, retrieved, whole
from rag_nodes.query.types import Answer
from rag_nodes.query.usage import usage_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Sequence
    from contextlib import AbstractContextManager

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse
    from llama_index.core.base.response.schema import RESPONSE_TYPE
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.llms import LLM
    from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
    from llama_index.core.schema import NodeWithScore, QueryBundle

    from rag_nodes.models import Models
    from rag_nodes.query.events import Event
    from rag_nodes.query.question_vectors import QuestionVector, QuestionVectors
    from rag_nodes.store import SearchMode, Store

    Vector = Sequence[float] | QuestionVector

__all__ = ["DEFAULT_TOP_K", "RagNodesQueryEngine", "ask"]


class RagNodesQueryEngine(BaseQueryEngine):
    """Answers from one collection, with citations down to the characters.

    `query` and `aquery` give LlamaIndex's `Response`, whose metadata holds the whole answer as
    plain data under "answer"; `answer` and `aanswer` give the `Answer` itself, `stream` and
    `astream` the events of its making. Tracers see retrieval, synthesis and the requests to the
    models. `get_prompts` and `update_prompts` know `response_synthesizer:text_qa_template` and
    `response_synthesizer:system_prompt`.

    Args:
        store: where the chunks are.
        collection: which of its collections.
        models: embeds the question and, where there is an LLM, writes the answer; without one
            the answer is made of the documents' own sentences; None for the next two.
        embed_model: any embedding model of LlamaIndex, instead of `models`; None for that of
            LlamaIndex's `Settings` where it was set, else offline, see `Models.of`.
        llm: any LLM of LlamaIndex, likewise.
        parser_name: for display.
        budget: context tokens, the same for every parser; None for no limit.
        top_k: chunks per question; None for as many as fit the budget.
        mode: "hybrid", "dense" or "sparse".
        document_ids: search only these documents; None for all.
        prompt: template with `{context}` and `{question}`; None for that of `models`.
        similarity_cutoff: leave out chunks of a lower cosine similarity; None to keep all.
        options: more to choose; wins over `budget`, `top_k`, `mode` and `similarity_cutoff`.
        vectors: embeddings of questions, where several engines share them; None for its own.
        streaming: `query` and `aquery` give LlamaIndex's streaming responses.
        callback_manager: hears of questions, searches, answers and the requests to the models;
            None for LlamaIndex's `Settings.callback_manager`.

    Raises:
        ConfigurationError: budget or top_k is below 1, or `models` stands next to `embed_model`
            or `llm`.
    """

    def __init__(  # noqa: PLR0913 - options of one engine, all but two with defaults
        self,
        *,
        store: Store,
        collection: str,
        models: Models | None = None,
        embed_model: BaseEmbedding | str | None = None,
        llm: LLM | str | None = None,
        parser_name: str = "",
        budget: int | None = 1500,
        top_k: int | None = None,
        mode: SearchMode = "hybrid",
        document_ids: Sequence[str] | None = None,
        prompt: str | None = None,
        similarity_cutoff: float | None = None,
        options: QueryOptions | None = None,
        vectors: QuestionVectors | None = None,
        streaming: bool = False,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager=callback_manager or Settings.callback_manager)
        self.options = options or QueryOptions(
            budget=budget, top_k=top_k, mode=mode, similarity_cutoff=similarity_cutoff
        )
        chosen = settled(models, embed_model, llm)
        self._prompts = EnginePrompts(replace(chosen, prompt=prompt or chosen.prompt))
        self.parser_name = parser_name
        self.streaming = streaming
        self.retriever = RagNodesRetriever(
            store=store,
            collection=collection,
            models=self.models,
            document_ids=document_ids,
            options=self.options,
            vectors=vectors,
            callback_manager=self.callback_manager,
        )
        self._preparation = Preparation(self.retriever)

    @property
    def models(self) -> Models:
        """What embeds and answers, with the prompts of the next answer."""
        return self._prompts.models

    @property
    def budget(self) -> int | None:
        """Context tokens; None for no limit."""
        return self.options.budget

    @tracing.dispatcher.span
    def answer(self, question: str, *, question_vector: Vector | None = None) -> Answer:
        """Answer a question.

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
        with self.callback_manager.as_trace("query"):
            prepared = self._preparation.run(question, question_vector, self.models)
            with tracing.writing(self.callback_manager, question) as ended:
                with prepared.clock("answer"):
                    written = self._written(prepared)
                answer = self._assembled(prepared, written)
                ended(answer)
        return answer

    @tracing.dispatcher.span
    async def aanswer(self, question: str, *, question_vector: Vector | None = None) -> Answer:
        """Like `answer`, without blocking the event loop."""
        check_question(question)
        with self.callback_manager.as_trace("query"):
            prepared = await self._preparation.arun(question, question_vector, self.models)
            with tracing.writing(self.callback_manager, question) as ended:
                with prepared.clock("answer"):
                    written = await self._awritten(prepared)
                answer = self._assembled(prepared, written)
                ended(answer)
        return answer

    def stream(self, question: str, *, question_vector: Vector | None = None) -> Generator[Event]:
        """What happens while the answer grows; close it to end the request to the model.

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

    def _events(self, question: str, vector: Vector | None) -> Generator[Event]:
        prepared = self._preparation.run(question, vector, self.models)
        yield retrieved(prepared)
        tracing.begun(question)
        if not prepared.prompt:
            with self._starting(prepared), prepared.clock("answer"):
                written = self._without_llm(prepared)
            yield from whole(prepared, written, self._finished)
            return
        growing = self._growing(prepared)
        try:
            with self._starting(prepared):
                begun = _llm(prepared).stream_chat(_messages(prepared))
            with closing(begun) as pieces:
                for piece in pieces:
                    yield from growing.grow(piece)
        except Exception as error:  # noqa: BLE001 - any LlamaIndex LLM, each with its own errors
            yield growing.failed(error)
            return
        yield from growing.end()

    async def _aevents(self, question: str, vector: Vector | None) -> AsyncGenerator[Event]:
        prepared = await self._preparation.arun(question, vector, self.models)
        yield retrieved(prepared)
        tracing.begun(question)
        if not prepared.prompt:
            with self._starting(prepared), prepared.clock("answer"):
                written = await asyncio.to_thread(self._without_llm, prepared)
            for event in whole(prepared, written, self._finished):
                yield event
            return
        growing = self._growing(prepared)
        try:
            with self._starting(prepared):
                begun = await _llm(prepared).astream_chat(_messages(prepared))
            async with aclosing(begun) as pieces:
                async for piece in pieces:
                    for event in growing.grow(piece):
                        yield event
        except Exception as error:  # noqa: BLE001 - any LlamaIndex LLM, each with its own errors
            yield growing.failed(error)
            return
        for event in growing.end():
            yield event

    def _starting(self, prepared: Prepared) -> AbstractContextManager[None]:
        hits = prepared.packed.hits
        return tracing.starting(self.callback_manager, prepared.question, hits)

    def _growing(self, prepared: Prepared) -> GrowingAnswer:
        return GrowingAnswer(prepared, self.options.prices, self._finished)

    def _finished(self, prepared: Prepared, written: Written) -> Answer:
        """The answer at the end of a stream."""
        answer = self._assembled(prepared, written)
        tracing.ended(answer)
        return answer

    def _without_llm(self, prepared: Prepared) -> Written:
        only = self.options.retrieval_only
        return without_llm(prepared.question, prepared.packed, retrieval_only=only)

    def _written(self, prepared: Prepared) -> Written:
        if not prepared.prompt:
            return self._without_llm(prepared)
        try:
            response = _llm(prepared).chat(_messages(prepared))
        except Exception as error:
            raise translated(error, prepared.models) from error
        return self._generated(prepared, response)

    async def _awritten(self, prepared: Prepared) -> Written:
        if not prepared.prompt:
            return await asyncio.to_thread(self._without_llm, prepared)
        try:
            response = await _llm(prepared).achat(_messages(prepared))
        except Exception as error:
            raise translated(error, prepared.models) from error
        return self._generated(prepared, response)

    def _generated(self, prepared: Prepared, response: ChatResponse) -> Written:
        text, models = response.message.content or "", prepared.models
        name, prices = models.answer_name, self.options.prices
        read = models.system_prompt + prepared.prompt
        usage = usage_of(response, read, text, model=name, prices=prices)
        return generated(text, prepared.packed, models, usage)

    def _assembled(self, prepared: Prepared, written: Written) -> Answer:
        packed, models = prepared.packed, prepared.models
        return Answer(
            question=prepared.question,
            text=written.text,
            kind=written.kind,
            citations=written.citations,
            unknown_sources=written.unknown_sources,
            hits=packed.hits,
            sources=packed.sources,
            left_out=packed.left_out,
            left_out_tokens=packed.left_out_tokens,
            cut=packed.cut is not None,
            context_tokens=packed.tokens,
            budget=prepared.budget,
            seconds=dict(prepared.clock.seconds),
            embedding_model=models.embedding_name,
            answer_model=models.answer_name,
            widening=prepared.widening,
            cached=prepared.embedded.cached,
            embedding_tokens=prepared.embedded.tokens,
            embedding_cost=cost_of(
                prepared.embedded.tokens, 0, models.embedding_name, self.options.prices
            ),
            marks=written.marks,
            **written.usage._asdict(),
        )

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        question, vector = query_bundle.query_str, query_bundle.embedding
        response: RESPONSE_TYPE
        with tracing.querying(self.callback_manager, question) as ended:
            if self.streaming:
                response = streaming_response(self.stream(question, question_vector=vector))
            else:
                response = response_of(self.answer(question, question_vector=vector))
            ended(response)
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        question, vector = query_bundle.query_str, query_bundle.embedding
        response: RESPONSE_TYPE
        with tracing.querying(self.callback_manager, question) as ended:
            if self.streaming:
                events = self.astream(question, question_vector=vector)
                response = await astreaming_response(events)
            else:
                response = response_of(await self.aanswer(question, question_vector=vector))
            ended(response)
        return response

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """The hits alone, for LlamaIndex components that ask an engine for them."""
        return self.retriever.retrieve(query_bundle)

    def _get_prompt_modules(self) -> PromptMixinType:
        return {MODULE: self._prompts}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        check_names(prompts_dict, NAMES)


def _llm(prepared: Prepared) -> Any:
    return prepared.models.llm


def _messages(prepared: Prepared) -> list[ChatMessage]:
    return messages(prepared.models.system_prompt, prepared.prompt)


def ask(question: str, *, store: Store, collection: str, **options: Any) -> Answer:
    """Answer one question; `options` are those of `RagNodesQueryEngine`."""
    engine = RagNodesQueryEngine(store=store, collection=collection, **options)
    return engine.answer(question)
