"""Sizes of chunks in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class ChunkStatistics:
    """How large the chunks of one parser are, in tokens.

    Attributes:
        chunks: how many there are.
        tokens: all of them together.
        smallest: tokens of the smallest chunk.
        largest: tokens of the largest chunk.
        mean: tokens of a chunk on average.
        median: half of the chunks have at most this many tokens.
        deviation: standard deviation of the sizes.
    """

    chunks: int
    tokens: int
    smallest: int
    largest: int
    mean: float
    median: float
    deviation: float


def chunk_statistics(token_counts: Iterable[int]) -> ChunkStatistics:
    """Statistics of chunk sizes; all zero without chunks."""
    sizes = list(token_counts)
    if not sizes:
        return ChunkStatistics(0, 0, 0, 0, 0.0, 0.0, 0.0)
    return ChunkStatistics(
        chunks=len(sizes),
        tokens=sum(sizes),
        smallest=min(sizes),
        largest=max(sizes),
        mean=fmean(sizes),
        median=float(median(sizes)),
        deviation=pstdev(sizes),
    )
