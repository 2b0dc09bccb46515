"""Filters and ids in the engine's terms, and what parts collections that share a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import qdrant_edge as edge

from rag_nodes.errors import ConfigurationError
from rag_nodes.store.conditions import FilterTerms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TENANT = "_collection"
"""Payload key of the collection, where several share a shard."""

TERMS = FilterTerms(
    edge,
    range=edge.RangeFloat,
    times=edge.RangeDateTime,
    empty=edge.IsEmptyCondition,
)
conditions = TERMS.conditions


class ShardShare(NamedTuple):
    """What tells the points of a collection from those of others in its shard.

    Attributes:
        tenant: its key; None where it has the shard for itself.
        mask: a number of 128 bits by which its ids differ from those of the others, as several may
            hold the same node.
    """

    tenant: str | None = None
    mask: int = 0

    def scope(self, *chosen: Any) -> Any:
        """Conditions that all have to hold, in this collection; None where there are none."""
        must = [one for one in chosen if one is not None]
        if self.tenant is not None:
            must.append(TERMS.equal(TENANT, self.tenant))
        return edge.Filter(must=must) if must else None

    @property
    def corpus(self) -> Any:
        """The points among which it is counted how rare a word is.

        Given with every question: by itself the engine counts deleted points as well.
        """
        return self.scope() or edge.Filter()

    def payload(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What is stored of a payload."""
        return dict(given) if self.tenant is None else {**given, TENANT: self.tenant}

    def point_id(self, node_id: str, where: str) -> UUID | int:
        """The id of a point.

        Raises:
            ConfigurationError: the node's id is no UUID.
        """
        if node_id.isdecimal() and not self.mask:
            return int(node_id)  # of another program
        try:
            own = UUID(node_id)
        except ValueError as error:
            raise ConfigurationError(
                f"{where}: node id {node_id!r} is no UUID, and Qdrant takes nothing else; give "
                "your nodes ids such as str(uuid.uuid4())"
            ) from error
        return UUID(int=own.int ^ self.mask) if self.mask else own

    def node_id(self, point: UUID | int) -> str:
        """The node id that `point_id` was made of."""
        if isinstance(point, int):
            return str(point)
        # Of thousands in every question: a second UUID to print would double the time.
        digits = f"{point.int ^ self.mask:032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


WHOLE = ShardShare()
"""A shard of its own."""


def one_of(ids: Iterable[Any]) -> Any:
    """The condition that a point has one of the engine's ids."""
    return edge.HasIdCondition(set(ids))
