"""Several columns over the same documents: split them once, ask any number of questions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.processes import unless_interrupted
from rag_nodes.core.several import several_nodes
from rag_nodes.embedding import DocumentsReport
from rag_nodes.evaluation.compare.columns import ColumnEngines
from rag_nodes.evaluation.compare.streaming import ComparisonStream
from rag_nodes.evaluation.engines import Placing
from rag_nodes.query.cache import VectorCache
from rag_nodes.query.documents import DocumentIndex, rows_of
from rag_nodes.query.follow_ups import Condensed, standalone
from rag_nodes.query.preparing import check_question
from rag_nodes.readers import blank_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llama_index.core.schema import Document

    from rag_nodes.embedding import FileColumn, Progress
    from rag_nodes.evaluation.compare.report import ComparisonReport


@checks_keywords
class Comparison(ColumnEngines):
    """Several columns over the same documents, ready for any number of questions.

    A column is a name and something that finds. Each parser splits the documents into a collection
    of its own in memory, so nothing mixes. What finds already is asked as it stands, and what it
    finds is located in the documents; a query engine of LlamaIndex gives its own answers, with our
    citations. Each question is embedded once; all columns but those engines get the same token
    budget of context, so larger chunks do not win by size.

    Args:
        columns: what to compare, by name: parsers of ours, also by the name of a preset, and
            splitters of other packages (see `ForeignNodeParser`); retrievers, query engines,
            indexes and vector stores of LlamaIndex, and `StoredCollection`s, as they stand. Order
            is kept in every report.
        documents: split and embedded at once by every parser; or a `DocumentIndex`, which stays the
            caller's, and of which equal parsers are used again.
        cache: folder that keeps the vectors of paid models; None pays for each text once, and keeps
            them no longer than this.
        progress: called after every step.
        **options: `models`, embedding model and LLM, the same for every parser; or `embed_model`
            and `llm`, any of LlamaIndex, where None is that of LlamaIndex's `Settings` where it was
            set, else offline, see `Models.of`. `prompt`, a template with `{context}` and
            `{question}`. `options`, the `QueryOptions` of every question, the same for every
            parser: questions that ask for steps get no more than others unless `step_factor` says
            so.

    Attributes:
        loaded: how documents and parsers ended: a failure is a row and stops nothing else.

    Raises:
        ConfigurationError: no column, two parsers of equal configuration, `models` next to
            `embed_model` or `llm`.
        DatasetError: the cache cannot be used.
        CancelledError: see `rag_nodes.core.processes.interruptible`.
    """

    def __init__(
        self,
        columns: Mapping[str, object],
        *,
        documents: Document | Sequence[Document] | DocumentIndex = (),
        cache: str | Path | None = None,
        progress: Callable[[Progress], None] = lambda _: None,
        **options: Any,
    ) -> None:
        super().__init__(columns, **options)
        with ExitStack() as opened:
            if isinstance(documents, DocumentIndex):
                self.index, self.documents = documents, documents.documents
            else:
                self.documents = tuple(several_nodes(documents))
                if self.documents and self.parsers:
                    kept = VectorCache(None if cache is None else Path(cache))
                    self.index = DocumentIndex(self.documents, opened.enter_context(kept))
                    opened.callback(self.index.close)
            if self.found:
                self.placing = Placing(self.documents)
            self._load(progress)
            self._opened = opened.pop_all()

    def _load(self, progress: Callable[[Progress], None]) -> None:
        """Have every parser split the documents."""
        started = time.perf_counter()
        rows: dict[str, Mapping[str, FileColumn]] = {}
        for name, parser in self.parsers.items():
            if self.index is None:
                break
            self.statistics[name], rows[name] = self.index.add(
                name,
                parser,
                self.models,
                progress=progress,
                prices=self.options.prices,
            )
        self.loaded = DocumentsReport(
            rows_of(self.documents, rows),
            tuple(self.statistics.values()),
            time.perf_counter() - started,
            self.models.describe(),
            tuple(chain.from_iterable(map(blank_pages, self.documents))),
        )

    def __enter__(self) -> Self:
        """The comparison itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Forget the documents, see `close`."""
        self.close()

    def close(self) -> None:
        """Forget the documents; a `DocumentIndex` that the caller gave stays open."""
        self._opened.close()

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
            One column per name in the order given; a column that fails has its error there.
            `question` is the question that was searched for. Each answer counts the tokens and the
            cost of condensing a follow-up, which was done once for all.

        Raises:
            ModelError: the question could not be embedded, so no parser can answer.
            ConfigurationError: the question is blank, or there is no earlier one to follow up.
        """
        with self._asked(question, document_ids, follow_up, whole=True) as stream:
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
        """Answer a question with every parser, as pieces of the answers arrive.

        The arguments are those of `ask`.

        Returns:
            Pairs of a parser's name and an event, in order of arrival; see `ComparisonStream`.

        Raises:
            ConfigurationError: the question is blank, or there is no earlier one to follow up.
        """
        return self._asked(question, document_ids, follow_up)

    def _asked(
        self,
        question: str,
        document_ids: str | Sequence[str] | None,
        follow_up: bool | str,  # noqa: FBT001
        *,
        whole: bool = False,
    ) -> ComparisonStream:
        """Have every parser answer a question, which is condensed if it follows another."""
        check_question(question)
        searched = Condensed(question)
        if follow_up is not False:
            prices = self.options.prices
            condense = partial(standalone, question, follow_up, self.turns, self.models, prices)
            searched = unless_interrupted(condense, "the question")
        return ComparisonStream(self, searched, document_ids, whole=whole)
