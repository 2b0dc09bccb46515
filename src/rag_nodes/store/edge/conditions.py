"""Filters in the engine's terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import qdrant_edge as edge

from rag_nodes.metadata import (
    ALSO_AT,
    BREADCRUMB,
    FILE_NAME,
    HEADING_PATH,
    PAGE_END,
    PAGE_START,
    SOURCE,
)
from rag_nodes.store.filters import DOCUMENT_ID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_nodes.store.filters import Filter

TENANT = "_collection"
"""Payload key of the collection, where several share a shard."""


def conditions(chosen: Filter) -> edge.Filter | None:
    """A filter in the engine's terms; None where it lets everything pass."""
    must = [*_documents(chosen), *_places(chosen)]
    return edge.Filter(must=must) if must else None


def corpus(tenant: str | None) -> edge.Filter:
    """The points among which it is counted how rare a word is.

    Given with every question: by itself the engine counts deleted points as well.
    """
    return edge.Filter(must=list(tenants(tenant)))


def tenants(tenant: str | None) -> Iterator[edge.FieldCondition]:
    """What points of one collection of a shared shard have; nothing where it has its own."""
    if tenant is not None:
        yield _equal(TENANT, tenant)


def _documents(chosen: Filter) -> Iterator[Any]:
    """Which documents."""
    if chosen.document_ids is not None:
        ids = edge.MatchAny(any=list(chosen.document_ids))
        yield edge.FieldCondition(key=DOCUMENT_ID, match=ids)
    if chosen.file_name is not None:
        yield _equal(FILE_NAME, chosen.file_name)
    if chosen.source is not None:
        yield edge.Filter(should=[_equal(key, chosen.source) for key in (SOURCE, ALSO_AT)])


def _places(chosen: Filter) -> Iterator[edge.FieldCondition]:
    """Which places inside them."""
    if chosen.pages is not None:
        first, last = chosen.pages
        yield edge.FieldCondition(key=PAGE_START, range=edge.RangeFloat(lte=last))
        yield edge.FieldCondition(key=PAGE_END, range=edge.RangeFloat(gte=first))
    if chosen.heading is not None:
        yield edge.FieldCondition(key=BREADCRUMB, match=edge.MatchText(text=chosen.heading))
    for depth, heading in enumerate(chosen.heading_path):
        yield _equal(f"{HEADING_PATH}[{depth}]", heading)


def _equal(key: str, value: str) -> edge.FieldCondition:
    return edge.FieldCondition(key=key, match=edge.MatchValue(value=value))
