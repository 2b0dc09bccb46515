"""Filters, ours and LlamaIndex's, in the terms of a client of Qdrant: there are two, much alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import (
    ALSO_AT,
    BREADCRUMB,
    FILE_NAME,
    HEADING_PATH,
    PAGE_END,
    PAGE_START,
    SOURCE,
)
from rag_nodes.store.filters import DOCUMENT_ID, INDEXES, Filter

if TYPE_CHECKING:
    from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

    from rag_nodes.store.filters import IndexKind

_EXACT = 2**53
"""Whole numbers below this one are the same as floats."""
_BY_INDEX_OF_TEXTS = {"==", "!=", "in", "nin", "any", "all", "contains"}
"""Operators that compare whole values."""


class FilterTerms(NamedTuple):
    """What a client of Qdrant builds filters of; classes that have the same name in all are its.

    Attributes:
        classes: module of the client, with `Filter`, `FieldCondition`, `MatchValue`, `MatchAny`,
            and `MatchText`.
        range: of numbers.
        times: range of times, as texts such as 2026-11-22.
        other: match of values that are none of several.
        empty: the condition that nothing is under a key.
    """

    classes: Any
    range: Callable[..., Any]
    times: Callable[..., Any]
    other: Callable[[list[Any]], Any]
    empty: Callable[[str], Any]

    def conditions(self, chosen: Filter | MetadataFilters | None) -> Any:
        """A filter in these terms; None where it lets everything pass.

        All operators of LlamaIndex are known. As with Qdrant, a chunk without the key passes none
        of them but `IS_EMPTY`, and what is none of them. Numbers are equal as in Python: 2 and 2.0
        are.

        Raises:
            ConfigurationError: a value is not of a type that the operator compares, or no finite
                number.
        """
        tree = _tree(chosen)
        if tree is None or not tree.filters:
            return None
        inner = [found for one in tree.filters if (found := self._condition(one)) is not None]
        how = {"or": "should", "not": "must_not"}.get(tree.condition or "and", "must")
        return self.classes.Filter(**{how: inner})

    def _condition(self, given: MetadataFilter | MetadataFilters) -> Any:
        from llama_index.core.vector_stores.types import MetadataFilters

        if isinstance(given, MetadataFilters):
            return self.conditions(given)
        make = _OPERATORS.get(given.operator)
        if make is None:
            raise ConfigurationError(
                f"the filter on {given.key!r} has an operator that is not known here: "
                f"{given.operator}"
            )
        try:
            _check_finite(given.value)
            return make(self, given.key, given.value)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(
                f"the filter on {given.key!r} cannot compare {given.value!r} by "
                f"{given.operator.value} ({error})"
            ) from error

    def equal(self, key: str, value: Any) -> Any:
        """The condition that a key has a value."""
        if isinstance(value, float) or (isinstance(value, int) and abs(value) < _EXACT):
            return self.classes.FieldCondition(key=key, range=self.range(gte=value, lte=value))
        return self.classes.FieldCondition(key=key, match=self.classes.MatchValue(value=value))

    def compared(self, key: str, value: Any, how: str) -> Any:
        """A comparison of numbers, or of times as texts."""
        kind = self.times if isinstance(value, str) else self.range
        return self.classes.FieldCondition(key=key, range=kind(**{how: value}))

    def words(self, key: str, value: Any) -> Any:
        """The condition that a text has all words of another one."""
        return self.classes.FieldCondition(key=key, match=self.classes.MatchText(text=value))

    def one_of(self, key: str, value: Any) -> Any:
        """The condition that a key has one of several values."""
        if _are_texts(value):
            return self.classes.FieldCondition(
                key=key, match=self.classes.MatchAny(any=_listed(value))
            )
        return self.classes.Filter(should=[self.equal(key, one) for one in _listed(value)])

    def none_of(self, key: str, value: Any) -> Any:
        """The condition that a key has another value, or a list with one, or nothing of these."""
        none = self.classes.Filter(must_not=[self.one_of(key, value), self.empty(key)])
        if _are_texts(value):
            # By an index of texts, others are other texts only: what is none of them is left out.
            others = [self.classes.FieldCondition(key=key, match=self.other(_listed(value)))]
        else:
            bounds = sorted(set(_listed(value)))
            between = [
                self.range(lt=bounds[0]),
                *(self.range(gt=first, lt=second) for first, second in pairwise(bounds)),
                self.range(gt=bounds[-1]),
            ]
            others = [self.classes.FieldCondition(key=key, range=one) for one in between]
        return self.classes.Filter(should=[*others, none])

    def all_of(self, key: str, value: Any) -> Any:
        """The condition that a key has a list with all of several values."""
        return self.classes.Filter(must=[self.equal(key, one) for one in _listed(value)])


_OPERATORS: Mapping[str, Callable[[FilterTerms, str, Any], Any]] = {
    "==": FilterTerms.equal,
    "contains": FilterTerms.equal,
    "!=": lambda terms, key, value: terms.none_of(key, [value]),
    ">": lambda terms, key, value: terms.compared(key, value, "gt"),
    ">=": lambda terms, key, value: terms.compared(key, value, "gte"),
    "<": lambda terms, key, value: terms.compared(key, value, "lt"),
    "<=": lambda terms, key, value: terms.compared(key, value, "lte"),
    "in": FilterTerms.one_of,
    "any": FilterTerms.one_of,
    "nin": FilterTerms.none_of,
    "all": FilterTerms.all_of,
    "text_match": FilterTerms.words,
    "text_match_insensitive": FilterTerms.words,
    "is_empty": lambda terms, key, _: terms.empty(key),
}
"""By what LlamaIndex calls them: it is imported with the first filter, and not to open a store."""


def indexes_for(chosen: Filter | MetadataFilters | None) -> dict[str, IndexKind]:
    """The kind of index that each key needs which a filter names, if one answers it.

    Of keys that are none of ours it is one of texts or none: an index of numbers or times would
    find other things where texts, numbers and times are under one key.
    """
    from llama_index.core.vector_stores.types import MetadataFilters

    found: dict[str, IndexKind] = {}
    tree = _tree(chosen)
    for given in tree.filters if tree else ():
        if isinstance(given, MetadataFilters):
            found.update(indexes_for(given))
        elif given.key in INDEXES:
            found[given.key] = INDEXES[given.key]
        elif given.operator in _BY_INDEX_OF_TEXTS and _are_texts(given.value):
            found[given.key] = "keyword"
    return found


def _tree(chosen: Filter | MetadataFilters | None) -> MetadataFilters | None:
    """Either filter as LlamaIndex spells it; None where it lets everything pass."""
    if not isinstance(chosen, Filter):
        return chosen
    if chosen == Filter():
        return None
    from llama_index.core.vector_stores.types import MetadataFilters

    return MetadataFilters(filters=list(_parts(chosen)))


def _parts(chosen: Filter) -> Iterator[MetadataFilter | MetadataFilters]:
    """What a filter of ours asks of the payload."""
    from llama_index.core.vector_stores.types import (
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
    )

    if chosen.document_ids is not None:
        ids = list(chosen.document_ids)
        yield MetadataFilter(key=DOCUMENT_ID, value=ids, operator=FilterOperator.IN)
    if chosen.file_name is not None:
        yield MetadataFilter(key=FILE_NAME, value=chosen.file_name)
    if chosen.source is not None:
        yield MetadataFilters(
            filters=[MetadataFilter(key=key, value=chosen.source) for key in (SOURCE, ALSO_AT)],
            condition=FilterCondition.OR,
        )
    if chosen.pages is not None:
        first, last = chosen.pages
        yield MetadataFilter(key=PAGE_START, value=last, operator=FilterOperator.LTE)
        yield MetadataFilter(key=PAGE_END, value=first, operator=FilterOperator.GTE)
    if chosen.heading is not None:
        words = chosen.heading
        yield MetadataFilter(key=BREADCRUMB, value=words, operator=FilterOperator.TEXT_MATCH)
    for depth, heading in enumerate(chosen.heading_path):
        yield MetadataFilter(key=f"{HEADING_PATH}[{depth}]", value=heading)


def _are_texts(value: Any) -> bool:
    return all(isinstance(one, str) for one in _listed(value))


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
