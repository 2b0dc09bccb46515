"""Filters and the searches of a question, in the terms of a client of Qdrant: there are two.

The models of qdrant-client and of the engine in process have the same names for the most part;
`Terms` names the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.spelling import quoted
from rag_nodes.store.bm25 import query_vectors
from rag_nodes.store.conditions import Condition, OneOf, Together, Where, are_texts
from rag_nodes.store.fusion import SAMPLE, Rest, Scores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

    from rag_nodes.store.engine import Layout
    from rag_nodes.store.queries import Query

_EXACT = 2**53
"""Whole numbers below this one are the same as floats."""
_BOUNDS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
DRAWN = "drawn"
"""Candidates that are not ranked: the first by their ids, which are hashes, so that they are as
good as drawn, and the same every time."""


def where_of(chosen: MetadataFilters | None) -> Where | None:
    """Return LlamaIndex's filters as a condition; None if they let everything pass.

    All operators are known. A list passes where one of its values does, and by `!=` and `nin` where
    none of them is excluded. A chunk without the key passes none but `IS_EMPTY`. Numbers are equal
    as in Python: 2 and 2.0 are.

    Raises:
        ConfigurationError: the operator is unknown, or a value no finite number.
    """
    from llama_index.core.vector_stores.types import MetadataFilters

    if chosen is None or not chosen.filters:
        return None
    each = [
        where_of(filter_) if isinstance(filter_, MetadataFilters) else _where(filter_)
        for filter_ in chosen.filters
    ]
    hows: dict[str, Literal["must", "should", "must_not"]] = {"or": "should", "not": "must_not"}
    how = hows.get(chosen.condition or "and", "must")
    parts = tuple(condition for condition in each if condition is not None)
    return Together(how, parts) if parts else None


def _where(given: MetadataFilter) -> Where:
    key, how, value = given.key, given.operator.value, given.value
    _check_finite(key, how, value)
    match how:
        case "==" | "contains":
            return Condition(key, "==", value)
        case "in" | "any":
            return Condition(key, "in", _listed(value))
        case "all":
            return Together(
                "must", tuple(Condition(key, "==", member) for member in _listed(value))
            )
        case "!=" | "nin":
            wanted = [value] if how == "!=" else _listed(value)
            none = Condition(key, "in", wanted), Condition(key, "is_empty", None)
            return Together("must_not", none)
        case "text_match" | "text_match_insensitive":
            return Condition(key, "text_match", value)
        case ">" | ">=" | "<" | "<=" | "is_empty":
            return Condition(key, how, value)
    raise _incomparable(key, how, value, "this operator is not known here")


def _check_finite(key: str, how: str, value: Any) -> None:
    """Refuse what is equal to nothing, not even to itself, and what JSON cannot hold."""
    for member in _listed(value):
        if isinstance(member, float) and not math.isfinite(member):
            raise _incomparable(key, how, value, f"{member} is not a finite number")


def _listed(value: Any) -> list[Any]:
    """Values of a list, or of a text with commas, as LlamaIndex's own stores read it."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return value.split(",") if isinstance(value, str) else [value]


def _incomparable(key: str, how: str, value: Any, why: object) -> ConfigurationError:
    return ConfigurationError(
        f"the filter on '{key}' cannot compare {quoted(value)} by {how} ({why})"
    )


