"""What LlamaIndex asks of a vector store, read alike by both of ours."""

from __future__ import annotations

from dataclasses import fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from llama_index.core.vector_stores.types import VectorStoreQuery

from rag_nodes.errors import ConfigurationError
from rag_nodes.store.queries import Query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.store.queries import SearchMode

_ARGUMENTS = frozenset(one.name for one in fields(VectorStoreQuery))


def with_arguments(query: VectorStoreQuery, arguments: Mapping[str, Any]) -> VectorStoreQuery:
    """The query with what was given by keyword, such as `mmr_threshold`, in place of its own.

    Raises:
        ConfigurationError: a query has no such argument.
    """
    if unknown := sorted(arguments.keys() - _ARGUMENTS):
        raise ConfigurationError(
            f"this store has no query argument {unknown[0]!r}; it takes those of VectorStoreQuery: "
            f"{', '.join(sorted(_ARGUMENTS))}"
        )
    return replace(query, **arguments)


def hybrid_query(query: VectorStoreQuery) -> tuple[Query, float | None]:
    """What a hybrid query asks, and the weight of its dense ranking; None for the usual one.

    As in LlamaIndex, `alpha` 1 is dense search alone and 0 is search by words alone; that is what
    they are made here, to the last score.

    Raises:
        ConfigurationError: `alpha` is no number from 0 to 1, or embedding or text is missing.
    """
    alpha = fraction("alpha", query.alpha)
    alone: dict[float | None, SearchMode] = {0: "sparse", 1: "dense"}
    limit = query.hybrid_top_k or query.similarity_top_k
    mode = alone.get(alpha, "hybrid")
    return Query(query.query_embedding, query.query_str, limit, mode), alpha


def fraction(name: str, value: Any) -> float | None:
    """A number from 0 to 1; None where none was given.

    Args:
        name: of the argument, for the message.
        value: as given.

    Raises:
        ConfigurationError: it is none.
    """
    if value is None:
        return None
    given = float(value) if isinstance(value, Real) and not isinstance(value, bool) else -1.0
    if not 0 <= given <= 1:
        raise ConfigurationError(f"{name} is a number from 0 to 1, not {value!r}")
    return given
