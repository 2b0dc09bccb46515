"""Several parsers over one corpus: ingest once, ask any number of questions."""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

from rag_nodes.compare.report import Column, ComparisonReport
from rag_nodes.errors import ConfigurationError, RagNodesError, StoreError
from rag_nodes.models import map_model_error
from rag_nodes.parsers import PRESETS
from rag_nodes.pipeline import FileOutcome, IngestReport, ParserOutcome, ingest, ingest_documents
from rag_nodes.query import RagNodesQueryEngine
from rag_nodes.store import parser_collection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline import Progress
    from rag_nodes.store import Store

logger = logging.getLogger(__name__)


class Comparison:
    """Several parsers over one corpus in one store, ready for any number of questions.

    Each parser has its own collection, so nothing mixes; each question is embedded once; all
    parsers get the same token budget of context, so larger chunks do not win by size.

    Args:
        store: where chunks are; stays the caller's, `close` leaves it open.
        models: embedding model and LLM, the same for every parser.
        parsers: what to compare; order is kept in every report.
        corpus: name of the document set.
        budget: context tokens per parser; None for a plain `top_k`.
        top_k: chunks per parser; None for as many as fit the budget.
        prompt: template with `{context}` and `{question}`; None for the default.

    Raises:
        ConfigurationError: no parser, or two parsers of equal configuration.
    """

    def __init__(
        self,
        *,
        store: Store,
        models: Models,
        parsers: Mapping[str, SpanNodeParser],
        corpus: str = "default",
        budget: int | None = 1500,
        top_k: int | None = None,
        prompt: str | None = None,
    ) -> None:
        if not parsers:
            raise ConfigurationError("nothing to compare: name at least one parser")
        self.store = store
        self.models = models
        self.parsers = dict(parsers)
        self.corpus = corpus
        self.budget = budget
        self.top_k = top_k
        self.prompt = prompt
        self._statistics: dict[str, ParserOutcome] = {}
        self._files: tuple[FileOutcome, ...] = ()

    def __enter__(self) -> Self:
        """The comparison itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Forget what was ingested, see `close`."""
        self.close()

    def close(self) -> None:
        """Forget what was ingested; the store stays open, it belongs to the caller."""
        self._statistics = {}
        self._files = ()

    def ingest(
        self,
        paths: Iterable[str | Path],
        *,
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
                progress=progress,
            )
        )

    def ingest_documents(
        self,
        documents: Iterable[Document],
        *,
        progress: Callable[[Progress], None] | None = None,
    ) -> IngestReport:
        """Cut, embed and store documents that are already read."""
        return self._remember(
            ingest_documents(
                documents,
                self.parsers,
                self.store,
                models=self.models,
                corpus=self.corpus,
                progress=progress,
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
        started = time.perf_counter()
        if not question.strip():
            raise ConfigurationError("the question is empty: type what you want to know")
        vector = self._embedded(question)
        embedded = time.perf_counter() - started

        def column(name: str) -> Column:
            return self._column(name, question, vector, embedded, document_ids)

        with ThreadPoolExecutor(max_workers=len(self.parsers)) as pool:
            columns = tuple(pool.map(column, self.parsers))
        return ComparisonReport(
            question=question,
            corpus=self.corpus,
            models=self.models.describe(),
            files=self._files,
            columns=columns,
            seconds=time.perf_counter() - started,
        )

    def collection(self, name: str) -> str:
        """The collection that holds the chunks of the parser called `name`."""
        return parser_collection(self.corpus, self.parsers[name], self.models.embedding_name)

    def _embedded(self, question: str) -> list[float]:
        try:
            return self.models.embedding.get_query_embedding(question)
        except RagNodesError:
            raise
        except Exception as error:
            # Any LlamaIndex embedding can be plugged in, and each raises its provider's errors.
            name = self.models.embedding_name
            raise map_model_error(error, model=name, api_base=None) from error

    def _remember(self, report: IngestReport) -> IngestReport:
        self._files = report.files
        self._statistics = {outcome.parser: outcome for outcome in report.columns}
        return report

    def _column(
        self,
        name: str,
        question: str,
        vector: list[float],
        embedded: float,
        document_ids: Sequence[str] | None,
    ) -> Column:
        started = time.perf_counter()
        answer, failure = None, None
        try:
            self._require_chunks(name)
            engine = RagNodesQueryEngine(
                store=self.store,
                collection=self.collection(name),
                models=self.models,
                parser_name=name,
                budget=self.budget,
                top_k=self.top_k,
                document_ids=document_ids,
                prompt=self.prompt,
            )
            answer = engine.answer(question, question_vector=vector)
        except RagNodesError as error:
            failure = str(error)
        except Exception as error:  # noqa: BLE001 - one column must never take the others down
            failure = f"{type(error).__name__}: {error}"
        if failure:
            logger.warning("%s: %s", name, failure)
        seconds = {**answer.seconds, "embed": embedded} if answer else {}
        return Column(
            name=name,
            title=_title(name),
            parser=_configuration(self.parsers[name]),
            statistics=self._statistics_of(name),
            answer=answer,
            error=failure,
            seconds={**seconds, "total": embedded + time.perf_counter() - started},
        )

    def _require_chunks(self, name: str) -> None:
        """Say why ingestion left a parser without a single chunk, rather than find none."""
        known = self._statistics.get(name)
        if known and known.error and not known.chunks:
            raise StoreError(known.error)

    def _statistics_of(self, name: str) -> ParserOutcome:
        """The chunks of this run; without one, at least how many are stored."""
        known = self._statistics.get(name)
        if known is not None:
            return known
        collection = self.collection(name)
        try:
            chunks = self.store.count(collection)
        except RagNodesError as error:
            return ParserOutcome(name, collection, error=str(error))
        return ParserOutcome(name, collection, chunks=chunks, unchanged=chunks)


def compare(  # noqa: PLR0913 - options of one call, most with defaults
    paths: Iterable[str | Path],
    question: str,
    *,
    parsers: Mapping[str, SpanNodeParser],
    store: Store,
    models: Models,
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


def _title(name: str) -> str:
    preset = PRESETS.get(name)
    return preset.title if preset else name


def _configuration(parser: SpanNodeParser) -> dict[str, Any]:
    """The parser's plain options; models and callbacks, which could hold a key, are left out."""
    options = {
        field: getattr(parser, field)
        for field in type(parser).model_fields
        if isinstance(getattr(parser, field), str | int | float | bool)
    }
    return {"class": parser.class_name(), "fingerprint": parser.fingerprint, **options}
