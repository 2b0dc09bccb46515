"""The columns of a comparison: each parser's engine, and what a report says of it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from llama_index.core.base.base_query_engine import BaseQueryEngine

from rag_nodes.core.errors import ConfigurationError, RagNodesError, StoreError
from rag_nodes.core.keys import kind_of, trace_of
from rag_nodes.core.metadata import PARSER
from rag_nodes.embedding import DocumentsReport, ParserOutcome
from rag_nodes.evaluation.columns import plain_parser
from rag_nodes.evaluation.compare.report import Column, ComparisonReport
from rag_nodes.evaluation.engines import AnsweringEngine, Placing, finds, found_store, is_placed
from rag_nodes.models import settled
from rag_nodes.parsers import PRESETS, as_parser
from rag_nodes.query import QueryOptions, QuestionVectors, RagNodesQueryEngine
from rag_nodes.query.follow_ups import MAX_TURNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.query import Answer
    from rag_nodes.query.documents import DocumentIndex
    from rag_nodes.query.preparing import QuestionVector
    from rag_nodes.store import Store

logger = logging.getLogger(__name__)


class ColumnEngines:
    """Several parsers over the same documents, and what finds as it stands, each with an engine.

    For arguments and errors see `Comparison`.

    Attributes:
        parsers: what splits, by name.
        names: of what is compared, in order.
        found: of these, what finds as it stands, by name.
        placing: the documents in which its chunks are located.
        loaded: how documents and parsers ended.
        statistics: what each parser made of the documents.
    """

    def __init__(
        self,
        columns: Mapping[str, object],
        *,
        models: Models | None = None,
        embed_model: BaseEmbedding | str | None = None,
        llm: LLM | str | None = None,
        prompt: str | None = None,
        options: QueryOptions | None = None,
    ) -> None:
        if not columns:
            raise ConfigurationError("nothing to compare: name at least one column")
        self.models = settled(models, embed_model, llm)
        self.names = tuple(columns)
        self.found = {name: column for name, column in columns.items() if finds(column)}
        self.parsers = _parsers_of(columns, self.found)
        self.placing = Placing()
        chosen = options or QueryOptions()
        # What is compared are chunks, so they are read as they are unless sentences are asked for.
        self.options = replace(
            chosen,
            step_factor=chosen.step_factor or 1.0,
            granularity=chosen.granularity or "chunks",
        )
        self.vectors = QuestionVectors(ttl_hours=self.options.cache_ttl_hours)
        self.prompt = prompt
        self.index: DocumentIndex | None = None
        self.loaded = DocumentsReport((), (), 0.0, self.models.describe())
        self.statistics: dict[str, ParserOutcome] = {}
        self.turns: Sequence[tuple[str, str]] = ()
        """The last questions as they were searched for, with the first answer to each."""

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
            StoreError: no chunk of the parser can be found, and why.
        """
        given, options = self.found.get(name), self.options
        store: Store
        if given is None:
            store, collection = self._searchable(name)
        elif isinstance(given, BaseQueryEngine) and not options.retrieval_only:
            return AnsweringEngine(given, self.placing)
        else:
            store, collection = found_store(given, self.placing), name
            if not store.embeds:
                options = replace(options, mode="sparse")
        return RagNodesQueryEngine(
            store=store,
            collection=collection,
            models=self.models,
            parser_name=name,
            document_ids=document_ids,
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
            statistics=self.statistics.get(name) or ParserOutcome(name, ""),
            answer=answer,
            error=error,
            seconds={**(answer.seconds if answer else {}), **seconds},
        )

    def _found_column(
        self, name: str, answer: Answer | None, error: str | None, seconds: dict[str, float]
    ) -> Column:
        """A column that finds as it stands: what it is, and what its chunks say split them."""
        nodes = [hit.node for hit in answer.hits] if answer else []
        cut_by, _, fingerprint = next(
            (str(node.metadata[PARSER]) for node in nodes if PARSER in node.metadata), ""
        ).partition(":")
        not_located = sum(not is_placed(node) for node in nodes) if self.placing.documents else 0
        kind = type(self.found[name]).__name__
        return Column(
            name=name,
            title=f"{name} ({cut_by})" if cut_by else name,
            parser={"class": cut_by or kind, "fingerprint": fingerprint, "found_by": kind},
            statistics=ParserOutcome(name, "", chunks=len(nodes), not_located=not_located),
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
            models=self.models.describe(),
            files=self.loaded.files,
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

    def _searchable(self, name: str) -> tuple[Store, str]:
        """Return the store and the collection of a parser.

        Raises:
            StoreError: no chunk of it can be found, and why.
        """
        outcome = self.statistics.get(name)
        if self.index is None or outcome is None:
            raise StoreError("there is nothing to search: give the comparison documents")
        if self.index.is_closed:
            raise StoreError(
                "the comparison was closed and has forgotten its documents; make another one"
            )
        if not (outcome.written or outcome.unchanged):
            failed = [file.error for file in self.loaded.failed]
            why = f"nothing could be read: {failed[0]}" if failed else "it made no chunk"
            raise StoreError(outcome.error or f"there is nothing to search, because {why}")
        return self.index.store, outcome.collection


def _parsers_of(
    columns: Mapping[str, object], finders: Mapping[str, object]
) -> dict[str, SpanNodeParser]:
    """Return the columns that split documents, as parsers of ours.

    Raises:
        ConfigurationError: two have the same configuration.
    """
    parsers: dict[str, SpanNodeParser] = {}
    names: dict[tuple[str, str], str] = {}
    for name, given in columns.items():
        if name in finders:
            continue
        parser = as_parser(given)
        other = names.setdefault((parser.class_name(), parser.fingerprint), name)
        if other != name:
            raise ConfigurationError(
                f"parsers '{other}' and '{name}' have the same configuration; "
                "change an option of one, or leave one out"
            )
        parsers[name] = parser
    return parsers


def as_failure(name: str, error: Exception) -> RagNodesError:
    """Return any exception as one of ours: a column must never take others down.

    The log has where it was raised, without texts of other packages, which may hold keys.
    """
    failure = error
    if not isinstance(failure, RagNodesError):
        failure = RagNodesError(f"{kind_of(error)}; run this column alone to see where it fails")
        failure.__cause__ = error
    logger.warning("column '%s' failed\n%s", name, trace_of(failure))
    return failure
