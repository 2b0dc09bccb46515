"""BM25 as sparse vectors: document weights here, the IDF factor inside Qdrant.

A document's weight of a word is the term-frequency half of BM25; a query asks with 1.0 per word
that carries meaning: its grammar occurs in every text, and would rank short ones first. Qdrant
multiplies in the inverse document frequency of the collection at search time, so it is
always that of what is stored now.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rag_nodes.text.function_words import content_words
from rag_nodes.text.words import term_id, words

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    return _columns(_document_weights(words(text)) for text in texts)


def query_vectors(texts: Iterable[str]) -> SparseVectors:
    """1.0 for each different word of each text but its function words, indices ascending.

    All words of a text that has no others.
    """
    return _columns(dict.fromkeys(map(term_id, content_words(text)), 1.0) for text in texts)


def _document_weights(terms: list[str]) -> dict[int, float]:
    length = LENGTH_PENALTY * len(terms) / AVERAGE_WORDS
    damping = SATURATION * (1 - LENGTH_PENALTY + length)
    weights: dict[int, float] = {}
    for term, count in Counter(terms).items():
        number = term_id(term)
        # Two words of one number add up: a rare blur instead of a lost word.
        weight = count * (SATURATION + 1) / (count + damping)
        weights[number] = weights.get(number, 0.0) + weight
    return weights


def _columns(vectors: Iterable[dict[int, float]]) -> SparseVectors:
    indices: list[list[int]] = []
    values: list[list[float]] = []
    for vector in vectors:
        ordered = sorted(vector.items())
        indices.append([index for index, _ in ordered])
        values.append([value for _, value in ordered])
    return indices, values
