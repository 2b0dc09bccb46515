"""Weight of the embedding similarity of chunks beside the words of their sentences.

Sentences that have the words of the question decide by words. If no sentence has many of them, the
question is asked in other words than the text, and similarity counts up to four times as much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rag_nodes.text.passages.units import TextRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEAST_WEIGHT = 0.4
"""Weight beside that of the words, both in standard deviations, if a text has the question."""
LARGEST_WEIGHT = 1.6
"""The same if it has little of the question."""
_COVERED = 0.65
"""Coverage from which similarity has its least weight."""
_BARE = 0.35
"""Coverage up to which similarity has its largest weight."""
FULL_SIZE = 200
"""Mean tokens of chunks up to which their similarity says enough about a sentence of them."""


class Similarity(NamedTuple):
    """The embedding similarity of retrieved text to a question, and how much it may count.

    Attributes:
        near: similarity of the text at an offset of a run's document, such as its chunk's cosine.
        largest: by language, the weight that similarity has if coverage is low. Below
            `LEAST_WEIGHT` it has this weight always; 0 lets words decide alone.
    """

    near: Callable[[TextRun, int], float]
    largest: Callable[[str], float]


def largest_weight(mean_tokens: float) -> float:
    """Return the largest weight of similarity, by the mean size of the chunks it is known of."""
    share = min(1.0, FULL_SIZE / mean_tokens) if mean_tokens > 0 else 1.0
    return LEAST_WEIGHT + share * (LARGEST_WEIGHT - LEAST_WEIGHT)


def coverage(counts: Floats, runs: NDArray[np.intp]) -> float:
    """Return the largest share of a question, by the rarity of its words, that stands together.

    Args:
        counts: how often each unit has each word of the question; a row per unit.
        runs: number of the run of each unit; units of a run follow one another.

    Returns:
        Share from 0 to 1 of the words in a unit or the units before and after it.
    """
    held = counts > 0
    if not held.size:
        return 0.0
    holding = held.sum(0)
    rarity = np.log(1 + (len(held) - holding + 0.5) / (holding + 0.5))
    together = held.copy()
    beside = (runs[1:] == runs[:-1])[:, None]
    together[1:] |= held[:-1] & beside
    together[:-1] |= held[1:] & beside
    return float((together @ rarity).max() / rarity.sum())


def similarity_weights(covered: float, largest: Floats) -> Floats:
    """Return the weight of similarity for each unit.

    Args:
        covered: coverage of the question.
        largest: weight of each unit's similarity if nothing is covered.
    """
    least = np.minimum(LEAST_WEIGHT, largest)
    lack = np.clip((_COVERED - covered) / (_COVERED - _BARE), 0.0, 1.0)
    weights: Floats = least + lack * (largest - least)
    return weights