class Terms(NamedTuple):
    """Builder of requests for a client of Qdrant: `classes` holds the classes both clients share.

    Conditions: a `range` of numbers or of `times` as texts, that a key is `empty`, a point `having`
    a vector of that name, or being `one_of` some nodes. Rankings: by what is `nearest` to a vector
    of that name, compared `exactly`, words `by_rarity`. `truth` makes
    truth values that the client does not take for numbers.
    """

    classes: Any
    range: Callable[..., Any]
    times: Callable[..., Any]
    empty: Callable[[str], Any]
    having: Callable[[str], Any]
    one_of: Callable[[Iterable[str]], Any]
    nearest: Callable[[Any, str], dict[str, Any]]
    exactly: Any
    by_rarity: Any = None
    truth: Callable[[bool], Any] = bool

    def filter(self, *asked: Any) -> Any:
        """A filter by conditions that all have to hold; None where there are none."""
        must = [condition for condition in asked if condition is not None]
        return self.classes.Filter(must=must) if must else None

    def condition(self, where: Where | None) -> Any:
        """Return a condition as a filter of Qdrant; None without a condition.

        Raises:
            ConfigurationError: a value is not of a type that the operator compares.
        """
        match where:
            case None:
                return None
            case OneOf(node_ids):
                return self.one_of(node_ids)
            case Together(how, parts):
                return self.classes.Filter(**{how: list(map(self.condition, parts))})
            case Condition(key, how, value):
                try:
                    return self._compared(key, how, value)
                except (TypeError, ValueError, OverflowError) as error:
                    raise _incomparable(key, how, value, error) from error

    def _compared(self, key: str, how: str, value: Any) -> Any:
        classes = self.classes
        match how:
            case "==":
                return self.equal(key, value)
            case "in" if are_texts(value):
                return classes.FieldCondition(key=key, match=classes.MatchAny(any=value))
            case "in":
                return classes.Filter(should=[self.equal(key, member) for member in value])
            case "text_match":
                return classes.FieldCondition(key=key, match=classes.MatchText(text=value))
            case "is_empty":
                return self.empty(key)
        kind = self.times if isinstance(value, str) else self.range
        return classes.FieldCondition(key=key, range=kind(**{_BOUNDS[how]: value}))

    def equal(self, key: str, value: Any) -> Any:
        """The condition that a key has a value."""
        if isinstance(value, bool):
            match = self.classes.MatchValue(value=self.truth(value))
            return self.classes.FieldCondition(key=key, match=match)
        if isinstance(value, float) or (isinstance(value, int) and abs(value) < _EXACT):
            return self.classes.FieldCondition(key=key, range=self.range(gte=value, lte=value))
        return self.classes.FieldCondition(key=key, match=self.classes.MatchValue(value=value))

    def lacking(self, dense: str, sparse: str, *asked: Any) -> Any:
        """A filter for the points that have an embedding of one name but no BM25 vector."""
        must = [self.having(dense), *(condition for condition in asked if condition is not None)]
        return self.classes.Filter(must=must, must_not=[self.having(sparse)])

    def rankings(self, layout: Layout, query: Query, chosen: Any) -> dict[str, dict[str, Any]]:
        """Return the rankings of a question, as arguments of requests; keywords need words."""
        rankings: dict[str, dict[str, Any]] = {}
        if query.mode != "sparse":
            vector = list(map(float, query.vector or ()))
            how = {"params": self.exactly, "filter": self.filter(chosen)}
            rankings["dense"] = {**self.nearest(vector, layout.dense), **how}
        if query.mode != "dense":
            (indices,), (values,) = query_vectors([query.text or ""])
            if indices:
                words = self.classes.SparseVector(indices=indices, values=values)
                how = {"params": self.by_rarity, "filter": self.filter(chosen)}
                rankings["sparse"] = {**self.nearest(words, layout.sparse or ""), **how}
        return rankings


def scores_in(
    query: Query, answers: Mapping[tuple[str, str], Mapping[str, float]], every: Callable[[], int]
) -> Scores:
    """Return the scores of searches, each completed by what only the other one found.

    `answers` are scores by id, by the ranking that scores and the one whose candidates these are,
    or `DRAWN`. `every` tells how many chunks may be found, where the answers do not hold all.
    """
    scores: dict[str, dict[str, float]] = {"dense": {}, "sparse": {}}
    drawn: dict[str, Mapping[str, float]] = {"dense": {}, "sparse": {}}
    for (kind, source), answer in answers.items():
        if source == DRAWN:
            drawn[kind] = answer
        else:
            scores[kind] |= answer
    ids = scores["dense"].keys() | scores["sparse"].keys()
    behind = drawn["dense"].keys() - ids
    is_whole = len(drawn["dense"]) < SAMPLE
    others = Rest(
        len(behind) if is_whole else every() - len(ids),
        [drawn["dense"][node_id] for node_id in behind],
        [drawn["sparse"].get(node_id, 0.0) for node_id in behind],
    )
    return Scores(
        None if query.mode == "sparse" else scores["dense"],
        None if query.mode == "dense" else scores["sparse"],
        others if behind else None,
    )
