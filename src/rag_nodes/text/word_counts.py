"""How often each word stands in each of many texts: what lexical vectors and BM25 are made of.

Both read the same chunks within a moment, and finding the words takes longer than all that follows.
So the counts of the last texts are remembered, and those of a run of texts are arrays.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

RUN = 256
"""Texts counted together: enough that arrays pay, few enough that they stay small."""
_LONGEST = 8_192
"""Characters of a text that is remembered: longer ones are few, and would fill the memory."""
_LONGEST_LINES = 1_000
"""Characters of the metadata in front of a text that are looked for."""
_METADATA = re.compile(r"(?:\w+: .+\n?)+")


class WordCounts(NamedTuple):
    """The words of a run of texts.

    Attributes:
        vocabulary: every word of any of the texts, once.
        words: places in the vocabulary, one text after the other; in a text, by first occurrence.
        counts: how often each of `words` stands in its text.
        different: of each text how many different words it has.
    """

    vocabulary: list[str]
    words: NDArray[np.intp]
    counts: NDArray[np.int64]
    different: NDArray[np.intp]

    @classmethod
    def of(cls, texts: Iterable[Mapping[str, int]]) -> Self:
        """The counts of each text in one."""
        places: defaultdict[str, int] = defaultdict()
        places.default_factory = places.__len__
        found: list[int] = []
        counts: list[int] = []
        different: list[int] = []
        for text in texts:
            found.extend(map(places.__getitem__, text))
            counts.extend(text.values())
            different.append(len(text))
        return cls(
            list(places),
            np.array(found, np.intp),
            np.array(counts, np.int64),
            np.array(different, np.intp),
        )

    def rows(self) -> NDArray[np.intp]:
        """Of each of `words` the number of its text."""
        return np.repeat(np.arange(len(self.different)), self.different)


def in_runs(texts: Iterable[Mapping[str, int]]) -> Iterator[WordCounts]:
    """The counts of all texts, so many together that memory does not grow with them."""
    rest = iter(texts)
    while run := list(islice(rest, RUN)):
        yield WordCounts.of(run)


def counted(text: str) -> Mapping[str, int]:
    """How often each word stands in a text, by first occurrence; not to be changed.

    Args:
        text: see `rag_nodes.text.words.words`.
    """
    return _remembered(text) if len(text) <= _LONGEST else Counter(words(text))


def counted_behind_metadata(text: str) -> Mapping[str, int]:
    """The same as `counted`, in less time for a text that was or will be counted by itself.

    LlamaIndex puts a node's metadata in front of its text for an embedding model, in lines
    `key: value` with a blank one behind them.
    """
    front, _, behind = text.partition("\n\n")
    if not behind or len(front) > _LONGEST_LINES or not _METADATA.fullmatch(front):
        return counted(text)
    both, known = Counter(words(front)), counted(behind)
    return {**both, **known, **{word: both[word] + known.get(word, 0) for word in both}}


@lru_cache(maxsize=2 * RUN)
def _remembered(text: str) -> Mapping[str, int]:
    return Counter(words(text))
