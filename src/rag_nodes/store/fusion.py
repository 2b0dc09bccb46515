"""Two rankings into one: the sum of each score's distance from its mean, in standard deviations.

Cosine similarities and BM25 scores have nothing in common but their order of magnitude *within one
question*; z-scores put them on one scale. On labelled data this beats both rankings alone and
their reciprocal-rank fusion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def fuse(
    dense: Mapping[str, float] | None, sparse: Mapping[str, float] | None
) -> list[tuple[str, float]]:
    """Rank everything that either search found.

    Args:
        dense: cosine similarity by node id; None when there was no dense search.
        sparse: BM25 score by node id, nodes without a common word left out; None when there was
            no sparse search.

    Returns:
        Node ids with their fused score, best first; equal scores in order of id, so the result
        never depends on the order of storage. One ranking alone keeps its own scores.
    """
    if dense is None or sparse is None:
        single = dense if dense is not None else sparse or {}
        return _ranked(list(single), list(single.values()))
    ids = list(dict.fromkeys((*dense, *sparse)))
    lowest = min(dense.values(), default=0.0)
    similarities = np.array([dense.get(node, lowest) for node in ids], dtype=np.float64)
    keywords = np.array([sparse.get(node, 0.0) for node in ids], dtype=np.float64)
    fused = _standardised(similarities) + _standardised(keywords)
    return _ranked(ids, fused.tolist())


def _standardised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Z-scores; all zero where every score is the same and the ranking has nothing to say."""
    deviation = float(scores.std()) if scores.size else 0.0
    if deviation < np.finfo(np.float32).eps:
        return np.zeros_like(scores)
    return np.asarray((scores - scores.mean()) / deviation)


def _ranked(ids: list[str], scores: list[float]) -> list[tuple[str, float]]:
    return sorted(zip(ids, scores, strict=True), key=lambda pair: (-pair[1], pair[0]))
