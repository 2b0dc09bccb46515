"""The columns of a comparison: each parser's engine, and what a report says of it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from llama_index.core.base.base_query_engine import BaseQueryEngine

from rag_nodes.columns import (
    AnsweringEngine,
    Placing,
    finds,
    found_store,
    is_placed,
)
from rag_nodes.compare.report import Column, ComparisonReport
from rag_nodes.embedding import ParserOutcome
from rag_nodes.errors import ConfigurationError, RagNodesError, StoreError
from rag_nodes.evaluation.columns import plain_parser
from rag_nodes.keys import kind_of
from rag_nodes.metadata import PARSER
from rag_nodes.models import settled
from rag_nodes.parsers import PRESETS, as_parser, get_parser
from rag_nodes.query import QueryOptions, QuestionVectors, RagNodesQueryEngine
from rag_nodes.query.chat import MAX_TURNS
from rag_nodes.store import parser_collection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM
    from llama_index.core.schema import TransformComponent

    from rag_nodes.embedding import FileOutcome
    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.query import Answer
    from rag_nodes.query.preparing import QuestionVector
    from rag_nodes.store import Store

logger = logging.getLogger(__name__)


class ColumnEngines:
    """Several parsers over one corpus in one store, each with a collection and an engine.

    For arguments and errors see `Comparison`.

    Attributes:
        parsers: what cuts, by name.
        statistics: what each parser made of the last documents.
        names: of what is compared, in order.
        found: of these, what finds as it stands, by name.
        placing: the documents in which its chunks are placed.
        files: how the files of the last ingestion ended.
    """

    def __init__(  # noqa: PLR0913 - options of one comparison, all but two with defaults
        self,
        *,
        store: Store,
        columns: Mapping[str, object],
        models: Models | None = None,
        embed_model: BaseEmbedding | str | None = None,
        llm: LLM | str | None = None,
        transformations: Sequence[TransformComponent] = (),
        corpus: str = "default",
        prompt: str | None = None,
        options: QueryOptions | None = None,
    ) -> None:
        if not columns:
            raise ConfigurationError("nothing to compare: name at least one column")
        self.store = store
        self.models = settled(models, embed_model, llm)
        self.names = tuple(columns)
        self.found = {name: one for name, one in columns.items() if finds(one)}
        self.parsers: dict[str, SpanNodeParser] = {
            name: get_parser(one) if isinstance(one, str) else as_parser(one)
            for name, one in columns.items()
            if name not in self.found
        }
        self.placing = Placing()
        self.corpus = corpus
        chosen = options or QueryOptions()
        # What is compared are chunks, so they are read as they are unless sentences are asked for.
        self.options = replace(
            chosen,
            step_factor=chosen.step_factor or 1.0,
            granularity=chosen.granularity or "chunks",
        )
        self.transformations = [*transformations]
        self.vectors = QuestionVectors(ttl_hours=self.options.cache_ttl_hours)
        self.prompt = prompt
        self.statistics: dict[str, ParserOutcome] = {}
        self.files: tuple[FileOutcome, ...] = ()
        self.turns: Sequence[tuple[str, str]] = ()
        """The last questions as they were searched for, with the first answer to each."""
        self.within: Sequence[str] | None = None
        """Documents that parsers search where a question names none; None for all of the corpus."""

    def collection(self, name: str) -> str:
        """The collection that holds the chunks of the parser called `name`."""
        return parser_collection(self.corpus, self.parsers[name], self.models.embedding_name)

    def question_vector(self, question: str) -> QuestionVector:
        """The question's embedding for all parsers, remembered or fresh.

        Raises:
            ModelError: the embedding model failed.
        """
        return self.vectors.get(self.models, question)

    def engine(
        self, name: str, *, document_ids: str | Sequence[str] | None = None
    ) -> RagNodesQueryEngine | AnsweringEngine:
        """The engine of one column.

        Args:
            name: of the column.
            document_ids: search only these documents; None for all.

        Raises:
            StoreError: ingestion left the parser without a single stored chunk, and why.
        """
        store, collection, given = self.store, name, self.found.get(name)
        options = self.options
        if given is None:
            if why := self._nothing_stored(name):
                raise StoreError(why)
            collection = self.collection(name)
        elif isinstance(given, BaseQueryEngine) and not self.options.retrieval_only:
            return AnsweringEngine(given, self.placing)
        else:
            store = found_store(given, self.placing)
            if not store.embeds:
                options = replace(options, mode="sparse")
        return RagNodesQueryEngine(
            store=store,
            collection=collection,
            models=self.models,
            parser_name=name,
            # Others have no more than they are asked for, and maybe under ids of their own.
            document_ids=self.within if document_ids is None and given is None else document_ids,
            prompt=self.prompt,
            options=options,
            vectors=self.vectors,
        )

    def column(
        self, name: str, answer: Answer | None, error: str | None, seconds: dict[str, float]
    ) -> Column:
        """One column's answer, or why there is none, with its configuration and statistics.

        Args:
            name: of the column.
            answer: None when it failed.
            error: None when it answered.
            seconds: "embed" and "total", which the answer itself does not know.
        """
        if name in self.found:
            return self._found_column(name, answer, error, seconds)
        preset = PRESETS.get(name)
        return Column(
            name=name,
            title=preset.title if preset else name,
            parser=plain_parser(self.parsers[name]),
            statistics=self._statistics_of(name),
            answer=answer,
            error=error,
            seconds={**(answer.seconds if answer else {}), **seconds},
        )

    def _found_column(
        self, name: str, answer: Answer | None, error: str | None, seconds: dict[str, float]
    ) -> Column:
        """A column that finds as it stands: what it is, and what its chunks say cut them."""
        nodes = [hit.node for hit in answer.hits] if answer else []
        cut_by, _, fingerprint = next(
            (str(one.metadata[PARSER]) for one in nodes if PARSER in one.metadata), ""
        ).partition(":")
        unplaced = sum(not is_placed(node) for node in nodes) if self.placing.documents else 0
        kind = type(self.found[name]).__name__
        return Column(
            name=name,
            title=f"{name} ({cut_by})" if cut_by else name,
            parser={"class": cut_by or kind, "fingerprint": fingerprint, "found_by": kind},
            statistics=ParserOutcome(name, "", chunks=len(nodes), unplaced=unplaced),
            answer=answer,
            error=error,
            seconds={**(answer.seconds if answer else {}), **seconds},
        )

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

    def remember(self, question: str, answer: str) -> None:
        """Note an answered question, which the next one may follow.

        Args:
            question: as it was searched for.
            answer: of the first column that answered.
        """
        self.turns = (*self.turns, (question, answer))[-MAX_TURNS:]

    def _nothing_stored(self, name: str) -> str | None:
        """Why there is nothing to search; None where this or an earlier run stored something."""
        known = self.statistics.get(name)
        if known is None:
            return None
        why = known.error
        if not known.chunks:
            failed = [file.error for file in self.files if file.status == "failed"]
            if why or not failed:
                return why
            why = f"there is nothing to search, because nothing could be read: {failed[0]}"
        return why if why and not self.store.count(self.collection(name)) else None

    def _statistics_of(self, name: str) -> ParserOutcome:
        """The chunks of this run; without one, at least how many are stored."""
        known = self.statistics.get(name)
        if known is not None:
            return known
        collection = self.collection(name)
        try:
            chunks = self.store.count(collection)
        except RagNodesError as error:
            return ParserOutcome(name, collection, error=str(error))
        return ParserOutcome(name, collection, chunks=chunks, unchanged=chunks)


def as_failure(name: str, error: Exception) -> RagNodesError:
    """Any exception as one of ours, noted in the log: a column must never take others down."""
    failure = error
    if not isinstance(failure, RagNodesError):
        failure = RagNodesError(f"{kind_of(error)}; run this column alone to see where it fails")
        failure.__cause__ = error
    logger.warning("%s: %s", name, failure)
    return failure
