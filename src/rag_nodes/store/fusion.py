"""Two rankings into one, and what its scores mean between 0 and 1.

Cosine similarities and BM25 scores have nothing in common but their order of magnitude *within one
question*; z-scores put them on one scale, and their sum is what ranks by default. On labelled data
this beats both rankings alone and their reciprocal-rank fusion.

Sums of z-scores mean nothing to anyone else. But they are a weighted sum of cosine and BM25, so a
chunk that shares neither meaning nor a word with the question has a sum, and so has one that could
not be better; every score has its place between those two, whatever the ranking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

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


class Scale(NamedTuple):
    """Where the scores of a ranking lie between no relation to the question and the best one.

    Attributes:
        nothing: score of a chunk that has nothing in common with the question.
        best: score that no chunk can exceed.
    """

    nothing: float
    best: float

    def place(self, score: float) -> float:
        """The score from 0 to 1, in the same order; below nothing is 0 as well."""
        width = self.best - self.nothing
        return min(1.0, max(0.0, (score - self.nothing) / width)) if width > 0 else 0.0


class Ranking(NamedTuple):
    """What was found, best first.

    Attributes:
        pairs: node ids with the score that ranks them; equal scores in order of id.
        scale: what these scores mean.
    """

    pairs: list[tuple[str, float]]
    scale: Scale


def fuse(
    dense: Mapping[str, float] | None,
    sparse: Mapping[str, float] | None,
    method: Fusion = "score",
) -> Ranking:
    """Rank everything that either search found.

    Args:
        dense: cosine similarity by node id; None when there was no dense search.
        sparse: BM25 score by node id, nodes without a common word left out; None when there was
            no sparse search.
        method: "score" sums z-scores over everything found; "distribution" scales each ranking
            from three standard deviations below its own mean (0) to three above (1) and sums, a
            node a ranking lacks having 0 there; "rank" sums reciprocal ranks.

    Returns:
        Never dependent on the order of storage. One ranking alone keeps its own scores. On the
        scale, a dense search has its cosine, a sparse one the share of the question's best BM25
        score, "score" the mean of both, weighted as they rank (a ranking in which all are alike
        has no weight), "distribution" the mean of both places, and "rank" the share of what first
        place in both rankings gives.
    """
    if dense is None or sparse is None:
        single = dense if dense is not None else sparse or {}
        best = 1.0 if dense is not None else max(single.values(), default=0.0)
        return Ranking(_ranked(list(single), list(single.values())), Scale(0.0, best))
    ids = list(dict.fromkeys((*dense, *sparse)))
    if method == "score":
        fused, scale = _by_score(ids, dense, sparse)
    elif method == "distribution":
        fused, scale = _summed(ids, _spread(dense), _spread(sparse)), Scale(0.0, 2.0)
    else:
        fused = _summed(ids, _reciprocal_ranks(dense), _reciprocal_ranks(sparse))
        scale = Scale(0.0, 2 / (RANK_OFFSET + 1))
    return Ranking(_ranked(ids, fused), scale)


def _by_score(
    ids: Sequence[str], dense: Mapping[str, float], sparse: Mapping[str, float]
) -> tuple[list[float], Scale]:
    """Sums of z-scores; a node the dense search lacks counts as its worst."""
    lowest = min(dense.values(), default=0.0)
    similarities = np.array([dense.get(node, lowest) for node in ids], dtype=np.float64)
    keywords = np.array([sparse.get(node, 0.0) for node in ids], dtype=np.float64)
    fused: list[float] = (_standardised(similarities) + _standardised(keywords)).tolist()
    return fused, _scale_of_sums(similarities, keywords)


def _scale_of_sums(similarities: NDArray[np.float64], keywords: NDArray[np.float64]) -> Scale:
    """The sums of z-scores for a cosine and BM25 score of 0, and for 1 and the best BM25 score."""
    weights = [_weight(similarities), _weight(keywords)]
    if not any(weights):  # all chunks are alike, and the cosine says how similar
        cosine = float(similarities.mean()) if similarities.size else 0.0
        return Scale(-cosine, 1 - cosine)
    means = [float(similarities.mean()), float(keywords.mean())]
    tops = [1.0, float(keywords.max())]
    return Scale(
        -sum(weight * mean for weight, mean in zip(weights, means, strict=True)),
        sum(w * (top - mean) for w, top, mean in zip(weights, tops, means, strict=True)),
    )


def _weight(scores: NDArray[np.float64]) -> float:
    """What a z-score grows by when its score grows by one."""
    deviation = float(scores.std()) if scores.size else 0.0
    return 0.0 if deviation < np.finfo(np.float32).eps else 1 / deviation


def _standardised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Z-scores; all zero where every score is the same and the ranking has nothing to say."""
    weight = _weight(scores)
    return np.asarray((scores - scores.mean()) * weight) if weight else np.zeros_like(scores)


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
