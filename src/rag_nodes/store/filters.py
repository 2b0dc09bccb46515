"""Which chunks a search may find, in terms of files, pages and headings."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.metadata import (
    ALSO_AT,
    BREADCRUMB,
    FILE_NAME,
    HEADING_PATH,
    PAGE_END,
    PAGE_START,
    SOURCE,
)
from rag_nodes.core.several import several
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode

DOCUMENT_ID = "doc_id"
"""Payload key under which LlamaIndex stores the id of a node's document."""

HEADING_LEVELS = 6
"""Headings a path holds at most: Markdown, HTML and our readers know no more levels."""

IndexKind = Literal["keyword", "integer", "text"]
"""How values of a key are looked up: as whole texts, whole numbers, or words of texts."""

INDEXES: dict[str, IndexKind] = {
    DOCUMENT_ID: "keyword",
    SOURCE: "keyword",
    ALSO_AT: "keyword",
    FILE_NAME: "keyword",
    PAGE_START: "integer",
    PAGE_END: "integer",
    BREADCRUMB: "text",
    **{f"{HEADING_PATH}[{depth}]": "keyword" for depth in range(HEADING_LEVELS)},
}
"""Every payload key that a filter may name, and the kind of index it needs.

A server in strict mode, which is what Qdrant Cloud runs, refuses a filter on any other key; and
without an index words are compared as parts of words.
"""


class Condition(NamedTuple):
    """That what is under a key of a payload, or one of a list there, compares with a value.

    Operators are "==", "in", "<", "<=", ">", ">=", "text_match" (all words are there) and
    "is_empty" (nothing is there), as LlamaIndex calls them.
    """

    key: str
    operator: str
    value: Any


class OneOf(NamedTuple):
    """That a node is one of some, by id."""

    node_ids: Collection[str]


class Together(NamedTuple):
    """That all of some conditions hold ("must"), one does ("should"), or none ("must_not")."""

    how: Literal["must", "should", "must_not"]
    parts: tuple[Where, ...]


Where = Condition | OneOf | Together
"""Which nodes are meant, in terms of no engine; None for all."""


def all_of(*chosen: Where | None) -> Where | None:
    """That everything which is asked holds; None asks nothing."""
    parts = tuple(one for one in chosen if one is not None)
    return parts[0] if len(parts) == 1 else Together("must", parts) if parts else None


