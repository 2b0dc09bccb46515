"""An engine of one's own: points in a dictionary."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from rag_nodes.store import (
    Engine,
    EngineCollection,
    Layout,
    Point,
    Query,
    Scores,
    Where,
    holds,
)
from rag_nodes.store.bm25 import query_vectors


class DictEngine(Engine):
    location = "a dictionary"

    def __init__(self) -> None:
        self._all: dict[str, DictCollection] = {}

    def names(self) -> list[str]:
        return list(self._all)

    def collection(self, name: str, *, remembered: bool = False) -> "DictCollection | None":
        return self._all.get(name)

    def create(self, name: str, layout: Layout) -> None:
        self._all[name] = DictCollection(layout)

    def drop(self, name: str) -> None:
        del self._all[name]


class DictCollection(EngineCollection):
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._points: dict[str, Point] = {}

    def write(self, points: Sequence[Point]) -> None:
        self._points |= {point.node_id: point for point in points}

    def delete(self, node_ids: Sequence[str]) -> None:
        for node_id in node_ids:
            self._points.pop(node_id, None)

    def count(self) -> int:
        return sum(point.vector is not None for point in self._points.values())

    def read(self, node_ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        return [self._points[one] for one in node_ids if one in self._points]

    def select(
        self, where: Where | None, keys: Sequence[str] | None, *, vectors: bool = False
    ) -> Iterator[Point]:
        for point in self._points.values():
            if holds(where, point.node_id, point.payload):
                yield point

    def scores(self, query: Query) -> Scores:
        every = {one.node_id: one.vector for one in self.select(query.where, None)}
        dense = sparse = None
        if query.mode != "sparse":
            asked = query.vector or ()
            dense = {one: similarity(asked, vector) for one, vector in every.items() if vector}
        if query.mode != "dense":
            scores = self._word_scores(query.text or "")
            sparse = {one: score for one, score in scores.items() if one in every}
        return Scores(dense, sparse)

    def _word_scores(self, text: str) -> dict[str, float]:
        """BM25 score of each chunk that has a word of the question."""
        (asked,), _ = query_vectors([text])
        ranked = [point for point in self._points.values() if point.vector is not None]
        weights = {point.node_id: dict(zip(*point.words, strict=True)) for point in ranked}
        found: Counter[str] = Counter()
        for word in asked:
            having = sum(word in one for one in weights.values())
            rarity = math.log((len(weights) - having + 0.5) / (having + 0.5) + 1)
            for node_id, one in weights.items():
                if word in one:
                    found[node_id] += rarity * one[word]
        return found


def similarity(asked: Sequence[float], own: Sequence[float]) -> float:
    """Cosine of two vectors; 0 where one has no length."""
    lengths = math.hypot(*asked) * math.hypot(*own)
    product = sum(one * other for one, other in zip(asked, own, strict=True))
    return product / lengths if lengths else 0.0
