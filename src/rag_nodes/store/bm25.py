"""BM25 as sparse vectors: document weights here, the IDF factor inside Qdrant.

A text is indexed by its words and by their stems, and a question asks for both: equal words always
meet, and inflected ones do where the language of both is told. The weight of a term in a document
is the term-frequency half of BM25; a question asks with 1.0 per word that carries meaning, as the
words of grammar occur in every text and would rank short ones first. Qdrant multiplies in the
inverse document frequency of the collection at search time, so it is always that of what is stored
now.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.text.languages import (
    content_words,
    guess_language,
    question_languages,
    stem_of,
)
from rag_nodes.text.words import RUN, counted, stem_id, term_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    SparseVectors = tuple[list[list[int]], list[list[float]]]
    """Indices and values, one list per text, as `QdrantVectorStore` expects them."""

SATURATION = 1.2
"""BM25's k1: how soon further repeats of a term stop counting."""
LENGTH_PENALTY = 0.75
"""BM25's b: how much longer texts are held back, from 0 (not at all) to 1."""
AVERAGE_WORDS = 150
"""Length that counts as average, in words. Fixed, because weights are written once while the true
average moves with every document; only the ratio of a collection's lengths matters."""


def document_vectors(texts: Iterable[str]) -> SparseVectors:
    """Term-frequency half of BM25 of the words and the stems of each text, indices ascending.

    Words that share a stem count together, and a text is as long as it has words.
    """
    indices: list[list[int]] = []
    values: list[list[float]] = []
    rest = iter(texts)
    while run := list(islice(rest, RUN)):
        counts = [counted(text) for text in run]
        terms = [
            _terms(words, guess_language(text)) for words, text in zip(counts, run, strict=True)
        ]
        indices.extend(map(list, terms))
        values.extend(_weights(terms, [sum(words.values()) for words in counts]))
    return indices, values


def query_vectors(texts: Iterable[str]) -> SparseVectors:
    """1.0 for each word of each text but its function words, and for its stems, indices ascending.

    All words of a text that has no others. It is stemmed by each language that it may be in.
    """
    indices = [sorted(set(_asked(text))) for text in texts]
    return indices, [[1.0] * len(one) for one in indices]


def _asked(text: str) -> Iterator[int]:
    languages = question_languages(text)
    for word in content_words(text):
        yield term_id(word)
        for language in languages:
            yield from _stems(word, language)


def _terms(words: Mapping[str, int], language: str) -> dict[int, int]:
    """How often a text has each term, numbers ascending."""
    found: dict[int, int] = {}
    for word, count in words.items():
        for term in (term_id(word), *_stems(word, language)):
            found[term] = found.get(term, 0) + count
    return dict(sorted(found.items()))


@lru_cache(maxsize=1 << 16)
def _stems(word: str, language: str) -> tuple[int, ...]:
    """The number of a word's stem, if it has one."""
    stem = stem_of(word, language)
    return () if stem is None else (stem_id(stem),)


def _weights(terms: Sequence[Mapping[int, int]], lengths: Sequence[int]) -> Iterator[list[float]]:
    """What each term of each text weighs."""
    sizes = [len(one) for one in terms]
    counts = np.fromiter(chain.from_iterable(one.values() for one in terms), np.int64, sum(sizes))
    damping = SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * np.array(lengths) / AVERAGE_WORDS)
    weights = counts * (SATURATION + 1) / (counts + np.repeat(damping, sizes))
    rest = iter(weights.tolist())
    return (list(islice(rest, size)) for size in sizes)