def none_of(*chosen: Where) -> Where:
    """That nothing holds of what is named."""
    return Together("must_not", chosen)


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions a chunk must meet, all of them; none of them set means every chunk.

    Attributes:
        file_name: name of its file, whole.
        pages: first and last page, counted from 1; a chunk that touches one of them is in.
        heading: words that the headings above its first character must contain; whole words in
            any order and case.
        heading_path: its outermost headings, exactly, outermost first.
        document_ids: ids of documents; None for all.
        source: where its document came from, whole: the URL of a page of a crawl, also one at which
            the same text was found, or the path of a file.

    Raises:
        ConfigurationError: a value is of the wrong type, the pages are not a range from 1 up, a
            text is blank, or the path has more than `HEADING_LEVELS` headings.

    Examples:
        >>> from rag_nodes import Filter
        >>> Filter(file_name="manual.pdf", pages=(3, 9)).pages
        (3, 9)
    """

    file_name: str | None = None
    pages: tuple[int, int] | None = None
    heading: str | None = None
    heading_path: str | tuple[str, ...] = ()
    document_ids: str | Sequence[str] | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        """Check what would silently find nothing, or fail far from where it was written."""
        for name in ("file_name", "heading", "source"):
            text = getattr(self, name)
            _check(text is None or isinstance(text, str), name, "a text", text)
            if text is not None and not text.strip():
                raise ConfigurationError(f"the filter's {name} is blank; leave it out for all")
        for name in ("heading_path", "document_ids"):
            texts = several(getattr(self, name))
            object.__setattr__(self, name, texts)
            _check(texts is None or are_texts(texts), name, "a list of texts", texts)
        if len(self.heading_path) > HEADING_LEVELS:
            raise ConfigurationError(
                f"the filter's heading_path has {len(self.heading_path)} headings and no chunk has "
                f"more than {HEADING_LEVELS} above it; leave the innermost out"
            )
        if self.pages is None:
            return
        wanted = "the first and the last one, such as (3, 9)"
        _check(_are_two_numbers(self.pages), "pages", wanted, self.pages)
        first, last = self.pages
        if not 1 <= first <= last:
            raise ConfigurationError(
                f"pages {first} to {last} are no range; pages count from 1 and the first must not "
                "exceed the last"
            )

    def within(self, document_ids: str | Sequence[str] | None) -> Filter:
        """This filter for some documents only; None changes nothing."""
        if document_ids is None:
            return self
        document_ids = several(document_ids)
        if self.document_ids is not None:
            document_ids = [one for one in document_ids if one in set(self.document_ids)]
        return replace(self, document_ids=document_ids)

    def where(self) -> Where | None:
        """What it asks of a payload; None where every chunk passes."""
        asked: list[Where] = []
        if self.document_ids is not None:
            asked.append(Condition(DOCUMENT_ID, "in", list(self.document_ids)))
        if self.file_name is not None:
            asked.append(Condition(FILE_NAME, "==", self.file_name))
        if self.source is not None:
            places = (Condition(key, "==", self.source) for key in (SOURCE, ALSO_AT))
            asked.append(Together("should", tuple(places)))
        if self.pages is not None:
            asked.append(Condition(PAGE_START, "<=", self.pages[1]))
            asked.append(Condition(PAGE_END, ">=", self.pages[0]))
        if self.heading is not None:
            asked.append(Condition(BREADCRUMB, "text_match", self.heading))
        for depth, heading in enumerate(self.heading_path):
            asked.append(Condition(f"{HEADING_PATH}[{depth}]", "==", heading))
        return all_of(*asked)

    def passes(self, node: BaseNode) -> bool:
        """Whether a node meets every condition, judged as Qdrant does."""
        payload = {**node.metadata, DOCUMENT_ID: node.ref_doc_id}
        return holds(self.where(), node.node_id, payload)


def holds(where: Where | None, node_id: str, payload: Mapping[str, Any]) -> bool:
    """Whether a node is meant, judged as Qdrant does; for engines that cannot filter themselves."""
    match where:
        case None:
            return True
        case OneOf(node_ids):
            return node_id in node_ids
        case Together(how, parts):
            each = (holds(part, node_id, payload) for part in parts)
            return all(each) if how == "must" else any(each) == (how == "should")
        case Condition(key, "in", wanted):
            return any(holds(Condition(key, "==", one), node_id, payload) for one in wanted)
        case Condition(key, how, wanted):
            found = _values(payload, key)
            if how == "is_empty":
                return not found
            # What is of another kind passes nothing.
            kind = int | float if isinstance(wanted, int | float) else str
            compare = _COMPARED[how]
            return any(isinstance(one, kind) and compare(one, wanted) for one in found)


def keys_of(where: Where | None) -> dict[str, IndexKind]:
    """Each key by which some nodes are meant, with the kind of index that answers it, if one does.

    Of keys that are none of ours it is one of texts or none: an index of numbers or times would
    find other things where texts, numbers and times are under one key.
    """
    match where:
        case Together(_, parts):
            return {key: kind for part in parts for key, kind in keys_of(part).items()}
        case Condition(key, _, _) if key in INDEXES:
            return {key: INDEXES[key]}
        case Condition(key, "==" | "in", value) if are_texts(
            value if isinstance(value, list) else [value]
        ):
            return {key: "keyword"}
    return {}


_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "text_match": lambda text, wanted: set(words(wanted)) <= set(words(text)),
}


def _values(payload: Mapping[str, Any], key: str) -> list[Any]:
    """What is under a key, or under a key of ours with a place in its list."""
    name, bracket, place = key.partition("[")
    found = payload.get(name)
    if bracket and isinstance(found, list):
        found = found[int(place[:-1]) :][:1]
    return found if isinstance(found, list) else [] if found is None else [found]


def _check(holds: bool, name: str, wanted: str, value: object) -> None:  # noqa: FBT001 -- what is checked
    if not holds:
        raise ConfigurationError(f"the filter's {name} must be {wanted}, not {value!r}")


def are_texts(value: object) -> bool:
    """Whether it holds texts and nothing else."""
    return (
        isinstance(value, Collection)
        and not isinstance(value, str | bytes)
        and all(isinstance(one, str) for one in value)
    )


def _are_two_numbers(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and len(value) == 2  # noqa: PLR2004 - first and last
        and all(type(one) is int for one in value)
    )
