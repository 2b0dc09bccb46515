"""Several columns over the same documents: ingest once, ask any number of questions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rag_nodes.columns import Placing
from rag_nodes.compare.columns import ColumnEngines
from rag_nodes.compare.streaming import ComparisonStream
from rag_nodes.embedding import FileOutcome
from rag_nodes.metadata import FILE_NAME, SOURCE, TOTAL_PAGES
from rag_nodes.pipeline import IngestReport, ingest, ingest_documents
from rag_nodes.processes import unless_interrupted
from rag_nodes.query.chat import Condensed, standalone
from rag_nodes.query.preparing import check_question
from rag_nodes.readers import Exclusion, Limits, Skipped, blank_page, listed, read_listed
from rag_nodes.several import several
from rag_nodes.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from llama_index.core.schema import Document

    from rag_nodes.compare.report import ComparisonReport
    from rag_nodes.embedding import Progress
    from rag_nodes.embedding.build import Parse
    from rag_nodes.ledger import Ledger
    from rag_nodes.readers import ReadResult
    from rag_nodes.store import Store


class Comparison(ColumnEngines):
    """Several columns over the same documents, ready for any number of questions.

    A column is a name and something that finds. Each parser is ingested for and has its own
    collection, so nothing mixes. What finds already is asked as it stands, and what it finds is
    placed in the documents; a query engine of LlamaIndex answers by itself, with our citations.
    Each question is embedded once; all columns but those engines get the same token budget of
    context, so larger chunks do not win by size.

    Args:
        columns: what to compare, by name: parsers of ours, also by the name of a preset, and
            splitters of other packages (see `ForeignNodeParser`); retrievers, query engines,
            indexes and vector stores of LlamaIndex, and `StoredCollection`s, as they stand. Order
            is kept in every report.
        store: where chunks of the parsers are; stays the caller's, `close` leaves it open. None for
            one in memory, which `close` closes.
        documents: ingested for every parser at once, see `ingest_documents`; () for none.
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

    Raises:
        ConfigurationError: no column, two parsers of equal configuration, `models` next to
            `embed_model` or `llm`.
    """

    def __init__(
        self,
        columns: Mapping[str, object],
        *,
        store: Store | None = None,
        documents: Document | Sequence[Document] = (),
        **options: Any,
    ) -> None:
        self._owned = store is None
        super().__init__(store=store or open_store(), columns=columns, **options)
        if documents:
            self.ingest_documents(documents)

    def __enter__(self) -> Self:
        """The comparison itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Forget what was ingested, see `close`."""
        self.close()

    def close(self) -> None:
        """Forget what was ingested; a store that the caller gave stays open."""
        self.statistics = {}
        self.files, self.turns = (), ()
        if self._owned:
            self.store.close()

    def ingest(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        limits: Limits | None = None,
        progress: Callable[[Progress], None] | None = None,
        ledger: Ledger | str | Path | None = None,
        exclude: str | Iterable[str] = (),
    ) -> IngestReport:
        """Read, cut, embed and store files with every parser; see `rag_nodes.pipeline.ingest`.

        For columns that find as they stand the files are read as well, to place in them what is
        found.
        """
        wanted = list(several(paths))
        results: list[ReadResult] = []
        patterns = tuple(several(exclude))
        exclusion, skipped = Exclusion(patterns), Skipped()
        run = partial(ingest, wanted, limits=limits, ledger=ledger, exclude=patterns)
        report = self._ingested(
            run, lambda: _documents_in(wanted, limits, results, exclusion, skipped), progress
        )
        if not self.parsers:
            self.files = tuple(map(_row_of, results))
            report = replace(report, files=self.files, **skipped.facts())
        return report

    def ingest_documents(
        self,
        documents: Document | Iterable[Document],
        *,
        progress: Callable[[Progress], None] | None = None,
        parse: Parse | None = None,
    ) -> IngestReport:
        """Cut, embed and store documents that are already read; see `ingest_documents`."""
        documents = several(documents)
        wanted = list(documents) if self.found else documents
        run = partial(ingest_documents, wanted, parse=parse)
        report = self._ingested(run, lambda: wanted, progress)
        if self.parsers:
            return report
        return replace(report, blank_pages=tuple(filter(None, map(blank_page, wanted))))

    def _ingested(
        self,
        run: Callable[..., IngestReport],
        documents: Callable[[], Iterable[Document]],
        progress: Callable[[Progress], None] | None,
    ) -> IngestReport:
        if self.found:
            self.placing = Placing(list(documents()))
        if not self.parsers:
            return IngestReport((), (), 0.0, self.models.describe(), self.corpus)
        report = run(
            self.parsers,
            self.store,
            models=self.models,
            transformations=self.transformations,
            corpus=self.corpus,
            progress=progress,
            prices=self.options.prices,
        )
        self.files = report.files
        self.statistics = {outcome.parser: outcome for outcome in report.columns}
        return report

    async def aingest(
        self, paths: str | Path | Iterable[str | Path], **options: Any
    ) -> IngestReport:
        """Like `ingest`, on a thread, so that the event loop stays free."""
        return await asyncio.to_thread(self.ingest, paths, **options)

    async def aingest_documents(
        self, documents: Document | Iterable[Document], **options: Any
    ) -> IngestReport:
        """Like `ingest_documents`, on a thread."""
        return await asyncio.to_thread(self.ingest_documents, documents, **options)

    def ask(
        self,
        question: str,
        *,
        document_ids: str | Sequence[str] | None = None,
        follow_up: bool | str = False,
    ) -> ComparisonReport:
        """Answer a question with every parser, in parallel.

        Args:
            question: in the user's words.
            document_ids: search only these documents; None for all.
            follow_up: True if the question follows the last one that was answered here, or that
                earlier question itself. The LLM condenses both to a standalone question; without
                an LLM the earlier question stands in front. False if the question stands alone.

        Returns:
            One column per name in the order given; one that fails has its error there. Its
            `question` is what was searched for. Each answer counts the tokens and the cost of
            condensing a follow-up, which was done once for all.

        Raises:
            ModelError: the question could not be embedded, so no parser can answer.
            ConfigurationError: the question is blank, or there is no earlier one to follow up.
        """
        searched = self._searched(question, follow_up)
        with ComparisonStream(self, searched, document_ids, whole=True) as stream:
            return stream.wait()

    async def aask(
        self,
        question: str,
        *,
        document_ids: str | Sequence[str] | None = None,
        follow_up: bool | str = False,
    ) -> ComparisonReport:
        """Like `ask`, on a thread."""
        ask = partial(self.ask, document_ids=document_ids, follow_up=follow_up)
        return await asyncio.to_thread(ask, question)

    def stream(
        self,
        question: str,
        *,
        document_ids: str | Sequence[str] | None = None,
        follow_up: bool | str = False,
    ) -> ComparisonStream:
        """Answer a question with every parser, and see all of them grow.

        Args:
            question: in the user's words.
            document_ids: search only these documents; None for all.
            follow_up: see `ask`.

        Returns:
            Pairs of a parser's name and an event, in order of arrival; see `ComparisonStream`.

        Raises:
            ConfigurationError: the question is blank, or there is no earlier one to follow up.
        """
        return ComparisonStream(self, self._searched(question, follow_up), document_ids)

    def _searched(self, question: str, follow_up: bool | str) -> Condensed:  # noqa: FBT001
        """Return the question as it is to be searched for."""
        check_question(question)
        if follow_up is False:
            return Condensed(question)
        prices = self.options.prices
        condense = partial(standalone, question, follow_up, self.turns, self.models, prices)
        return unless_interrupted(condense, "the question")


def _documents_in(
    paths: Iterable[str | Path],
    limits: Limits | None,
    results: list[ReadResult],
    exclude: Exclusion,
    skipped: Skipped,
) -> Iterator[Document]:
    """Read the documents of files and folders; `results` gets also those that cannot be read."""
    for file in listed(map(Path, paths), exclude=exclude, skipped=skipped):
        for result in read_listed(file, limits=limits or Limits()):
            results.append(result)
            if result.document:
                yield result.document


def _row_of(result: ReadResult) -> FileOutcome:
    """What is told of a file that was read to place in it what a column finds."""
    path, document = str(result.path), result.document
    if document is None:
        return FileOutcome(path, "failed", None, 0, str(result.error), result.seconds)
    return FileOutcome(
        path,
        "read",
        document.metadata.get(TOTAL_PAGES),
        len(document.text),
        None,
        result.seconds,
        document.id_,
        name=str(document.metadata.get(FILE_NAME, path)),
        source=document.metadata.get(SOURCE),
    )
