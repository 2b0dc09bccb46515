"""Vectors as arrays in memory: all scores of a question in milliseconds.

For stores of your own, which have no engine to rank by; see docs/writing-a-store.md. Scores are one
matrix product and a few postings, which takes milliseconds for 10,000 chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rag_nodes.store.bm25 import document_vectors, query_vectors
from rag_nodes.store.fusion import Scores

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from llama_index.core.schema import BaseNode
    from numpy.typing import NDArray

    from rag_nodes.store.bm25 import SparseVectors
    from rag_nodes.store.queries import Query


@dataclass(frozen=True, slots=True)
class LocalIndex:
    """The vectors of one collection at one moment; safe to share between threads.

    Attributes:
        ids: node ids, one per row.
        matrix: embeddings of unit length, one per row.
        terms: numbers of the words, ascending, each once.
        starts: where the rows of each word begin in `rows`; one more than there are words.
        rows: rows that have the word.
        weights: term-frequency half of BM25 for each of `rows`.
    """

    ids: list[str]
    matrix: NDArray[np.float32]
    terms: NDArray[np.int64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    weights: NDArray[np.float32]

    @classmethod
    def of(cls, nodes: Sequence[BaseNode]) -> Self:
        """The index of nodes with embeddings; BM25 reads their text without metadata."""
        indices, values = document_vectors(node.get_content() for node in nodes)
        matrix = np.array([node.get_embedding() for node in nodes], dtype=np.float32)
        return cls.build([node.node_id for node in nodes], matrix, (indices, values))

    @classmethod
    def build(cls, ids: list[str], matrix: NDArray[np.float32], words: SparseVectors) -> Self:
        """Put vectors in order.

        Args:
            ids: of the nodes.
            matrix: an embedding per node, of any length; scaled in place.
            words: numbers and BM25 weights of the words of each node.
        """
        indices, values = words
        numbers = _joined(indices, np.int64)
        rows = np.repeat(np.arange(len(ids)), [len(one) for one in indices])
        order = np.argsort(numbers, kind="stable")
        terms, starts = np.unique(numbers[order], return_index=True)
        return cls(
            ids=ids,
            matrix=_of_unit_length(matrix),
            terms=terms,
            starts=np.append(starts, len(numbers)),
            rows=rows[order],
            weights=_joined(values, np.float32)[order],
        )

    def scores(self, query: Query, allowed: Container[str] | None = None) -> Scores:
        """What both searches find, complete.

        Args:
            query: what is asked; its filter is not looked at.
            allowed: ids of the nodes that may be found; None for all.
        """
        dense = sparse = None
        if query.mode != "sparse":
            dense = self._kept(self.similarities(query.vector or ()), allowed)
        if query.mode != "dense":
            (numbers,), _ = query_vectors([query.text or ""])
            found = self._kept(self.word_scores(numbers), allowed)
            sparse = {node_id: score for node_id, score in found.items() if score > 0}
        return Scores(dense, sparse)

    def _kept(
        self, scores: NDArray[np.float32], allowed: Container[str] | None
    ) -> dict[str, float]:
        pairs = zip(self.ids, scores.tolist(), strict=True)
        return {one: score for one, score in pairs if allowed is None or one in allowed}

    def similarities(self, vector: Sequence[float]) -> NDArray[np.float32]:
        """Cosine similarity of every row."""
        if not self.ids:
            return np.zeros(0, dtype=np.float32)
        question = np.array(vector, dtype=np.float32)
        length = float(np.linalg.norm(question))
        question /= np.float32(length or 1)
        scores: NDArray[np.float32] = self.matrix @ question
        return scores

    def word_scores(self, numbers: Sequence[int]) -> NDArray[np.float32]:
        """BM25 score of every row, Qdrant's inverse document frequency in it; 0 without a word.

        Args:
            numbers: of the question's words, each once.
        """
        size = len(self.ids)
        scores = np.zeros(size, dtype=np.float32)
        places = np.searchsorted(self.terms, numbers)
        for number, place in zip(numbers, places.tolist(), strict=True):
            if place < len(self.terms) and self.terms[place] == number:
                part = slice(self.starts[place], self.starts[place + 1])
                having = part.stop - part.start
                idf = np.log((size - having + 0.5) / (having + 0.5) + 1)
                scores[self.rows[part]] += np.float32(idf) * self.weights[part]
        return scores


def _of_unit_length(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows scaled to length 1, in place; rows of zeros stay."""
    lengths = np.linalg.norm(matrix, axis=-1, keepdims=True)
    np.divide(matrix, lengths, out=matrix, where=lengths > 0)
    return matrix


def _joined(parts: Sequence[Sequence[float]], kind: Any) -> Any:
    return np.concatenate([np.asarray(part, dtype=kind) for part in parts] or [np.empty(0, kind)])
