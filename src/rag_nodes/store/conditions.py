"""Filters, ours and LlamaIndex's, in the terms of a client of Qdrant: there are two, much alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.errors import ConfigurationError
from rag_nodes.store.filters import INDEXES, Filter

if TYPE_CHECKING:
    from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

    from rag_nodes.store.filters import IndexKind

_EXACT = 2**53
"""Whole numbers below this one are the same as floats."""
_BOUNDS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_BY_INDEX_OF_TEXTS = {"==", "!=", "in", "nin", "any", "all", "contains"}
"""Operators that compare whole values."""


class FilterTerms(NamedTuple):
    """What a client of Qdrant builds filters of; classes that have the same name in all are its.

    Attributes:
        classes: module of the client, with `Filter`, `FieldCondition`, `MatchValue`, `MatchAny`,
            and `MatchText`.
        range: of numbers.
        times: range of times, as texts such as 2026-11-22.
        empty: the condition that nothing is under a key.
    """

    classes: Any
    range: Callable[..., Any]
    times: Callable[..., Any]
    empty: Callable[[str], Any]

    def conditions(self, chosen: Filter | MetadataFilters | None) -> Any:
        """A filter in these terms; None where it lets everything pass.

        All operators of LlamaIndex are known. A list passes where one of its values does, and by
        `!=` and `nin` where none of them is excluded. A chunk without the key passes none but
        `IS_EMPTY`. Numbers are equal as in Python: 2 and 2.0 are.

        Raises:
            ConfigurationError: a value is not of a type that the operator compares, or no finite
                number.
        """
        if isinstance(chosen, Filter):
            asked = [self._one_holds(*one) for one in chosen.conditions()]
            return self.classes.Filter(must=asked) if asked else None
        if chosen is None or not chosen.filters:
            return None
        inner = [found for one in chosen.filters if (found := self._condition(one)) is not None]
        how = {"or": "should", "not": "must_not"}.get(chosen.condition or "and", "must")
        return self.classes.Filter(**{how: inner})

    def _one_holds(self, keys: Sequence[str], how: str, value: Any) -> Any:
        return self.classes.Filter(should=[self._compared(key, how, value) for key in keys])

    def _condition(self, given: MetadataFilter | MetadataFilters) -> Any:
        from llama_index.core.vector_stores.types import MetadataFilters

        if isinstance(given, MetadataFilters):
            return self.conditions(given)
        try:
            _check_finite(given.value)
            return self._compared(given.key, given.operator.value, given.value)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(
                f"the filter on {given.key!r} cannot compare {given.value!r} by "
                f"{given.operator.value} ({error})"
            ) from error

    def _compared(self, key: str, how: str, value: Any) -> Any:  # noqa: PLR0911 -- one an operator
        """The condition that what is under a key compares with a value; see LlamaIndex."""
        classes = self.classes
        match how:
            case ">" | ">=" | "<" | "<=":
                kind = self.times if isinstance(value, str) else self.range
                bound = kind(**{_BOUNDS[how]: value})
                return classes.FieldCondition(key=key, range=bound)
            case "text_match" | "text_match_insensitive":
                return classes.FieldCondition(key=key, match=classes.MatchText(text=value))
            case "is_empty":
                return self.empty(key)
            case "==" | "contains":
                return self.equal(key, value)
            case "all":
                return classes.Filter(must=[self.equal(key, one) for one in _listed(value)])
            case "in" | "any":
                return self._one_of(key, _listed(value))
            case "!=" | "nin":
                none = self._one_of(key, [value] if how == "!=" else _listed(value))
                return classes.Filter(must_not=[none, self.empty(key)])
        raise ValueError("this operator is not known here")

    def equal(self, key: str, value: Any) -> Any:
        """The condition that a key has a value."""
        if isinstance(value, float) or (isinstance(value, int) and abs(value) < _EXACT):
            return self.classes.FieldCondition(key=key, range=self.range(gte=value, lte=value))
        return self.classes.FieldCondition(key=key, match=self.classes.MatchValue(value=value))

    def _one_of(self, key: str, values: list[Any]) -> Any:
        """The condition that a key has one of several values."""
        if _are_texts(values):
            return self.classes.FieldCondition(key=key, match=self.classes.MatchAny(any=values))
        return self.classes.Filter(should=[self.equal(key, one) for one in values])


def indexes_for(chosen: Filter | MetadataFilters | None) -> dict[str, IndexKind]:
    """The kind of index that each key needs which a filter names, if one answers it.

    Of keys that are none of ours it is one of texts or none: an index of numbers or times would
    find other things where texts, numbers and times are under one key.
    """
    from llama_index.core.vector_stores.types import MetadataFilters

    if isinstance(chosen, Filter):
        return {key: INDEXES[key] for one in chosen.conditions() for key in one.keys}
    found: dict[str, IndexKind] = {}
    for given in chosen.filters if chosen else ():
        if isinstance(given, MetadataFilters):
            found.update(indexes_for(given))
        elif given.key in INDEXES:
            found[given.key] = INDEXES[given.key]
        elif given.operator in _BY_INDEX_OF_TEXTS and _are_texts(_listed(given.value)):
            found[given.key] = "keyword"
    return found


def _are_texts(values: Sequence[Any]) -> bool:
    return all(isinstance(one, str) for one in values)


def _check_finite(value: Any) -> None:
    """Refuse what is equal to nothing, not even to itself, and what JSON cannot hold."""
    for one in _listed(value):
        if isinstance(one, float) and not math.isfinite(one):
            raise ValueError(f"{one} is no finite number")


def _listed(value: Any) -> list[Any]:
    """Values of a list, or of a text with commas, as LlamaIndex's own stores read it."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return str(value).split(",") if isinstance(value, str) else [value]
