"""Filters in the engine's terms, and what parts collections that share a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import qdrant_edge as edge

from rag_nodes.store.conditions import FilterTerms

if TYPE_CHECKING:
    from collections.abc import Iterator

TENANT = "_collection"
"""Payload key of the collection, where several share a shard."""

TERMS = FilterTerms(
    filter=edge.Filter,
    field=edge.FieldCondition,
    value=edge.MatchValue,
    any=edge.MatchAny,
    text=edge.MatchText,
    range=edge.RangeFloat,
    other=edge.MatchExcept,
    times=edge.RangeDateTime,
    empty=edge.IsEmptyCondition,
)
conditions = TERMS.conditions


def corpus(tenant: str | None) -> edge.Filter:
    """The points among which it is counted how rare a word is.

    Given with every question: by itself the engine counts deleted points as well.
    """
    return edge.Filter(must=list(tenants(tenant)))


def tenants(tenant: str | None) -> Iterator[edge.FieldCondition]:
    """What points of one collection of a shared shard have; nothing where it has its own."""
    if tenant is not None:
        yield TERMS.equal(TENANT, tenant)
