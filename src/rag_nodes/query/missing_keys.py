"""The reason why a filter finds nothing: a metadata key that no chunk has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.own_metadata import own_metadata
from rag_nodes.core.spelling import did_you_mean
from rag_nodes.store import Store
from rag_nodes.store.conditions import Condition, none_of
from rag_nodes.store.own_keys import path_of

if TYPE_CHECKING:
    from rag_nodes.query.indexes import Searchable
    from rag_nodes.store import Filter

_SAMPLE = 1_000
"""Chunks whose keys a message names."""


def check_keys(store: Searchable, collection: str, scope: Filter) -> None:
    """Refuse a filter by a key that no chunk of a collection has; called if nothing was found.

    Raises:
        ConfigurationError: there is one; says which keys there are.
    """
    if not isinstance(store, Store):
        return
    for key, compared in (scope.where or {}).items():
        has_key = none_of(Condition(path_of(key), "is_empty", None))
        if compared is None or store.some(collection, has_key, 1):
            continue
        points = store.some(collection, None, _SAMPLE)
        sample = f"the first {_SAMPLE:,} chunks" if len(points) == _SAMPLE else "the documents"
        known = sorted({f"'{name}'" for point in points for name in own_metadata(point.payload)})
        remedy = (
            did_you_mean(f"'{key}'", known, f"the keys of {sample} are ")
            if known
            else f"{sample} have no keys of your own: name --set or --metadata in every ingest "
            "(Python: metadata=FileMetadata(...))"
        )
        raise ConfigurationError(f"the filter: no chunk has the key '{key}'; {remedy}")
