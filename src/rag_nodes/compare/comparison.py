"""Several parsers over one corpus: ingest once, ask any number of questions."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from rag_nodes.compare.columns import as_failure, column_of, engine_of
from rag_nodes.compare.report import Column, ComparisonReport
from rag_nodes.compare.streaming import AsyncComparisonStream, ComparisonStream
from rag_nodes.errors import ConfigurationError
from rag_nodes.models import settled
from rag_nodes.parsers import as_parser
from rag_nodes.pipeline import FileOutcome, IngestReport, ParserOutcome, ingest, ingest_documents
from rag_nodes.query import QueryOptions, QuestionVectors
from rag_nodes.query.preparing import check_question
from rag_nodes.query.question_vectors import QuestionVector
from rag_nodes.store import parser_collection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM
    from llama_index.core.schema import Document

    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline import Progress
    from rag_nodes.pipeline.column import Parse
    from rag_nodes.readers import Limits
    from rag_nodes.store import Store


class Comparison:
    """Several parsers over one corpus in one store, ready for any number of questions.

    Each parser has its own collection, so nothing mixes; each question is embedded once; all
    parsers get the same token budget of context, so larger chunks do not win by size.

    Args:
        store: where chunks are; stays the caller's, `close` leaves it open.
        parsers: what to compare, ours and splitters of other packages (see `ForeignNodeParser`);
            order is kept in every report.
        models: embedding model and LLM, the same for every parser; None for the next two.
        embed_model: any embedding model of LlamaIndex, instead of `models`; None for that of
            LlamaIndex's `Settings` where it was set, else offline, see `Models.of`.
        llm: any LLM of LlamaIndex, likewise.
        corpus: name of the document set.
        budget: context tokens per parser; None for a plain `top_k`.
        top_k: chunks per parser; None for as many as fit the budget.
        prompt: template with `{context}` and `{question}`; None for the default.
        options: more to choose, the same for every parser; wins over `budget` and `top_k`.
            Questions that ask for steps get no more than others unless `step_factor` says so.

    Raises:
        ConfigurationError: no parser, two parsers of equal configuration, or `models` next to
            `embed_model` or `llm`.
    """

    def __init__(  # noqa: PLR0913 - options of one comparison, all but two with defaults
        self,
        *,
        store: Store,
        parsers: Mapping[str, object],
        models: Models | None = None,
        embed_model: BaseEmbedding | str | None = None,
        llm: LLM | str | None = None,
        corpus: str = "default",
        budget: int | None = 1500,
        top_k: int | None = None,
        prompt: str | None = None,
        options: QueryOptions | None = None,
    ) -> None:
        if not parsers:
            raise ConfigurationError("nothing to compare: name at least one parser")
        self.store = store
        self.models = settled(models, embed_model, llm)
        self.parsers: dict[str, SpanNodeParser] = {
            name: as_parser(parser) for name, parser in parsers.items()
        }
        self.corpus = corpus
        chosen = options or QueryOptions(budget=budget, top_k=top_k)
        self.options = chosen if chosen.step_factor else replace(chosen, step_factor=1.0)
        self.vectors = QuestionVectors(ttl_hours=self.options.cache_ttl_hours)
        self.budget = self.options.budget
        self.top_k = self.options.top_k
        self.prompt = prompt
        self.statistics: dict[str, ParserOutcome] = {}
        self.files: tuple[FileOutcome, ...] = ()

    def __enter__(self) -> Self:
        """The comparison itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Forget what was ingested, see `close`."""
        self.close()

    def close(self) -> None:
        """Forget what was ingested; the store stays open, it belongs to the caller."""
        self.statistics = {}
        self.files = ()

    def ingest(
        self,
        paths: Iterable[str | Path],
        *,
        limits: Limits | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> IngestReport:
        """Read, cut, embed and store files with every parser; see `rag_nodes.pipeline.ingest`."""
        return self._remember(
            ingest(
                paths,
                self.parsers,
                self.store,
                models=self.models,
                corpus=self.corpus,
                limits=limits,
                progress=progress,
                prices=self.options.prices,
            )
        )

    def ingest_documents(
        self,
        documents: Iterable[Document],
        *,
        progress: Callable[[Progress], None] | None = None,
        parse: Parse | None = None,
    ) -> IngestReport:
        """Cut, embed and store documents that are already read; see `ingest_documents`."""
        return self._remember(
            ingest_documents(
                documents,
                self.parsers,
                self.store,
                models=self.models,
                corpus=self.corpus,
                progress=progress,
                prices=self.options.prices,
                parse=parse,
            )
        )

    def ask(self, question: str, *, document_ids: Sequence[str] | None = None) -> ComparisonReport:
        """Answer a question with every parser, in parallel (S0-10, S0-11).

        Args:
            question: in the user's words.
            document_ids: search only these documents; None for all.

        Returns:
            One column per parser in the order given; a parser that fails has its error there.

        Raises:
            ModelError: the question could not be embedded, so no parser can answer.
            ConfigurationError: the question is blank.
        """
        check_question(question)
        started = time.perf_counter()
        vector = self.question_vector(question)
        embedded = time.perf_counter() - started

        def column(name: str) -> Column:
            return self._column(name, question, vector, embedded, document_ids)

        with ThreadPoolExecutor(max_workers=len(self.parsers)) as pool:
            columns = tuple(pool.map(column, self.parsers))
        return self.report(question, columns, time.perf_counter() - started)

    def stream(
        self, question: str, *, document_ids: Sequence[str] | None = None
    ) -> ComparisonStream:
        """Answer a question with every parser, and see all of them grow (S0-10).

        Args:
            question: in the user's words.
            document_ids: search only these documents; None for all.

        Returns:
            Pairs of a parser's name and an event, in order of arrival; see `ComparisonStream`.

        Raises:
            ConfigurationError: the question is blank.
        """
        check_question(question)
        return ComparisonStream(self, question, document_ids)

    def astream(
        self, question: str, *, document_ids: Sequence[str] | None = None
    ) -> AsyncComparisonStream:
        """Like `stream`, for `async with` and `async for`."""
        return AsyncComparisonStream(self.stream(question, document_ids=document_ids))

    def question_vector(self, question: str) -> QuestionVector:
        """The question's embedding for all parsers, remembered or fresh.

        Raises:
            ModelError: the embedding model failed.
        """
        return self.vectors.get(self.models, question, mode=self.options.mode)

    def report(
        self, question: str, columns: tuple[Column, ...], seconds: float
    ) -> ComparisonReport:
        """One question's columns with what is known about all of them."""
        return ComparisonReport(
            question=question,
            corpus=self.corpus,
            models=self.models.describe(),
            files=self.files,
            columns=columns,
            seconds=seconds,
        )

    def collection(self, name: str) -> str:
        """The collection that holds the chunks of the parser called `name`."""
        return parser_collection(self.corpus, self.parsers[name], self.models.embedding_name)

    def _remember(self, report: IngestReport) -> IngestReport:
        self.files = report.files
        self.statistics = {outcome.parser: outcome for outcome in report.columns}
        return report

    def _column(
        self,
        name: str,
        question: str,
        vector: QuestionVector,
        embedded: float,
        document_ids: Sequence[str] | None,
    ) -> Column:
        started = time.perf_counter()
        answer, failure = None, None
        try:
            engine = engine_of(self, name, document_ids)
            answer = engine.answer(question, question_vector=vector)
        except Exception as error:  # noqa: BLE001 - one column must never take the others down
            failure = str(as_failure(name, error))
        total = embedded + time.perf_counter() - started
        seconds = {"embed": embedded, "total": total} if answer else {"total": total}
        return column_of(self, name, answer, failure, seconds)


def compare(  # noqa: PLR0913 - options of one call, most with defaults
    paths: Iterable[str | Path],
    question: str,
    *,
    parsers: Mapping[str, object],
    store: Store,
    models: Models | None = None,
    corpus: str = "default",
    budget: int | None = 1500,
    top_k: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ComparisonReport:
    """Ingest files with every parser and answer one question with each; see `Comparison`."""
    with Comparison(
        store=store, models=models, parsers=parsers, corpus=corpus, budget=budget, top_k=top_k
    ) as comparison:
        comparison.ingest(paths, progress=progress)
        return comparison.ask(question)
