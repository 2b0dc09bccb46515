"""A store of one's own: chunks in a dictionary."""

import math
from collections import Counter
from collections.abc import Sequence

from llama_index.core.schema import BaseNode, TextNode

from rag_nodes.parsers import leaf_nodes
from rag_nodes.store import (
    CollectionInfo,
    Hit,
    Query,
    Scores,
    Store,
    StoredNode,
    best_hits,
    described,
    missing,
)
from rag_nodes.store.bm25 import document_vectors, query_vectors
from rag_nodes.store.payload import check_question, checked_length, family


class DictStore(Store):
    location = "a dictionary"

    def __init__(self) -> None:
        self._all: dict[str, dict[str, BaseNode]] = {}

    def add(self, collection: str, nodes: Sequence[BaseNode]) -> None:
        if nodes:
            checked_length(nodes, self._length(collection), collection)
            copies = {node.node_id: node.model_copy(deep=True) for node in nodes}
            self._all[collection] = self._all.get(collection, {}) | copies

    def delete(self, collection: str, node_ids: Sequence[str]) -> None:
        kept = self._existing(collection).items()
        self._all[collection] = {one: node for one, node in kept if one not in node_ids}

    def drop(self, collection: str) -> None:
        self._existing(collection)
        del self._all[collection]

    def collections(self) -> list[CollectionInfo]:
        found = [described(name, self.count(name)) for name in sorted(self._all)]
        return [info for info in found if info]

    def count(self, collection: str) -> int:
        return len(self._ranked(collection))

    def stored(self, collection: str, document_id: str) -> dict[str, StoredNode]:
        own = [n for n in self._all.get(collection, {}).values() if n.ref_doc_id == document_id]
        return {node.node_id: StoredNode.of(node.metadata | family(node)) for node in own}

    def fetch(self, collection: str, node_ids: Sequence[str]) -> dict[str, TextNode]:
        found = [self._existing(collection).get(node_id) for node_id in node_ids]
        nodes = [node for node in found if isinstance(node, TextNode)]
        return {node.node_id: node.model_copy(update={"embedding": None}) for node in nodes}

    def find(self, collection: str, query: Query) -> list[Hit]:
        self._existing(collection)
        ranked = self._ranked(collection)
        if query.vector is not None:
            check_question(len(query.vector), self._length(collection), collection)
        passing = {node.node_id for node in ranked if query.filter.passes(node)}
        dense = None if query.mode == "sparse" else similarities(ranked, query.vector or ())
        sparse = None if query.mode == "dense" else word_scores(ranked, query.text or "")
        found = [
            one and {node_id: score for node_id, score in one.items() if node_id in passing}
            for one in (dense, sparse)
        ]
        return best_hits(query, Scores(*found), lambda node_ids: self.fetch(collection, node_ids))

    def _existing(self, collection: str) -> dict[str, BaseNode]:
        if collection not in self._all:
            raise missing(self.location, collection)
        return self._all[collection]

    def _ranked(self, collection: str) -> list[TextNode]:
        return leaf_nodes(list(self._all.get(collection, {}).values()))

    def _length(self, collection: str) -> int | None:
        return next((len(node.get_embedding()) for node in self._ranked(collection)), None)


def similarities(nodes: Sequence[BaseNode], vector: Sequence[float]) -> dict[str, float]:
    """Cosine similarity of each node."""
    found = {}
    for node in nodes:
        own = node.get_embedding()
        lengths = math.hypot(*vector) * math.hypot(*own)
        product = sum(one * other for one, other in zip(vector, own, strict=True))
        found[node.node_id] = product / lengths if lengths else 0.0
    return found


def word_scores(nodes: Sequence[BaseNode], text: str) -> dict[str, float]:
    """BM25 score of each node that has a word of the question."""
    (asked,), _ = query_vectors([text])
    vectors = zip(*document_vectors(node.get_content() for node in nodes), strict=True)
    weights = [dict(zip(*vector, strict=True)) for vector in vectors]
    found: Counter[str] = Counter()
    for word in asked:
        having = sum(word in one for one in weights)
        rarity = math.log((len(nodes) - having + 0.5) / (having + 0.5) + 1)
        for node, one in zip(nodes, weights, strict=True):
            if word in one:
                found[node.node_id] += rarity * one[word]
    return found
