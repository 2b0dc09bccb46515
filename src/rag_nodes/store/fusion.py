"""Two rankings into one.

Cosine similarities and BM25 scores have nothing in common but their order of magnitude *within one
question*; z-scores put them on one scale, and their sum is what ranks by default. On labelled data
this beats both rankings alone and their reciprocal-rank fusion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

Fusion = Literal["score", "distribution", "rank"]
"""By the sum of z-scores, of scores scaled to each ranking's spread, or of reciprocal ranks."""
FUSIONS: tuple[Fusion, ...] = ("score", "distribution", "rank")
RANK_OFFSET = 60
"""Added to each rank before its reciprocal is taken, as is usual: it flattens the first ranks."""
_SPREAD = 3.0
"""Standard deviations around the mean that distribution-based fusion maps to 0 and 1."""


def fuse(
    dense: Mapping[str, float] | None,
    sparse: Mapping[str, float] | None,
    method: Fusion = "score",
) -> list[tuple[str, float]]:
    """Rank everything that either search found.

    Args:
        dense: cosine similarity by node id; None when there was no dense search.
        sparse: BM25 score by node id, nodes without a common word left out; None when there was
            no sparse search.
        method: "score" sums z-scores over everything found; "distribution" scales each ranking
            from three standard deviations below its own mean (0) to three above (1) and sums, a
            node a ranking lacks having 0 there; "rank" sums reciprocal ranks.

    Returns:
        Node ids with their fused score, best first; equal scores in order of id, so the result
        never depends on the order of storage. One ranking alone keeps its own scores.
    """
    if dense is None or sparse is None:
        single = dense if dense is not None else sparse or {}
        return _ranked(list(single), list(single.values()))
    ids = list(dict.fromkeys((*dense, *sparse)))
    if method == "score":
        fused = _by_score(ids, dense, sparse)
    else:
        own = _spread if method == "distribution" else _reciprocal_ranks
        fused = _summed(ids, own(dense), own(sparse))
    return _ranked(ids, fused)


def _by_score(
    ids: Sequence[str], dense: Mapping[str, float], sparse: Mapping[str, float]
) -> list[float]:
    """Sums of z-scores; a node the dense search lacks counts as its worst."""
    lowest = min(dense.values(), default=0.0)
    similarities = np.array([dense.get(node, lowest) for node in ids], dtype=np.float64)
    keywords = np.array([sparse.get(node, 0.0) for node in ids], dtype=np.float64)
    fused: list[float] = (_standardised(similarities) + _standardised(keywords)).tolist()
    return fused


def _standardised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Z-scores; all zero where every score is the same and the ranking has nothing to say."""
    deviation = float(scores.std()) if scores.size else 0.0
    if deviation < np.finfo(np.float32).eps:
        return np.zeros_like(scores)
    return np.asarray((scores - scores.mean()) / deviation)


def _spread(scores: Mapping[str, float]) -> dict[str, float]:
    """Each score's place within its ranking's spread, from 0 to 1."""
    z_scores = _standardised(np.array(list(scores.values()), dtype=np.float64))
    places = np.clip((z_scores + _SPREAD) / (2 * _SPREAD), 0.0, 1.0)
    return dict(zip(scores, places.tolist(), strict=True))


def _reciprocal_ranks(scores: Mapping[str, float]) -> dict[str, float]:
    ranked = _ranked(list(scores), list(scores.values()))
    return {node: 1.0 / (RANK_OFFSET + rank) for rank, (node, _) in enumerate(ranked, start=1)}


def _summed(
    ids: Sequence[str], first: Mapping[str, float], second: Mapping[str, float]
) -> list[float]:
    return [first.get(node, 0.0) + second.get(node, 0.0) for node in ids]


def _ranked(ids: list[str], scores: list[float]) -> list[tuple[str, float]]:
    return sorted(zip(ids, scores, strict=True), key=lambda pair: (-pair[1], pair[0]))
