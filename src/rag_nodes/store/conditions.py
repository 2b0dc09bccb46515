"""Conditions on payloads of nodes, in terms of no engine, and how they are judged."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from rag_nodes.core.metadata import (
    ALSO_AT,
    BREADCRUMB,
    FILE_NAME,
    HEADING_PATH,
    HEADINGS_INSIDE,
    PAGE_END,
    PAGE_START,
    SOURCE,
)
from rag_nodes.text.words import words

_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?")
"""Times as stores read them: a date, alone or with a time of day."""

DOCUMENT_ID = "doc_id"
"""Payload key under which LlamaIndex stores the id of a node's document."""

HEADING_LEVELS = 6
"""Headings a path holds at most: Markdown, HTML and our readers know no more levels."""

PATHS_INSIDE = f"{HEADINGS_INSIDE}[][1]"
"""Paths of the headings inside a node. A text index joins all of them: the words that it finds may
be words of several headings."""

IndexKind = Literal["keyword", "integer", "text", "float", "bool", "datetime", "any"]
"""Lookup of a key's values: as whole texts, whole numbers, words of texts, numbers, truth
values or times. Any index answers if a key is absent."""

INDEXES: dict[str, IndexKind] = {
    DOCUMENT_ID: "keyword",
    SOURCE: "keyword",
    ALSO_AT: "keyword",
    FILE_NAME: "keyword",
    PAGE_START: "integer",
    PAGE_END: "integer",
    BREADCRUMB: "text",
    PATHS_INSIDE: "text",
    HEADINGS_INSIDE: "text",
    **{f"{HEADING_PATH}[{depth}]": "keyword" for depth in range(HEADING_LEVELS)},
}
"""Every payload key that a filter may name, and the kind of index it needs.

A server in strict mode, which is what Qdrant Cloud runs, refuses a filter on any other key; and
without an index words are compared as parts of words.
"""


class Condition(NamedTuple):
    """Condition on the value under a key of a payload, or on any value of a list there.

    Operators are "==", "in", "<", "<=", ">", ">=", "text_match" (all words are there) and
    "is_empty" (nothing is there), as LlamaIndex calls them.
    """

    key: str
    operator: str
    value: Any


class OneOf(NamedTuple):
    """Condition that a node has one of these ids."""

    node_ids: Collection[str]


class Together(NamedTuple):
    """Condition that all conditions hold ("must"), at least one ("should") or none ("must_not")."""

    how: Literal["must", "should", "must_not"]
    parts: tuple[Where, ...]


Where = Condition | OneOf | Together
"""Selection of nodes, independent of any engine; None for all."""


def all_of(*chosen: Where | None) -> Where | None:
    """Return the condition that all given ones hold; None asks nothing."""
    parts = tuple(condition for condition in chosen if condition is not None)
    return parts[0] if len(parts) == 1 else Together("must", parts) if parts else None


def none_of(*chosen: Where) -> Where:
    """Return the condition that none of the given ones holds."""
    return Together("must_not", chosen)


def holds(where: Where | None, node_id: str, payload: Mapping[str, Any]) -> bool:
    """Return True if a node meets a condition, as Qdrant judges; for engines that cannot filter."""
    match where:
        case None:
            return True
        case OneOf(node_ids):
            return node_id in node_ids
        case Together(how, parts):
            each = (holds(part, node_id, payload) for part in parts)
            return all(each) if how == "must" else any(each) == (how == "should")
        case Condition(key, "in", wanted):
            return any(holds(Condition(key, "==", value), node_id, payload) for value in wanted)
        case Condition(key, how, wanted):
            values = _values(payload, key)
            if how == "is_empty":
                return not values
            # What is of another kind passes nothing.
            kind, compare = _kind_of(wanted), _COMPARED[how]
            same = [stored for stored in values if kind and _kind_of(stored) is kind]
            if kind is str and how in _ORDERED:
                wanted = time_in(wanted)
                same = [time for time in map(time_in, same) if time]
            return any(compare(stored, wanted) for stored in same)


def keys_of(where: Where | None) -> dict[str, IndexKind]:
    """Return the keys that a condition names, each with the kind of index that answers it."""
    match where:
        case Together(_, parts):
            kinds: dict[str, IndexKind] = {}
            for key, kind in (pair for part in parts for pair in keys_of(part).items()):
                if kind != "any" or key not in kinds:
                    kinds[key] = kind
            return kinds
        case Condition(key, _, _) if key in INDEXES:
            return {key: INDEXES[key]}
        case Condition(key, how, value) if answering := _kind_for(how, value):
            return {key: answering}
    return {}


def _kind_for(how: str, value: Any) -> IndexKind | None:
    """Return the kind of index that answers a comparison; None for values of several kinds."""
    if how == "is_empty":
        return "any"
    values = value if isinstance(value, list) else [value]
    kinds = {_kind_of(value) for value in values}
    if kinds == {str} and how != "text_match":
        return "keyword" if how in {"==", "in"} else "datetime"
    return "bool" if kinds == {bool} else "float" if kinds == {float} else None


def _kind_of(value: object) -> type | None:
    """Return what a value compares with: 2 equals 2.0 as in Python, and true is not 1."""
    kinds = {str: str, bool: bool, int: float, float: float}
    return kinds.get(type(value))


def has_words(text: str, wanted: str) -> bool:
    """Return True if a text has all words of another, in any order and case."""
    return set(words(wanted)) <= set(words(text))


_ORDERED = frozenset({"<", "<=", ">", ">="})
"""Comparisons by which texts are times."""
_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "text_match": has_words,
}


def _values(payload: Mapping[str, Any], key: str) -> list[Any]:
    """Return what is under a key, which may be quoted, or in places of a list of ours.

    A path of headings in such a place is one text.
    """
    name, *places = [key[1:-1]] if key[0] == '"' else key.replace("]", "").split("[")
    values = payload.get(name)
    if not places:
        return values if isinstance(values, list) else [] if values is None else [values]
    found = [values]
    for place in places:
        lists = (value for value in found if isinstance(value, list))
        found = [part for own in lists for part in (own[int(place) :][:1] if place else own)]
    return [" > ".join(map(str, part)) if isinstance(part, list) else part for part in found]


def are_texts(value: object) -> bool:
    """Return True if all values are texts."""
    return (
        isinstance(value, Collection)
        and not isinstance(value, str | bytes)
        and all(isinstance(text, str) for text in value)
    )


def time_in(text: str) -> datetime | None:
    """Return the time that a text states, in UTC unless it says otherwise; None if it is none.

    >>> from rag_nodes.store.conditions import time_in
    >>> str(time_in("2024-05-01")), time_in("May 2024")
    ('2024-05-01 00:00:00+00:00', None)
    """
    if not _TIME.fullmatch(text):
        return None
    try:
        time = datetime.fromisoformat(text)
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    except ValueError:
        return None
