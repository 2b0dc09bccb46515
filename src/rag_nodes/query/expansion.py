"""Hits with what is read around them: windows, stored parents, or neighbouring chunks.

LlamaIndex's postprocessors for this want a document store beside the vectors; every stored node
knows its relatives, and they are in the same collection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from llama_index.core.schema import NodeRelationship, TextNode

from rag_nodes.core import metadata as keys
from rag_nodes.query.locations import related
from rag_nodes.store import Hit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Fetch = Callable[[Sequence[str]], dict[str, TextNode]]
"""Gives the stored ones of some node ids."""
Expand = Literal["auto", "none", "neighbours"]
"""Expansion of hits: as the parser means it, none, or the chunks before and after each hit."""
EXPANSIONS: tuple[Expand, ...] = ("auto", "none", "neighbours")
_OF_A_PLACE = frozenset(
    {
        keys.PAGE_START,
        keys.PAGE_END,
        keys.PAGE_BREAKS,
        keys.HEADING_PATH,
        keys.HEADING,
        keys.HEADINGS_INSIDE,
        keys.BREADCRUMB,
        keys.START_CHAR,
        keys.END_CHAR,
        keys.TOKEN_COUNT,
        keys.TABLE_HEADER,
        keys.TABLE,
    }
)
"""Metadata that differs between a node and its window."""


def expanded(hits: Sequence[Hit], read: Fetch, expand: Expand, *, limit: int) -> list[Hit]:
    """At most `limit` of the hits with what is read around them, ranks counted again.

    "auto" has the window or the parent of a node read in its place, where it has one; "none"
    nothing; "neighbours" puts the chunk before and the one after behind each hit.
    """
    best = hits[:limit]
    if expand == "auto":
        return _as_meant(best, read)
    if expand == "neighbours":
        return with_neighbours(best, read)
    return list(best)


def window_of(node: TextNode) -> TextNode | None:
    """The window of a node as a node under its id; None where it has none.

    Windows of our parsers are exact slices of the document; of others only the text is known. A
    text without that of the node is a value of your own under the same key, and no window.
    """
    text = node.metadata.get(keys.WINDOW)
    if not isinstance(text, str) or text == node.text or node.text.strip() not in text:
        return None
    place = node.metadata.get(keys.WINDOW_PLACE)
    place = place if isinstance(place, dict) else {}
    start, own = place.get(keys.START_CHAR), node.start_char_idx
    if not isinstance(start, int) or own is None or not text.startswith(node.text, own - start):
        place, start = {}, None
    own_facts = {k: v for k, v in node.metadata.items() if k not in _OF_A_PLACE or not place}
    return node.model_copy(
        update={
            "text": text,
            "start_char_idx": start,
            "end_char_idx": None if start is None else start + len(text),
            "metadata": {**own_facts, **place},
        }
    )


def _as_meant(hits: Sequence[Hit], read: Fetch) -> list[Hit]:
    """Windows and stored parents, which take one request for all hits."""
    windows = [window_of(hit.node) for hit in hits]
    wanted = [
        parent_id
        for hit, window in zip(hits, windows, strict=True)
        if window is None and (parent_id := related(hit.node, NodeRelationship.PARENT))
    ]
    parents = read(list(dict.fromkeys(wanted))) if wanted else {}
    around = [
        window or parents.get(related(hit.node, NodeRelationship.PARENT) or "")
        for hit, window in zip(hits, windows, strict=True)
    ]
    return [
        replace(hit, surroundings=nodes) if nodes else hit
        for hit, nodes in zip(hits, around, strict=True)
    ]


def with_neighbours(hits: Sequence[Hit], read: Fetch) -> list[Hit]:
    """The hits with the chunk before and the one after each behind it, ranks counted again."""
    return _ranked(_followed(hits, read))


def _followed(hits: Sequence[Hit], read: Fetch) -> Iterator[Hit]:
    by_id = {hit.node.node_id: hit.node for hit in hits}
    beside = [(hit, _beside(hit.node)) for hit in hits]
    wanted = dict.fromkeys(node_id for _, own in beside for node_id in own if node_id not in by_id)
    nodes = by_id | read(list(wanted))
    for hit, own in beside:
        yield hit
        for node_id in own:
            if node_id in nodes:
                yield _brought(hit, nodes[node_id])


def _beside(node: TextNode) -> list[str]:
    around = (NodeRelationship.PREVIOUS, NodeRelationship.NEXT)
    return [node_id for node_id in (related(node, kind) for kind in around) if node_id]


def _brought(hit: Hit, node: TextNode) -> Hit:
    """A node that came with a hit: it shares the score, but was not compared with the question."""
    return replace(
        hit,
        node=node,
        origin="neighbour",
        similarity=None,
        keyword_score=None,
        fused_score=None,
        rerank_score=None,
    )


def _ranked(hits: Iterable[Hit]) -> list[Hit]:
    """Each node once, at its best place, ranks from 1; found itself wins over brought along."""
    best: dict[str, Hit] = {}
    for hit in hits:
        first = best.get(hit.node.node_id)
        if first is None:
            best[hit.node.node_id] = hit
        elif first.origin != "search" and hit.origin == "search":
            best[hit.node.node_id] = replace(hit, score=first.score)  # at the earlier place
    return [replace(hit, rank=rank) for rank, hit in enumerate(best.values(), start=1)]
