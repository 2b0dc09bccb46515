"""The reason why a filter finds nothing: a metadata key or a file that no chunk has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import NAME_KEYS, ConfigurationError
from rag_nodes.core.foreign_metadata import usable_metadata
from rag_nodes.core.metadata import BREADCRUMB, FILE_NAME, HEADINGS_INSIDE, PAGE_START
from rag_nodes.core.own_metadata import own_metadata
from rag_nodes.core.spelling import did_you_mean
from rag_nodes.store import Store
from rag_nodes.store.conditions import Condition, Together, Where, holds, none_of
from rag_nodes.store.filters import Filter, paths_in, payload_of
from rag_nodes.store.own_keys import path_of
from rag_nodes.text.spans import PageMap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llama_index.core.schema import BaseNode

    from rag_nodes.query.indexes import Searchable

    Some = Callable[[Where | None, int], Sequence[Mapping[str, Any]]]
    """At most so many payloads that meet a condition, lists read back."""

_SAMPLE = 1_000
"""Chunks whose keys a message names."""
_MORE = 4
"""Times as many chunks are looked at where none of the first has a heading."""
_OUR_PAGES = (
    "leave pages out, or ingest files that have pages with a reader and a parser of rag-nodes "
    "(RagNodesReader, get_parser)"
)
_OUR_HEADINGS = (
    "leave heading out, or split documents that have headings with a parser of rag-nodes "
    "(get_parser)"
)
_HAVING_HEADINGS = Together(
    "should",
    tuple(none_of(Condition(key, "is_empty", None)) for key in (BREADCRUMB, HEADINGS_INSIDE)),
)
_COMPUTED_PAGES = (
    "another program stored them; give its vector store as vector_store, where pages are computed "
    "from page_label and page_starts"
)


def check_keys(store: Searchable, collection: str, scope: Filter) -> None:
    """Refuse a filter by a key that no chunk of a collection has; called if nothing was found.

    Of an empty collection, and of chunks that somebody else finds, nothing is known.

    Raises:
        ConfigurationError: there is one; says which keys there are.
    """
    if isinstance(store, Store) and store.some(collection, None, 1):

        def some(where: Where | None, count: int) -> list[Mapping[str, Any]]:
            return [usable_metadata(p.payload) for p in store.some(collection, where, count)]

        _check(scope, some)


def check_nodes(nodes: Sequence[BaseNode], scope: Filter) -> None:
    """Refuse a filter by a key that none of the nodes has, which are all that were searched.

    Raises:
        ConfigurationError: there is one; says which keys there are.
    """
    payloads = [(node.node_id, payload_of(node)) for node in nodes]

    def some(where: Where | None, count: int) -> list[dict[str, Any]]:
        return [payload for node_id, payload in payloads if holds(where, node_id, payload)][:count]

    _check(scope, some)


def _check(scope: Filter, some: Some) -> None:
    """Raise for the first key of the filter that no chunk has."""

    def is_lacking(key: str) -> bool:
        return not some(none_of(Condition(path_of(key), "is_empty", None)), 1)

    if (name := scope.file_name) and not some(Condition(FILE_NAME, "==", name), 1):
        payloads = some(None, _SAMPLE)
        names = sorted({f"'{payload[FILE_NAME]}'" for payload in payloads if FILE_NAME in payload})
        among = f"the file names of {_looked_at(payloads)} are "
        remedy = did_you_mean(f"'{name}'", names, among) if names else "they have no file names"
        raise _nothing(f"the file name '{name}'", remedy)
    if scope.pages and is_lacking(PAGE_START):
        has_others = any(PageMap.of(payload) is not None for payload in some(None, _SAMPLE))
        raise _nothing("a page number", _COMPUTED_PAGES if has_others else _OUR_PAGES)
    _check_headings(scope, some)
    for key, compared in (scope.where or {}).items():
        if compared is not None and is_lacking(key):
            raise _nothing(f"the key '{key}'", _remedy(key, some(None, _SAMPLE)))


def _check_headings(scope: Filter, some: Some) -> None:
    """Raise for a heading of the filter that is above no chunk and inside none."""
    asked = {
        scope.heading: Filter(heading=scope.heading),
        " > ".join(scope.heading_path): Filter(heading_path=scope.heading_path),
    }
    for heading, filter_ in asked.items():
        if filter_.has_headings and not _any_passes(filter_, some):
            payloads = some(_HAVING_HEADINGS, _SAMPLE)
            if not payloads:
                raise _nothing("headings", _OUR_HEADINGS)
            paths = (path for payload in payloads for path in paths_in(payload))
            names = sorted({f"'{name}'" for path in paths for name in path})
            among = f"the headings of {_looked_at(payloads)} are "
            others = [name for name in names if name != f"'{heading}'"]
            remedy = did_you_mean(f"'{heading}'", others, among)
            raise _nothing(f"the heading '{heading}'", remedy)


def _any_passes(filter_: Filter, some: Some) -> bool:
    """Return True if a chunk has the headings of a filter, whose conditions ask less."""
    count = _SAMPLE
    while True:
        payloads = some(filter_.conditions(), count)
        if any(filter_.is_under(paths_in(each)) for each in payloads):
            return True
        if len(payloads) < count:
            return False
        count *= _MORE


def _nothing(lacking: str, remedy: str) -> ConfigurationError:
    return ConfigurationError(f"the filter: no chunk has {lacking}; {remedy}")


def _remedy(key: str, payloads: Sequence[Mapping[str, Any]]) -> str:
    own_keys = sorted({f"'{name}'" for payload in payloads for name in own_metadata(payload)})
    looked_at = _looked_at(payloads)
    names = [f"'{FILE_NAME}'"] if any(FILE_NAME in payload for payload in payloads) else []
    closest = did_you_mean(f"'{key}'", [*own_keys, *names], "")
    if closest.endswith("?"):
        return closest
    if not own_keys:
        return f"{looked_at} have no keys of your own: {NAME_KEYS}"
    return did_you_mean(f"'{key}'", own_keys, f"the keys of {looked_at} are ")


def _looked_at(payloads: Sequence[Mapping[str, Any]]) -> str:
    return f"the first {_SAMPLE:,} chunks" if len(payloads) == _SAMPLE else "the documents"
