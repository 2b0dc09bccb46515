"""A store of one's own: chunks in a dictionary."""

import math
from collections import Counter
from collections.abc import Sequence

from llama_index.core.schema import TextNode

from rag_nodes.store import (
    CollectionInfo,
    Hit,
    Point,
    Query,
    Scores,
    Store,
    StoredNode,
    best_hits,
    described,
    missing,
)
from rag_nodes.store.bm25 import query_vectors
from rag_nodes.store.filters import DOCUMENT_ID
from rag_nodes.store.payload import agreed_length, check_question, node_in


class DictStore(Store):
    location = "a dictionary"

    def __init__(self) -> None:
        self._all: dict[str, dict[str, Point]] = {}

    def put(self, collection: str, points: Sequence[Point]) -> None:
        if points:
            agreed_length(points, self._length(collection), collection)
            added = {point.node_id: point for point in points}
            self._all[collection] = self._all.get(collection, {}) | added

    def delete(self, collection: str, node_ids: Sequence[str]) -> None:
        kept = self._existing(collection).items()
        self._all[collection] = {one: point for one, point in kept if one not in node_ids}

    def drop(self, collection: str) -> None:
        self._existing(collection)
        del self._all[collection]

    def collections(self) -> list[CollectionInfo]:
        found = [described(name, self.count(name)) for name in sorted(self._all)]
        return [info for info in found if info]

    def count(self, collection: str) -> int:
        return len(self._ranked(collection))

    def stored(self, collection: str, document_id: str) -> dict[str, StoredNode]:
        points = self._all.get(collection, {}).values()
        own = [point for point in points if point.payload[DOCUMENT_ID] == document_id]
        return {point.node_id: StoredNode.of(point.payload) for point in own}

    def fetch(self, collection: str, node_ids: Sequence[str]) -> dict[str, TextNode]:
        there = self._existing(collection)
        found = {one: there[one].payload for one in node_ids if one in there}
        nodes = {one: node_in(payload, one, collection) for one, payload in found.items()}
        return {one: node for one, node in nodes.items() if isinstance(node, TextNode)}

    def find(self, collection: str, query: Query) -> list[Hit]:
        self._existing(collection)
        ranked = self._ranked(collection)
        if query.vector is not None:
            check_question(len(query.vector), self._length(collection), collection)
        nodes = self.fetch(collection, [point.node_id for point in ranked])
        passing = {one for one, node in nodes.items() if query.filter.passes(node)}
        dense = None if query.mode == "sparse" else similarities(ranked, query.vector or ())
        sparse = None if query.mode == "dense" else word_scores(ranked, query.text or "")
        found = [
            one and {node_id: score for node_id, score in one.items() if node_id in passing}
            for one in (dense, sparse)
        ]
        return best_hits(query, Scores(*found), lambda node_ids: self.fetch(collection, node_ids))

    def _existing(self, collection: str) -> dict[str, Point]:
        if collection not in self._all:
            raise missing(self.location, collection)
        return self._all[collection]

    def _ranked(self, collection: str) -> list[Point]:
        points = self._all.get(collection, {}).values()
        return [point for point in points if point.vector is not None]

    def _length(self, collection: str) -> int | None:
        return next((len(point.vector or ()) for point in self._ranked(collection)), None)


def similarities(points: Sequence[Point], vector: Sequence[float]) -> dict[str, float]:
    """Cosine similarity of each chunk."""
    found = {}
    for point in points:
        own = point.vector or ()
        lengths = math.hypot(*vector) * math.hypot(*own)
        product = sum(one * other for one, other in zip(vector, own, strict=True))
        found[point.node_id] = product / lengths if lengths else 0.0
    return found


def word_scores(points: Sequence[Point], text: str) -> dict[str, float]:
    """BM25 score of each chunk that has a word of the question."""
    (asked,), _ = query_vectors([text])
    weights = {point.node_id: dict(zip(*point.words, strict=True)) for point in points}
    found: Counter[str] = Counter()
    for word in asked:
        having = sum(word in one for one in weights.values())
        rarity = math.log((len(points) - having + 0.5) / (having + 0.5) + 1)
        for node_id, one in weights.items():
            if word in one:
                found[node_id] += rarity * one[word]
    return found
