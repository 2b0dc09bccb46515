"""Selection of the sentences of retrieved text that answer a question, without a chunk size."""

from rag_nodes.text.passages.repeats import (
    Repeats,
    are_near_equal,
    equal_in,
    normalised,
    shown_places,
)
from rag_nodes.text.passages.scorer import PassageRanker, Read
from rag_nodes.text.passages.units import TextRun, joined_runs
from rag_nodes.text.passages.weights import LEAST_WEIGHT, Similarity, largest_weight

__all__ = [
    "LEAST_WEIGHT",
    "PassageRanker",
    "Read",
    "Repeats",
    "Similarity",
    "TextRun",
    "are_near_equal",
    "equal_in",
    "joined_runs",
    "largest_weight",
    "normalised",
    "shown_places",
]
