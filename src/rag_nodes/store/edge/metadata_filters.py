"""LlamaIndex's metadata filters in the engine's terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import qdrant_edge as edge
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from rag_nodes.errors import ConfigurationError
from rag_nodes.store.filters import INDEXES, IndexKind


def metadata_conditions(filters: MetadataFilters | None) -> edge.Filter | None:
    """A tree of filters as the engine reads it; None where it lets everything pass.

    All operators of LlamaIndex are known. As with Qdrant, a chunk without the key passes none of
    them but `IS_EMPTY`, and what is none of them.

    Raises:
        ConfigurationError: a value is not of a type that the operator compares.
    """
    if filters is None or not filters.filters:
        return None
    inner = [one for given in filters.filters if (one := _condition(given)) is not None]
    if filters.condition == FilterCondition.OR:
        return edge.Filter(should=inner)
    if filters.condition == FilterCondition.NOT:
        return edge.Filter(must_not=inner)
    return edge.Filter(must=inner)


def indexes_for(filters: MetadataFilters | None) -> dict[str, IndexKind]:
    """The kind of index that each key needs which a tree of filters names, if one answers it.

    Of keys that are none of ours it is one of texts or none: an index of numbers or times would
    find other things where texts, numbers and times are under one key.
    """
    found: dict[str, IndexKind] = {}
    for given in filters.filters if filters else ():
        if isinstance(given, MetadataFilters):
            found.update(indexes_for(given))
        elif given.key in INDEXES:
            found[given.key] = INDEXES[given.key]
        elif given.operator in _WHOLE and _are_texts(given.value):
            found[given.key] = "keyword"
    return found


def _are_texts(value: Any) -> bool:
    return all(isinstance(one, str) for one in _listed(value))


def _condition(given: MetadataFilter | MetadataFilters) -> Any:
    if isinstance(given, MetadataFilters):
        return metadata_conditions(given)
    make = _OPERATORS.get(given.operator)
    if make is None:
        raise ConfigurationError(
            f"the filter on {given.key!r} has an operator that is not known here: {given.operator}"
        )
    try:
        return make(given.key, given.value)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"the filter on {given.key!r} cannot compare {given.value!r} by {given.operator.value} "
            f"({error})"
        ) from error


def _equal(key: str, value: Any) -> Any:
    if isinstance(value, float):
        return edge.FieldCondition(key=key, range=edge.RangeFloat(gte=value, lte=value))
    return edge.FieldCondition(key=key, match=edge.MatchValue(value=value))


def _range(name: str) -> Callable[[str, Any], Any]:
    """A comparison of numbers, or of times as texts such as 2026-11-22."""

    def compare(key: str, value: Any) -> Any:
        kind = edge.RangeDateTime if isinstance(value, str) else edge.RangeFloat
        return edge.FieldCondition(key=key, range=kind(**{name: value}))

    return compare


def _text(key: str, value: Any) -> Any:
    return edge.FieldCondition(key=key, match=edge.MatchText(text=value))


def _any(key: str, value: Any) -> Any:
    return edge.FieldCondition(key=key, match=edge.MatchAny(any=_listed(value)))


def _except(key: str, value: Any) -> Any:
    others = edge.FieldCondition(key=key, match=edge.MatchExcept(_listed(value)))
    if not _are_texts(value):
        return others
    # By an index of texts, others are other texts only, and what is none of them is left out.
    none = edge.Filter(must_not=[_any(key, value), _empty(key, value)])
    return edge.Filter(should=[others, none])


def _all(key: str, value: Any) -> Any:
    return edge.Filter(must=[_equal(key, one) for one in _listed(value)])


def _empty(key: str, _: Any) -> Any:
    return edge.IsEmptyCondition(key)


def _listed(value: Any) -> list[Any]:
    """Values of a list, or of a text with commas, as LlamaIndex's own stores read it."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return str(value).split(",") if isinstance(value, str) else [value]


def _one(key: str, value: Any) -> Any:
    return _except(key, [value])


_OPERATORS: dict[FilterOperator, Callable[[str, Any], Any]] = {
    FilterOperator.EQ: _equal,
    FilterOperator.NE: _one,
    FilterOperator.GT: _range("gt"),
    FilterOperator.GTE: _range("gte"),
    FilterOperator.LT: _range("lt"),
    FilterOperator.LTE: _range("lte"),
    FilterOperator.IN: _any,
    FilterOperator.NIN: _except,
    FilterOperator.ANY: _any,
    FilterOperator.ALL: _all,
    FilterOperator.CONTAINS: _equal,
    FilterOperator.TEXT_MATCH: _text,
    FilterOperator.TEXT_MATCH_INSENSITIVE: _text,
    FilterOperator.IS_EMPTY: _empty,
}

_WHOLE = {
    *(FilterOperator.EQ, FilterOperator.NE, FilterOperator.IN, FilterOperator.NIN),
    *(FilterOperator.ANY, FilterOperator.ALL, FilterOperator.CONTAINS),
}
"""Operators that compare whole values."""
