"""Two rankings into one, and what its scores mean between 0 and 1.

Cosine similarities and BM25 scores have nothing in common but their order of magnitude *within one
question*; z-scores put them on one scale, and their sum is what ranks by default. On labelled data
this beats both rankings alone and their reciprocal-rank fusion.

Sums of z-scores mean nothing to anyone else. But without the means, which are the same for every
chunk, they are a weighted sum of cosine and BM25: 0 for a chunk that shares neither meaning nor a
word with the question, and every score has its place between that and one that could not be better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rag_nodes.store.queries import Fusion

COMPLETE = 1_000
"""Chunks up to which a hybrid question gets the scores of all of them, at what a sample costs."""
DEPTH = 200
"""Chunks that each ranking gives of a larger collection, at least.

Means and deviations of these alone would weigh both rankings otherwise: of 661 labelled questions,
recall of whole chunks at 1,000 tokens is lower by 2.3 points among 10,000 chunks, and still by 1.7
at a depth of 5,000. With a sample of the others it is that of complete rankings, at a fifth of the
time (`benchmarks/fusion_depth.py`)."""
SAMPLE = 500
"""Chunks that stand for all that are behind them."""
RANK_OFFSET = 60
"""Added to each rank before its reciprocal is taken, as is usual: it flattens the first ranks."""
_SPREAD = 3.0
"""Standard deviations around the mean that distribution-based fusion maps to 0 and 1."""


def depth_of(limit: int, every: int) -> int:
    """How many chunks each ranking gives a hybrid question.

    Args:
        limit: chunks that are wanted.
        every: chunks that may be found.
    """
    return max(limit, every if every <= COMPLETE else DEPTH)


class Rest(NamedTuple):
    """Chunks that may be found and that no ranking reached: what they score, by a sample.

    Attributes:
        chunks: how many there are.
        dense: cosine similarities of the sample.
        sparse: BM25 scores of the same, 0 for one without a common word.
    """

    chunks: int
    dense: Sequence[float]
    sparse: Sequence[float]


class Scores(NamedTuple):
    """What each search found.

    Attributes:
        dense: cosine similarity by node id; None when there was no dense search.
        sparse: BM25 score by node id, nodes without a common word left out; None when there was
            no sparse search.
        rest: of two rankings that end at some depth what is behind them; None where they hold
            everything.
    """

    dense: Mapping[str, float] | None
    sparse: Mapping[str, float] | None
    rest: Rest | None = None


class ScoreRange(NamedTuple):
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
    scale: ScoreRange


def fuse(
    dense: Mapping[str, float] | None,
    sparse: Mapping[str, float] | None,
    method: Fusion = "score",
    rest: Rest | None = None,
    alpha: float | None = None,
) -> Ranking:
    """Rank everything that either search found.

    Args:
        dense: cosine similarity by node id; None when there was no dense search.
        sparse: BM25 score by node id, nodes without a common word left out; None when there was
            no sparse search.
        method: "score" sums z-scores over everything there is; "distribution" scales each ranking
            from three standard deviations below its own mean (0) to three above (1) and sums, a
            node a ranking lacks having 0 there; "rank" sums reciprocal ranks.
        rest: chunks behind both rankings, which count for the mean and deviation of z-scores.
        alpha: weight of the dense ranking's z-scores, from 0 to 1, the rest being that of the
            other; None for the same.

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
        return Ranking(_ranked(list(single), list(single.values())), ScoreRange(0.0, best))
    ids = list(dict.fromkeys((*dense, *sparse)))
    if method == "score":
        fused, scale = _by_score(ids, dense, sparse, rest, alpha)
    elif method == "distribution":
        fused, scale = _summed(ids, _spread(dense), _spread(sparse)), ScoreRange(0.0, 2.0)
    else:
        fused = _summed(ids, _reciprocal_ranks(dense), _reciprocal_ranks(sparse))
        scale = ScoreRange(0.0, 2 / (RANK_OFFSET + 1))
    return Ranking(_ranked(ids, fused), scale)


def _by_score(
    ids: Sequence[str],
    dense: Mapping[str, float],
    sparse: Mapping[str, float],
    rest: Rest | None,
    alpha: float | None,
) -> tuple[list[float], ScoreRange]:
    """Sums of scores over their deviations: those of z-scores, but for what is the same for all.

    A node the dense search lacks counts as its worst.
    """
    lowest = min(dense.values(), default=0.0)
    similarities = np.array([dense.get(node, lowest) for node in ids], dtype=np.float64)
    keywords = np.array([sparse.get(node, 0.0) for node in ids], dtype=np.float64)
    behind = rest or Rest(0, (), ())
    deviations = (
        _deviation(similarities, behind.dense, behind.chunks),
        _deviation(keywords, behind.sparse, behind.chunks),
    )
    shares = (1.0, 1.0) if alpha is None else (alpha, 1 - alpha)
    # A ranking in which all are alike has nothing to say.
    first, second = (
        share / one if one else 0.0 for share, one in zip(shares, deviations, strict=True)
    )
    if not first and not second:  # all chunks are alike, and the cosine says how
        alike = float(similarities.mean()) if similarities.size else 0.0
        return [alike] * len(ids), ScoreRange(0.0, 1.0)
    fused: list[float] = (first * similarities + second * keywords).tolist()
    return fused, ScoreRange(0.0, first + second * float(keywords.max()))


def _deviation(scores: NDArray[np.float64], sample: Sequence[float] = (), times: int = 0) -> float:
    """Standard deviation; 0 where every score is the same.

    Args:
        scores: some of them.
        sample: of the others.
        times: how many others there are, for which the sample stands.
    """
    if not scores.size:
        return 0.0
    each = np.concatenate([scores, np.asarray(sample, dtype=np.float64)])
    share = max(times, 0) / len(sample) if sample else 0.0
    shares = np.repeat([1.0, share], [scores.size, len(sample)])
    mean = np.average(each, weights=shares)
    found = float(np.sqrt(np.average((each - mean) ** 2, weights=shares)))
    return found if found >= np.finfo(np.float32).eps else 0.0


def _spread(scores: Mapping[str, float]) -> dict[str, float]:
    """Each score's place within its ranking's spread, from 0 to 1."""
    own = np.array(list(scores.values()), dtype=np.float64)
    deviation = _deviation(own)
    z_scores = (own - own.mean()) / deviation if deviation else np.zeros(own.size)
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
