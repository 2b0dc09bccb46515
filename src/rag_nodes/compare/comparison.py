"""Several parsers over one corpus: ingest once, ask any number of questions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self

from rag_nodes.compare.columns import ColumnEngines
from rag_nodes.compare.streaming import AsyncComparisonStream, ComparisonStream
from rag_nodes.ledger import WEB_HOURS
from rag_nodes.pipeline import ingest, ingest_documents
from rag_nodes.query.preparing import check_question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.compare.report import ComparisonReport
    from rag_nodes.executors import Executor
    from rag_nodes.ledger import Ledger
    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline import IngestReport, Progress
    from rag_nodes.pipeline.build import Parse
    from rag_nodes.pipeline.ingesting import Parsers
    from rag_nodes.query import QueryOptions
    from rag_nodes.readers import FileShard, Limits
    from rag_nodes.store import Store


class Comparison(ColumnEngines):
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
        transformations: extractors of LlamaIndex or your own, the same for every parser; see
            `rag_nodes.pipeline.ingest`.
        corpus: name of the document set.
        prompt: template with `{context}` and `{question}`; None for the default.
        options: how each question is answered, the same for every parser. Questions that ask for
            steps get no more than others unless `step_factor` says so.
        equal_size: tokens that a chunk of every parser has on average: chunks of one size are what
            tells ways of cutting apart. The sizes are found on the first documents that are
            ingested, and stay; `parsers` then are those parsers. None for their own options.
        vectors: embeddings of the chunks, see `FurtherVectors`: each parser is asked by each of
            them, in one collection. () for that of the options alone.

    Raises:
        ConfigurationError: no parser, two parsers of equal configuration, `models` next to
            `embed_model` or `llm`, or no size.
    """

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

    def ingest(  # noqa: PLR0913 - those of `rag_nodes.pipeline.ingest`
        self,
        paths: Iterable[str | Path],
        *,
        limits: Limits | None = None,
        progress: Callable[[Progress], None] | None = None,
        shard: FileShard | None = None,
        ledger: Ledger | str | Path | None = None,
        ttl: float = WEB_HOURS,
        prune: bool = False,
        dry_run: bool = False,
        executor: Executor | Literal["auto"] | None = None,
        most_rows: int | None = None,
    ) -> IngestReport:
        """Read, cut, embed and store files with every parser; see `rag_nodes.pipeline.ingest`."""
        return self._remember(
            ingest(
                paths,
                self._parsers_for(None, progress),
                self.store,
                models=self.models,
                transformations=self.transformations,
                corpus=self.corpus,
                limits=limits,
                progress=progress,
                prices=self.options.prices,
                shard=shard,
                ledger=ledger,
                ttl=ttl,
                prune=prune,
                dry_run=dry_run,
                executor=executor,
                most_rows=most_rows,
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
                self._parsers_for(parse, progress),
                self.store,
                models=self.models,
                transformations=self.transformations,
                corpus=self.corpus,
                progress=progress,
                prices=self.options.prices,
                parse=parse,
            )
        )

    def ask(self, question: str, *, document_ids: Sequence[str] | None = None) -> ComparisonReport:
        """Answer a question with every parser, in parallel.

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
        with ComparisonStream(self, question, document_ids, whole=True) as stream:
            return stream.wait()

    def stream(
        self, question: str, *, document_ids: Sequence[str] | None = None
    ) -> ComparisonStream:
        """Answer a question with every parser, and see all of them grow.

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

    def _parsers_for(
        self, parse: Parse | None, progress: Callable[[Progress], None] | None
    ) -> Parsers:
        sizing = self.sizing
        if sizing is None:
            return self.parsers

        def sized(documents: Sequence[Document]) -> dict[str, SpanNodeParser]:
            self.parsers = sizing.find(self.parsers, documents, cut=parse, progress=progress)
            return self.parsers

        return sized

    def _remember(self, report: IngestReport) -> IngestReport:
        if self.sizing:
            report = replace(report, columns=tuple(map(self.sizing.remark, report.columns)))
        self.files = report.files
        self.statistics = {outcome.parser: outcome for outcome in report.columns}
        return report


def compare(
    paths: Iterable[str | Path],
    question: str,
    *,
    parsers: Mapping[str, object],
    store: Store,
    models: Models | None = None,
    corpus: str = "default",
    options: QueryOptions | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ComparisonReport:
    """Ingest files with every parser and answer one question with each; see `Comparison`."""
    with Comparison(
        store=store, models=models, parsers=parsers, corpus=corpus, options=options
    ) as comparison:
        comparison.ingest(paths, progress=progress)
        return comparison.ask(question)
