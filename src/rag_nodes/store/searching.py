"""A collection of an engine, asked and read; all of it within a step."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_nodes.errors import (
    ConfigurationError,
    DimensionError,
    StoreError,
    StoreUnreachableError,
    VectorMissingError,
)
from rag_nodes.metadata import USUAL, VECTORS
from rag_nodes.store.catalogue import missing
from rag_nodes.store.points import named
from rag_nodes.store.queries import Hit, best_hits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llama_index.core.schema import BaseNode, TextNode

    from rag_nodes.store.engine import Engine, EngineCollection
    from rag_nodes.store.points import Point
    from rag_nodes.store.queries import Query

logger = logging.getLogger(__name__)
_PAGE = 1000
"""Points read or deleted together."""


def best_of(engine: Engine, collection: str, query: Query, told: set[str]) -> list[Hit]:
    """The best chunks for a question; errors are those of `Store.search`.

    `told` are collections without BM25 vectors of ours of which the log says so already.
    """
    try:
        return _best(engine, collection, query, told, remembered=True)
    except StoreUnreachableError:
        raise
    except (StoreError, DimensionError):
        # Others may have dropped the collection and made another of that name.
        return _best(engine, collection, query, told, remembered=False)


def _best(
    engine: Engine, collection: str, query: Query, told: set[str], *, remembered: bool
) -> list[Hit]:
    with engine.step(collection):
        there = there_in(engine, collection, remembered=remembered)
        if there.layout.sparse is None:
            query = _by_meaning(place(engine, collection), query, told)
        used = there.layout.using(query.using)
        if used is None:
            raise _missing_vector(engine, collection, query.using)
        length = len(query.vector or ())
        if query.mode != "sparse" and length != used.size:
            raise DimensionError(
                f"{place(engine, collection)} holds vectors of length {used.size}, the question's "
                f"has {length}; ask with the embedding model it was ingested with"
            )
        scores = there.scores(query)
        further = query.using != USUAL and scores.dense == {}
        if further and query.using not in names_in(engine, collection):
            raise _missing_vector(engine, collection, query.using)
        return best_hits(query, scores, lambda ids: nodes_in(engine, collection, ids))


def there_in(engine: Engine, collection: str, *, remembered: bool = True) -> EngineCollection:
    """A collection that has to exist."""
    found = engine.collection(collection, remembered=remembered)
    if found is None:
        raise missing(engine.location, collection)
    return found


def names_in(engine: Engine, collection: str) -> tuple[str, ...]:
    """Which embeddings chunks of a collection have, see `Store.vector_names`."""
    found = engine.collection(collection)
    if found is None:
        return ()
    # A collection may have a place for what none of its chunks has.
    further = (name for name in VECTORS if name != USUAL and named(name) in found.layout.named)
    return (USUAL, *(name for name in further if found.count(named(name))))


def nodes_in(engine: Engine, collection: str, node_ids: Sequence[str]) -> dict[str, TextNode]:
    """The stored nodes with these ids."""
    from llama_index.core.schema import TextNode

    points = there_in(engine, collection).read(node_ids)
    nodes = {point.node_id: node_of(engine, collection, point) for point in points}
    return {one: node for one, node in nodes.items() if isinstance(node, TextNode)}


def node_of(engine: Engine, collection: str, point: Point) -> BaseNode:
    """The node of a point."""
    from rag_nodes.store.payload import node_in

    return node_in(point.payload, point.node_id, place(engine, collection))


def place(engine: Engine, collection: str) -> str:
    """A collection as messages name it."""
    return f"{engine.location}: collection {collection!r}"


def pages(node_ids: Sequence[str]) -> Iterable[list[str]]:
    """Ids as many at a time as are read or deleted by one request."""
    for first in range(0, len(node_ids), _PAGE):
        yield list(node_ids[first : first + _PAGE])


def _missing_vector(engine: Engine, collection: str, name: str) -> VectorMissingError:
    there = ", ".join(names_in(engine, collection)) or "none"
    return VectorMissingError(
        f"{place(engine, collection)} has no vectors {name!r}; it has: {there}. Ask by one of "
        f"these, or ingest the documents again with --vector {name}"
    )


def _by_meaning(where: str, query: Query, told: set[str]) -> Query:
    """A query of a collection without BM25 vectors; said once where another mode was asked."""
    said = f"{where} has no BM25 vectors of ours"
    if query.mode == "sparse":
        raise ConfigurationError(
            f"{said}, so it cannot be searched by words; ask with mode 'dense', or ingest the "
            "documents into a collection of ours"
        )
    if query.mode == "hybrid" and where not in told:
        told.add(where)
        logger.warning("%s; it is searched by meaning only, as with mode 'dense'", said)
    return replace(query, mode="dense")
