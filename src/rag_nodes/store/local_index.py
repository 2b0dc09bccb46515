"""What embedded Qdrant holds, as arrays: all scores of a question in milliseconds.

Embedded Qdrant compares sparse vectors in a Python loop and builds an object per point it returns,
which takes seconds for 10,000 chunks; the same scores are one matrix product and a few postings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_nodes.store.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


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
    def read(cls, client: Any, collection: str, dense: str, sparse: str | None) -> LocalIndex:
        """Read a whole collection.

        Args:
            client: of embedded Qdrant; hold its lock.
            collection: which exists.
            dense: name of the embedding vector.
            sparse: name of the BM25 vector; None for none.
        """
        ids, matrix, words = _peeked(client, collection, dense, sparse) or _scrolled(
            client, collection, dense, sparse
        )
        counts = [len(one.indices) if one else 0 for one in words]
        flat = [one for one in words if one]
        numbers = _joined([one.indices for one in flat], np.int64)
        weights = _joined([one.values for one in flat], np.float32)
        rows = np.repeat(np.arange(len(ids)), counts)
        order = np.argsort(numbers, kind="stable")
        terms, starts = np.unique(numbers[order], return_index=True)
        return cls(
            ids=ids,
            matrix=_of_unit_length(matrix),
            terms=terms,
            starts=np.append(starts, len(numbers)),
            rows=rows[order],
            weights=weights[order],
        )

    def similarities(self, vector: Sequence[float]) -> NDArray[np.float32]:
        """Cosine similarity of every row."""
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


def _peeked(
    client: Any, collection: str, dense: str, sparse: str | None
) -> tuple[list[str], NDArray[np.float32], list[Any]] | None:
    """The vectors where the client keeps them, which saves seconds; None where they are not."""
    local = getattr(getattr(client, "unlocked", None), "_client", None)
    stored: Any = getattr(local, "collections", {}).get(collection)
    try:
        gone = stored.deleted.astype(bool)
        # Parents have no vectors; where theirs would be the client keeps some placeholder.
        gone = gone | stored.deleted_per_vector[dense][: len(gone)].astype(bool)
        alive = np.flatnonzero(~gone)
        # Fancy indexing copies: later writes do not reach what was read.
        matrix = np.asarray(stored.vectors[dense][alive], dtype=np.float32)
        by_row = stored.sparse_vectors[sparse] if sparse else [None] * len(gone)
        words = [by_row[row] for row in alive.tolist()]
        return [str(stored.ids_inv[row]) for row in alive.tolist()], matrix, words
    except (AttributeError, KeyError, IndexError, TypeError):
        return None


def _scrolled(
    client: Any, collection: str, dense: str, sparse: str | None
) -> tuple[list[str], NDArray[np.float32], list[Any]]:
    """The vectors by the public way."""
    points = max(1, int(client.count(collection, exact=True).count))
    layout = Layout(dense, 0, sparse)
    found, _ = client.scroll(
        collection, limit=points, with_payload=False, with_vectors=layout.asked
    )
    vectors = [(str(point.id), layout.of(point.vector)) for point in found]
    vectors = [(one, named) for one, named in vectors if dense in named]  # parents have none
    matrix = np.array([named[dense] for _, named in vectors], dtype=np.float32)
    words = [named.get(sparse) if sparse else None for _, named in vectors]
    return [one for one, _ in vectors], matrix.reshape(len(vectors), -1), words


def _of_unit_length(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows scaled to length 1, in place; rows of zeros stay.

    What the client holds is of unit length after a write, but as it was given after a folder was
    opened: only some of its own queries scale it.
    """
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    np.divide(matrix, lengths, out=matrix, where=lengths > 0)
    return matrix


def _joined(parts: Sequence[Sequence[float]], kind: Any) -> Any:
    return np.concatenate([np.asarray(part, dtype=kind) for part in parts] or [np.empty(0, kind)])
