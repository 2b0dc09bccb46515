"""What every way of asking a comparison shares: its engines, and the columns of its reports."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from rag_nodes.compare.report import Column
from rag_nodes.errors import RagNodesError, StoreError
from rag_nodes.parsers import PRESETS
from rag_nodes.pipeline import ParserOutcome
from rag_nodes.query import RagNodesQueryEngine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.compare.comparison import Comparison
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.query import Answer

logger = logging.getLogger(__name__)


def engine_of(
    comparison: Comparison, name: str, document_ids: Sequence[str] | None
) -> RagNodesQueryEngine:
    """The engine of one parser.

    Raises:
        StoreError: ingestion left the parser without a single chunk, and why.
    """
    known = comparison.statistics.get(name)
    if known and not known.chunks and (why := known.error or _nothing_read(comparison, name)):
        raise StoreError(why)
    return RagNodesQueryEngine(
        store=comparison.store,
        collection=comparison.collection(name),
        models=comparison.models,
        parser_name=name,
        document_ids=document_ids,
        prompt=comparison.prompt,
        options=comparison.options,
        vectors=comparison.vectors,
    )


def column_of(
    comparison: Comparison,
    name: str,
    answer: Answer | None,
    error: str | None,
    seconds: dict[str, float],
) -> Column:
    """One parser's answer, or why there is none, with its configuration and statistics.

    Args:
        comparison: the parser's.
        name: of the parser.
        answer: None when it failed.
        error: None when it answered.
        seconds: "embed" and "total", which the answer itself does not know.
    """
    return Column(
        name=name,
        title=_title(name),
        parser=_configuration(comparison.parsers[name]),
        statistics=_statistics_of(comparison, name),
        answer=answer,
        error=error,
        seconds={**(answer.seconds if answer else {}), **seconds},
    )


def as_failure(name: str, error: Exception) -> RagNodesError:
    """Any exception as one of ours, noted in the log: a column must never take others down."""
    failure = (
        error
        if isinstance(error, RagNodesError)
        else RagNodesError(f"{type(error).__name__}: {error}")
    )
    logger.warning("%s: %s", name, failure)
    return failure


def _nothing_read(comparison: Comparison, name: str) -> str | None:
    """Why there is nothing to search; None where an earlier run has stored something."""
    failed = [file for file in comparison.files if file.status == "failed"]
    if not failed or comparison.store.count(comparison.collection(name)):
        return None
    return f"there is nothing to search, because nothing could be read: {failed[0].error}"


def _statistics_of(comparison: Comparison, name: str) -> ParserOutcome:
    """The chunks of this run; without one, at least how many are stored."""
    known = comparison.statistics.get(name)
    if known is not None:
        return known
    collection = comparison.collection(name)
    try:
        chunks = comparison.store.count(collection)
    except RagNodesError as error:
        return ParserOutcome(name, collection, error=str(error))
    return ParserOutcome(name, collection, chunks=chunks, unchanged=chunks)


def _title(name: str) -> str:
    preset = PRESETS.get(name)
    return preset.title if preset else name


def _configuration(parser: SpanNodeParser) -> dict[str, Any]:
    """The parser's plain options, also those of its levels; what could hold a key is left out."""
    options = {
        field: getattr(parser, field)
        for field in type(parser).model_fields
        if isinstance(getattr(parser, field), str | int | float | bool | dict)
    }
    return {"class": parser.class_name(), "fingerprint": parser.fingerprint, **options}
