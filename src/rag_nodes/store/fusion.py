"""Two rankings into one, and what its scores mean between 0 and 1.

Cosine similarities and BM25 scores have nothing in common but their order of magnitude *within one
question*; z-scores put them on one scale, and their sum is what ranks by default. On labelled data
this beats both rankings alone and their reciprocal-rank fusion.

Sums of z-scores mean nothing to anyone else. But without the means, which are the same for every
chunk, they are a weighted sum of cosine and BM25: 0 for a chunk that shares neither meaning nor a
word with the question, and every score has its place between that and one that could not be better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

Fusion = Literal["score", "rank"]
"""By the sum of z-scores, or of reciprocal ranks."""
FUSIONS: tuple[Fusion, ...] = get_args(Fusion)
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
TIES = 32
"""Chunks that a single ranking gives beyond what is wanted, as some may score like the last."""
RANK_OFFSET = 60
"""Added to each rank before its reciprocal is taken, as in the literature, to flatten the first."""


def depth_of(limit: int, every: int) -> int:
    """Return the chunks that each ranking contributes to a hybrid search, by the number wanted."""
    return max(limit, COMPLETE if every <= COMPLETE else DEPTH)


class Rest(NamedTuple):
    """Chunks that may be found and that no ranking reached: how many, and scores of a sample.

    Of each in the sample its cosine similarity, and its BM25 score, 0 without a common word.
    """

    chunks: int
    dense: Sequence[float]
    sparse: Sequence[float]


class Scores(NamedTuple):
    """Scores of each search by node id, None for a search that was not made: cosines, BM25.

    Nodes without a common word have no BM25 score. Where two rankings end at some depth, `rest` is
    what is behind them.
    """

    dense: Mapping[str, float] | None
    sparse: Mapping[str, float] | None
    rest: Rest | None = None


class Ranking(NamedTuple):
    """Hits, best first; `best` is the highest score that is possible."""

    pairs: list[tuple[str, float]]
    best: float

    def share(self, score: float) -> float:
        """A score from 0 to 1, in the same order; below nothing is 0 as well."""
        return min(1.0, max(0.0, score / self.best)) if self.best > 0 else 0.0


def fuse(scores: Scores, method: Fusion = "score", alpha: float | None = None) -> Ranking:
    """Rank everything that either search found; `alpha` is the dense ranking's weight, else half.

    One ranking alone keeps its own scores. As a share of the best, a dense search has its cosine, a
    sparse one the share of the question's best BM25 score, "score" the mean of both, weighted as
    they rank (a ranking in which all are alike has no weight), and "rank" the share of what first
    place in both gives.
    """
    dense, sparse, _ = scores
    if dense is None or sparse is None:
        alone = dense if dense is not None else sparse or {}
        return _ranked(alone, 1.0 if dense is not None else max(alone.values(), default=0.0))
    if method == "rank":
        first, second = _reciprocal_ranks(dense), _reciprocal_ranks(sparse)
        ids = (*first, *second)
        summed = {node_id: first.get(node_id, 0.0) + second.get(node_id, 0.0) for node_id in ids}
        return _ranked(summed, 2 / (RANK_OFFSET + 1))
    return _by_score(dense, sparse, scores.rest or Rest(0, (), ()), alpha)


def _by_score(
    dense: Mapping[str, float], sparse: Mapping[str, float], rest: Rest, alpha: float | None
) -> Ranking:
    """By sums of scores over deviations; a node that the dense search lacks counts as its worst."""
    lowest = min(dense.values(), default=0.0)
    ids = dict.fromkeys((*dense, *sparse))
    similar = np.array([dense.get(node_id, lowest) for node_id in ids], dtype=np.float64)
    worded = np.array([sparse.get(node_id, 0.0) for node_id in ids], dtype=np.float64)
    shares = (1.0, 1.0) if alpha is None else (alpha, 1 - alpha)
    deviations = _deviation(similar, rest.dense, rest), _deviation(worded, rest.sparse, rest)
    # A ranking in which all are alike has nothing to say.
    first, second = (
        share / deviation if deviation else 0.0
        for share, deviation in zip(shares, deviations, strict=True)
    )
    if not first and not second:  # all chunks are alike, and the cosine says how
        return _ranked(dict.fromkeys(ids, float(similar.mean()) if ids else 0.0), 1.0)
    fused = (first * similar + second * worded).tolist()
    return _ranked(dict(zip(ids, fused, strict=True)), first + second * float(worded.max()))


def _deviation(scores: NDArray[np.float64], sample: Sequence[float], rest: Rest) -> float:
    """Standard deviation of what was found and, by their sample, of the rest; 0 of equal ones."""
    if not scores.size:
        return 0.0
    each = np.concatenate([scores, np.asarray(sample, dtype=np.float64)])
    share = max(rest.chunks, 0) / len(sample) if sample else 0.0
    shares = np.repeat([1.0, share], [scores.size, len(sample)])
    mean = np.average(each, weights=shares)
    deviation = float(np.sqrt(np.average((each - mean) ** 2, weights=shares)))
    return deviation if deviation >= np.finfo(np.float32).eps else 0.0


def _reciprocal_ranks(scores: Mapping[str, float]) -> dict[str, float]:
    ranked = _ranked(scores, 0.0).pairs
    return {node: 1.0 / (RANK_OFFSET + rank) for rank, (node, _) in enumerate(ranked, start=1)}


def _ranked(scores: Mapping[str, float], best: float) -> Ranking:
    return Ranking(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])), best)
