"""BM25 as sparse vectors: document weights here, the IDF factor inside Qdrant.

A text is indexed by its words and by their stems, and a question asks for both: equal words always
meet, and inflected ones do if the language of both is known. The weight of a term in a document
is the term-frequency half of BM25; a question asks with 1.0 per word that carries meaning, as the
words of grammar occur in every text and would rank short ones first. Qdrant multiplies in the
inverse document frequency of the collection at search time, so it is always that of what is stored
now.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several
from rag_nodes.text.languages import content_words, guess_language, question_languages, stem_of
from rag_nodes.text.words import RUN, VOCABULARY, WordCounts, counted, stem_id, term_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    SparseVectors = tuple[list[list[int]], list[list[float]]]
    """Indices and values, one list per text, as `QdrantVectorStore` expects them."""

SATURATION = 1.2
"""BM25's k1: how soon further repeats of a term stop counting."""
LENGTH_PENALTY = 0.75
"""BM25's b: how much longer texts are held back, from 0 (not at all) to 1."""
AVERAGE_WORDS = 150
"""Length that counts as average, in words. Fixed, because weights are written once while the true
average moves with every document; only the ratio of a collection's lengths matters."""
_TERM_BITS = 32
"""Bits of the number of a term."""
_NO_STEM = -1


@checks_keywords
def document_vectors(texts: str | Iterable[str]) -> SparseVectors:
    """Return the BM25 vectors of texts, without the inverse document frequency.

    These are the keyword vectors of our collections, `sparse_doc_fn` for LlamaIndex's
    `QdrantVectorStore`. Qdrant multiplies in the document frequency (`Modifier.IDF`). Words that
    share a stem count together, and a text is as long as it has words.

    Args:
        texts: what is indexed, or a single text.

    Returns:
        Numbers of the terms, ascending, and their weights: two lists with a list for each text.
    """
    indices: list[list[int]] = []
    values: list[list[float]] = []
    rest = iter(several(texts))
    while run := list(islice(rest, RUN)):
        languages = list(map(guess_language, run))
        terms, weights, ends = _weighed(WordCounts.of(map(counted, run)), languages)
        for start, end in pairwise((0, *ends)):
            indices.append(terms[start:end])
            values.append(weights[start:end])
    return indices, values


@checks_keywords
def query_vectors(texts: str | Iterable[str]) -> SparseVectors:
    """Return the keyword vectors of questions: 1.0 for each word and its stems.

    They are compared with `document_vectors`, as `sparse_query_fn` of LlamaIndex's
    `QdrantVectorStore`. Words of grammar are left out, unless a question has no others. A word is
    stemmed by each language that the question may be in.

    Args:
        texts: the questions, or a single one.

    Returns:
        Numbers of the terms, ascending, and their weights: two lists with a list for each text.
    """
    indices = [sorted(set(_asked(text))) for text in several(texts)]
    return indices, [[1.0] * len(index) for index in indices]


def _asked(text: str) -> Iterator[int]:
    languages = question_languages(text)  # perhaps all of them, too many for `_stems_in`
    for word in content_words(text):
        yield term_id(word)
        yield from (
            stem_id(stem) for language in languages if (stem := stem_of(word, language)) is not None
        )


def _weighed(
    word_counts: WordCounts, languages: Sequence[str]
) -> tuple[list[int], list[float], list[int]]:
    """Each term of each text, text by text, what it weighs there, and where each text ends."""
    texts, rows = len(word_counts.different), word_counts.rows()
    lengths = np.bincount(rows, word_counts.counts, texts)
    spoken = sorted(set(languages))
    stems = np.array(
        [[*map(_stems_in(language), word_counts.vocabulary)] for language in spoken], np.int64
    )
    words = np.array(list(map(term_id, word_counts.vocabulary)), np.int64)
    stemmed = stems[np.searchsorted(spoken, languages)[rows], word_counts.words]
    has_stem = stemmed != _NO_STEM
    # A number for each pair of text and term: those of a text stand together, ascending.
    terms = np.concatenate([words[word_counts.words], stemmed[has_stem]])
    pairs = np.concatenate([rows, rows[has_stem]]) << _TERM_BITS | terms
    order = np.argsort(pairs)
    pairs = pairs[order]
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    counts = np.concatenate([word_counts.counts, word_counts.counts[has_stem]])[order]
    counts = np.add.reduceat(counts, starts) if starts.size else counts
    pairs = pairs[starts]
    sizes = np.bincount(pairs >> _TERM_BITS, minlength=texts)
    damping = SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * lengths / AVERAGE_WORDS)
    weights = counts * (SATURATION + 1) / (counts + np.repeat(damping, sizes))
    return (pairs & (1 << _TERM_BITS) - 1).tolist(), weights.tolist(), np.cumsum(sizes).tolist()


@lru_cache(maxsize=2)  # languages: texts that follow one another are of few
def _stems_in(language: str) -> Callable[[str], int]:
    """Return a function from a word to the number of its stem, `_NO_STEM` if it has none."""

    @lru_cache(maxsize=VOCABULARY)  # by the word alone, which is twice as fast as by both
    def numbered(word: str) -> int:
        stem = stem_of(word, language)
        return _NO_STEM if stem is None else stem_id(stem)

    return numbered
