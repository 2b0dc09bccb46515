"""Hits in, hits with what stands around them out, read from the store by node id.

LlamaIndex's postprocessors for this want a document store beside the vectors; every stored node
knows its relatives, and they are in the same collection.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo

from rag_nodes.store.hit import Hit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.query.options import Expand
    from rag_nodes.store import Store

    Fetch = Callable[[Sequence[str]], dict[str, TextNode]]


def expanded(
    hits: Sequence[Hit], store: Store, collection: str, expand: Expand, *, limit: int
) -> list[Hit]:
    """The hits with their surroundings, ranks counted anew.

    Args:
        hits: in rank order.
        store: where they were found.
        collection: which of its collections.
        expand: "none"; "neighbours" puts the chunk before and the one after behind each hit;
            "parent" has the parent read in the place of its children, or, where it is not stored,
            adds all children of the same parent.
        limit: hits at most that were found themselves.
    """
    found = hits[:limit]

    def read(node_ids: Sequence[str]) -> dict[str, TextNode]:
        return store.fetch(collection, node_ids)

    if expand == "neighbours":
        return _ranked(_with_neighbours(found, read))
    if expand == "parent":
        return _ranked(_with_parents(found, read))
    return list(found)


def _with_neighbours(hits: Sequence[Hit], read: Fetch) -> Iterator[Hit]:
    wanted = [node_id for hit in hits for node_id in _beside(hit.node)]
    nodes = read(list(dict.fromkeys(wanted)))
    for hit in hits:
        yield hit
        for node_id in _beside(hit.node):
            if node_id in nodes:
                yield _brought(hit, nodes[node_id])


def _with_parents(hits: Sequence[Hit], read: Fetch) -> Iterator[Hit]:
    parent_ids = [_related(hit.node, NodeRelationship.PARENT) for hit in hits]
    parents = read(list(dict.fromkeys(one for one in parent_ids if one)))
    for hit, parent_id in zip(hits, parent_ids, strict=True):
        if parent_id in parents:
            yield replace(hit, surroundings=parents[parent_id])
            continue
        yield hit
        if parent_id:
            for node in _siblings(hit.node, parent_id, read):
                yield _brought(hit, node)


def _siblings(node: TextNode, parent_id: str, read: Fetch) -> Iterator[TextNode]:
    """The other children of a parent that is not stored; together they cover its text."""
    for direction in (NodeRelationship.PREVIOUS, NodeRelationship.NEXT):
        here = node
        while (next_id := _related(here, direction)) is not None:
            nodes = read([next_id])
            if next_id not in nodes:
                break
            here = nodes[next_id]
            if _related(here, NodeRelationship.PARENT) != parent_id:
                break
            yield here


def _beside(node: TextNode) -> list[str]:
    around = (NodeRelationship.PREVIOUS, NodeRelationship.NEXT)
    return [found for found in (_related(node, one) for one in around) if found]


def _related(node: TextNode, relationship: NodeRelationship) -> str | None:
    info = node.relationships.get(relationship)
    return info.node_id if isinstance(info, RelatedNodeInfo) else None


def _brought(hit: Hit, node: TextNode) -> Hit:
    """A node that came with a hit: it shares the score, but was not compared with the question."""
    return replace(hit, node=node, origin="neighbour", similarity=None, keyword_score=None)


def _ranked(hits: Iterable[Hit]) -> list[Hit]:
    """Each node once, at its best place, ranks from 1; found itself wins over brought along."""
    best: dict[str, Hit] = {}
    for hit in hits:
        known = best.get(hit.node.node_id)
        if known is None:
            best[hit.node.node_id] = hit
        elif known.origin != "search" and hit.origin == "search":
            best[hit.node.node_id] = hit  # keeps the earlier place
    return [replace(hit, rank=rank) for rank, hit in enumerate(best.values(), start=1)]
