"""BM25 as sparse vectors: document weights here, the IDF factor inside Qdrant.

A document's weight of a word is the term-frequency half of BM25; a query asks with 1.0 per word
that carries meaning: its grammar occurs in every text, and would rank short ones first. Qdrant
multiplies in the inverse document frequency of the collection at search time, so it is
always that of what is stored now.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.text.languages import content_words
from rag_nodes.text.words import counted, in_runs, term_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rag_nodes.text.words import WordCounts

    SparseVectors = tuple[list[list[int]], list[list[float]]]
    """Indices and values, one list per text, as `QdrantVectorStore` expects them."""

SATURATION = 1.2
"""BM25's k1: how soon further repeats of a word stop counting."""
LENGTH_PENALTY = 0.75
"""BM25's b: how much longer texts are held back, from 0 (not at all) to 1."""
AVERAGE_WORDS = 150
"""Length that counts as average, in words. Fixed, because weights are written once while the true
average moves with every document; only the ratio of a collection's lengths matters."""


def document_vectors(texts: Iterable[str]) -> SparseVectors:
    """Term-frequency half of BM25 for each text, indices ascending."""
    indices: list[list[int]] = []
    values: list[list[float]] = []
    for run in in_runs(map(counted, texts)):
        _add_weights(run, indices, values)
    return indices, values


def query_vectors(texts: Iterable[str]) -> SparseVectors:
    """1.0 for each different word of each text but its function words, indices ascending.

    All words of a text that has no others.
    """
    return _columns(dict.fromkeys(map(term_id, content_words(text)), 1.0) for text in texts)


def _add_weights(run: WordCounts, indices: list[list[int]], values: list[list[float]]) -> None:
    """Append the vector of each text of a run."""
    rows, texts = run.rows(), len(run.different)
    lengths = np.bincount(rows, run.counts, minlength=texts)
    damping = SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * lengths / AVERAGE_WORDS)
    weights = run.counts * (SATURATION + 1) / (run.counts + damping[rows])
    numbers = np.array([term_id(word) for word in run.vocabulary], np.int64)[run.words]
    order = np.lexsort((numbers, rows))
    rows, numbers = rows[order], numbers[order]
    # Two words of one number add up: a rare blur instead of a lost word.
    first = np.flatnonzero(np.diff(rows, prepend=-1) | np.diff(numbers, prepend=-1))
    added = np.add.reduceat(weights[order], first).tolist() if len(first) else []
    found = numbers[first].tolist()
    ends = np.cumsum(np.bincount(rows[first], minlength=texts)).tolist()
    for start, end in pairwise([0, *ends]):
        indices.append(found[start:end])
        values.append(added[start:end])


def _columns(vectors: Iterable[dict[int, float]]) -> SparseVectors:
    indices: list[list[int]] = []
    values: list[list[float]] = []
    for vector in vectors:
        ordered = sorted(vector.items())
        indices.append([index for index, _ in ordered])
        values.append([value for _, value in ordered])
    return indices, values
