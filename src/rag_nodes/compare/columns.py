"""The columns of a comparison: each parser's engine, and what a report says of it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag_nodes.compare.report import Column, ComparisonReport
from rag_nodes.compare.sizing import EqualSize
from rag_nodes.errors import ConfigurationError, RagNodesError, StoreError
from rag_nodes.models import settled
from rag_nodes.parsers import PRESETS, as_parser
from rag_nodes.pipeline import ParserOutcome
from rag_nodes.query import QueryOptions, QuestionVectors, RagNodesQueryEngine
from rag_nodes.store import parser_collection
from rag_nodes.transforms import FurtherVectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM
    from llama_index.core.schema import TransformComponent

    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline import FileOutcome
    from rag_nodes.query import Answer
    from rag_nodes.query.question_vectors import QuestionVector
    from rag_nodes.store import Store

logger = logging.getLogger(__name__)


class ColumnEngines:
    """Several parsers over one corpus in one store, each with a collection and an engine.

    For arguments and errors see `Comparison`.

    Attributes:
        parsers: what cuts, by name; at one mean size where that was asked for and found.
        given: the same as they were given, at sizes of their own.
        statistics: what each parser made of the last documents.
        files: how the files of the last ingestion ended.
    """

    def __init__(  # noqa: PLR0913 - options of one comparison, all but two with defaults
        self,
        *,
        store: Store,
        parsers: Mapping[str, object],
        models: Models | None = None,
        embed_model: BaseEmbedding | str | None = None,
        llm: LLM | str | None = None,
        transformations: Sequence[TransformComponent] = (),
        corpus: str = "default",
        prompt: str | None = None,
        options: QueryOptions | None = None,
        equal_size: int | None = None,
        vectors: Sequence[str] = (),
    ) -> None:
        if not parsers:
            raise ConfigurationError("nothing to compare: name at least one parser")
        self.store = store
        self.models = settled(models, embed_model, llm)
        self.parsers: dict[str, SpanNodeParser] = {
            name: as_parser(parser) for name, parser in parsers.items()
        }
        self.given = self.parsers
        self.sizing = EqualSize(equal_size) if equal_size is not None else None
        self.corpus = corpus
        chosen = options or QueryOptions()
        # What is compared are chunks, so they are read as they are unless sentences are asked for.
        self.options = replace(
            chosen,
            step_factor=chosen.step_factor or 1.0,
            granularity=chosen.granularity or "chunks",
        )
        self.asked_by = tuple(dict.fromkeys(vectors)) or (self.options.vector,)
        self.transformations = [*transformations, FurtherVectors(*self.asked_by)]
        self.vectors = QuestionVectors(ttl_hours=self.options.cache_ttl_hours)
        self.prompt = prompt
        self.statistics: dict[str, ParserOutcome] = {}
        self.files: tuple[FileOutcome, ...] = ()

    @property
    def columns(self) -> dict[str, tuple[str, str]]:
        """What is asked, by name of a column: a parser, and by which embedding of its chunks."""
        if len(self.asked_by) == 1:
            return {name: (name, self.asked_by[0]) for name in self.parsers}
        return {
            f"{name} by {vector}": (name, vector)
            for name in self.parsers
            for vector in self.asked_by
        }

    def collection(self, name: str) -> str:
        """The collection that holds the chunks of the parser called `name`."""
        return parser_collection(self.corpus, self.parsers[name], self.models.embedding_name)

    def question_vector(self, question: str) -> QuestionVector:
        """The question's embedding for all parsers, remembered or fresh.

        Raises:
            ModelError: the embedding model failed.
        """
        return self.vectors.get(self.models, question, mode=self.options.mode)

    def engine(
        self, name: str, *, document_ids: Sequence[str] | None = None
    ) -> RagNodesQueryEngine:
        """The engine of one column.

        Args:
            name: of the column.
            document_ids: search only these documents; None for all.

        Raises:
            StoreError: ingestion left the parser without a single stored chunk, and why.
        """
        parser, vector = self.columns[name]
        if why := self._nothing_stored(parser):
            raise StoreError(why)
        return RagNodesQueryEngine(
            store=self.store,
            collection=self.collection(parser),
            models=self.models,
            parser_name=name,
            document_ids=document_ids,
            prompt=self.prompt,
            options=replace(self.options, vector=vector),
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
        parser, vector = self.columns[name]
        preset = PRESETS.get(parser)
        by = f" by {vector}" if len(self.asked_by) > 1 else ""
        return Column(
            name=name,
            title=f"{preset.title}{by}" if preset else name,
            parser=_configuration(self.parsers[parser]),
            statistics=self._statistics_of(parser),
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
            equal_size=self.sizing.target if self.sizing else None,
        )

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
    failure = (
        error
        if isinstance(error, RagNodesError)
        else RagNodesError(f"{type(error).__name__}: {error}")
    )
    logger.warning("%s: %s", name, failure)
    return failure


def _configuration(parser: SpanNodeParser) -> dict[str, Any]:
    """The parser's plain options, also those of its levels; what could hold a key is left out."""
    options = {
        field: getattr(parser, field)
        for field in type(parser).model_fields
        if field != "path"  # of a machine's user, who may have typed anything into it
        and isinstance(getattr(parser, field), str | int | float | bool | dict)
    }
    return {"class": parser.class_name(), "fingerprint": parser.fingerprint, **options}
