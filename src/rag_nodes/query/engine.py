"""LlamaIndex's query engine: question in, cited answer out, sync and async."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import Response

from rag_nodes.errors import ConfigurationError
from rag_nodes.query.answering import (
    Written,
    extracted,
    generated,
    messages,
    nothing_found,
    translated,
)
from rag_nodes.query.packing import Packed, pack
from rag_nodes.query.retriever import CANDIDATES, RagNodesRetriever, scored
from rag_nodes.query.types import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.prompts.mixin import PromptMixinType
    from llama_index.core.schema import QueryBundle

    from rag_nodes.models import Models
    from rag_nodes.store import SearchMode, Store

DEFAULT_TOP_K = 5
"""Chunks per question where neither a budget nor a number is given (S0-27)."""


class RagNodesQueryEngine(BaseQueryEngine):
    """Answers from one collection, with citations down to the characters.

    `query` and `aquery` give LlamaIndex's `Response`, whose metadata holds the whole answer as
    plain data under "answer"; `answer` and `aanswer` give the `Answer` itself.

    Args:
        store: where the chunks are.
        collection: which of its collections.
        models: embeds the question and, where there is an LLM, writes the answer; without one
            the answer is made of the documents' own sentences.
        parser_name: for display.
        budget: context tokens, the same for every parser; None for no limit.
        top_k: chunks per question; None for as many as fit the budget.
        mode: "hybrid", "dense" or "sparse".
        document_ids: search only these documents; None for all.
        prompt: template with `{context}` and `{question}`; None for that of `models`.
        similarity_cutoff: leave out chunks of a lower cosine similarity; None to keep all.

    Raises:
        ConfigurationError: budget or top_k is below 1.
    """

    def __init__(  # noqa: PLR0913 - options of one engine, all but three with defaults
        self,
        *,
        store: Store,
        collection: str,
        models: Models,
        parser_name: str = "",
        budget: int | None = 1500,
        top_k: int | None = None,
        mode: SearchMode = "hybrid",
        document_ids: Sequence[str] | None = None,
        prompt: str | None = None,
        similarity_cutoff: float | None = None,
    ) -> None:
        super().__init__(callback_manager=None)
        for option, value in (("budget", budget), ("top_k", top_k)):
            if value is not None and value < 1:
                raise ConfigurationError(f"{option} must be at least 1, not {value}")
        self.models = models
        self.parser_name = parser_name
        self.budget = budget
        self.prompt = prompt or models.prompt
        self.retriever = RagNodesRetriever(
            store=store,
            collection=collection,
            models=models,
            top_k=top_k or (CANDIDATES if budget is not None else DEFAULT_TOP_K),
            mode=mode,
            document_ids=document_ids,
            similarity_cutoff=similarity_cutoff,
        )

    def answer(self, question: str, *, question_vector: Sequence[float] | None = None) -> Answer:
        """Answer a question.

        Args:
            question: in the user's words.
            question_vector: its embedding, where several engines share one; None to embed here.

        Raises:
            ConfigurationError: the question is blank.
            CollectionMissingError: nothing was ingested for this parser and embedding model.
            ModelError: a model failed.
            StoreError: the store failed.
        """
        clock = _Clock()
        _check(question)
        with clock("embed"):
            vector = question_vector or self.retriever.embed(question)
        with clock("retrieve"):
            packed = pack(self.retriever.hits(question, vector), self.budget)
        with clock("answer"):
            written = self._written(question, packed)
        return self._assembled(question, packed, written, clock)

    async def aanswer(
        self, question: str, *, question_vector: Sequence[float] | None = None
    ) -> Answer:
        """Like `answer`, without blocking the event loop."""
        clock = _Clock()
        _check(question)
        with clock("embed"):
            vector = question_vector or await self.retriever.aembed(question)
        with clock("retrieve"):
            hits = await asyncio.to_thread(self.retriever.hits, question, vector)
            packed = await asyncio.to_thread(pack, hits, self.budget)
        with clock("answer"):
            written = await self._awritten(question, packed)
        return self._assembled(question, packed, written, clock)

    def _written(self, question: str, packed: Packed) -> Written:
        llm = self.models.llm
        if llm is None or not packed.sources:
            return extracted(question, packed) if packed.sources else nothing_found()
        try:
            response = llm.chat(messages(question, packed, self.prompt))
        except Exception as error:
            raise translated(error, self.models) from error
        return generated(response, packed, self.models)

    async def _awritten(self, question: str, packed: Packed) -> Written:
        llm = self.models.llm
        if llm is None or not packed.sources:
            return await asyncio.to_thread(self._written, question, packed)
        try:
            response = await llm.achat(messages(question, packed, self.prompt))
        except Exception as error:
            raise translated(error, self.models) from error
        return generated(response, packed, self.models)

    def _assembled(self, question: str, packed: Packed, written: Written, clock: _Clock) -> Answer:
        return Answer(
            question=question,
            text=written.text,
            kind=written.kind,
            citations=written.citations,
            unknown_sources=written.unknown_sources,
            hits=packed.hits,
            sources=packed.sources,
            left_out=packed.left_out,
            context_tokens=packed.tokens,
            seconds=dict(clock.seconds),
            embedding_model=self.models.embedding_name,
            answer_model=self.models.answer_name,
        )

    def _query(self, query_bundle: QueryBundle) -> Response:
        vector = query_bundle.embedding
        return _response(self.answer(query_bundle.query_str, question_vector=vector))

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        vector = query_bundle.embedding
        return _response(await self.aanswer(query_bundle.query_str, question_vector=vector))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}


def ask(question: str, *, store: Store, collection: str, models: Models, **options: Any) -> Answer:
    """Answer one question; `options` are those of `RagNodesQueryEngine`."""
    engine = RagNodesQueryEngine(store=store, collection=collection, models=models, **options)
    return engine.answer(question)


class _Clock:
    """Wall-clock seconds per stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += time.perf_counter() - started


def _check(question: str) -> None:
    if not question.strip():
        raise ConfigurationError("the question is empty: type what you want to know")


def _response(answer: Answer) -> Response:
    return Response(
        response=answer.text,
        source_nodes=scored(answer.hits),
        metadata={"answer": answer.as_dict()},
    )
