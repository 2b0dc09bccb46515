"""A question's rankings, asked of a server in one request.

The server ranks by each search, and gives the candidates of each their score in the other one too:
rankings to some depth, each completed by what only the other one found. Of a hybrid question it
also gives the scores of the first points by their ids, which are hashes: as good as drawn, and the
same every time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qdrant_client.http import models as rest

from rag_nodes.store.bm25 import query_vectors
from rag_nodes.store.fusion import DEPTH, SAMPLE, Rest, Scores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rag_nodes.store.points import Layout
    from rag_nodes.store.queries import Query

_EXACTLY = rest.SearchParams(quantization=rest.QuantizationSearchParams(rescore=True))
"""Whatever candidates are found by, small copies of embeddings too, their scores are cosines."""
_DRAWN = "drawn"
"""Candidates that are not ranked."""
_SHARDS = 16
"""Parts a collection may consist of, at most; each has candidates of its own."""


def requests_for(
    layout: Layout, query: Query, chosen: Sequence[Any]
) -> dict[tuple[str, str], rest.QueryRequest]:
    """What is asked of a server, by the search that scores and the one whose candidates it scores.

    Args:
        layout: vectors of the collection, the embedding that is compared as `dense`.
        query: what is asked.
        chosen: conditions that chunks have to pass.
    """
    searches = _searches(layout, query, chosen)
    candidates: dict[str, rest.Prefetch] = dict(searches)
    if query.mode == "hybrid":
        candidates[_DRAWN] = rest.Prefetch(filter=ranked(layout, chosen), limit=SAMPLE)
    return {
        (kind, of): _request(search, None if of == kind else candidates[of])
        for kind, search in searches.items()
        for of in candidates
    }


def scores_of(
    query: Query, answers: Mapping[tuple[str, str], Any], every: Callable[[], int]
) -> Scores:
    """What the answers to these requests say.

    Args:
        query: what was asked.
        answers: by what `requests_for` has them by.
        every: tells how many chunks may be found; asked where the answers do not hold all.
    """
    found: dict[str, dict[str, float]] = {"dense": {}, "sparse": {}}
    drawn: dict[str, dict[str, float]] = {"dense": {}, "sparse": {}}
    for (kind, of), answer in answers.items():
        noted = drawn if of == _DRAWN else found
        noted[kind] |= {str(point.id): float(point.score) for point in answer.points}
    known = found["dense"].keys() | found["sparse"].keys()
    behind = drawn["dense"].keys() - known
    is_whole = len(drawn["dense"]) < SAMPLE
    others = Rest(
        len(behind) if is_whole else every() - len(known),
        [drawn["dense"][one] for one in behind],
        [drawn["sparse"].get(one, 0.0) for one in behind],
    )
    return Scores(
        None if query.mode == "sparse" else found["dense"],
        None if query.mode == "dense" else found["sparse"],
        others if behind else None,
    )


def ranked(layout: Layout, chosen: Sequence[Any]) -> rest.Filter:
    """The chunks that pass conditions, and no parents."""
    present = rest.HasVectorCondition(has_vector=layout.dense)
    return rest.Filter(must=[present, *chosen])


def _searches(layout: Layout, query: Query, chosen: Sequence[Any]) -> dict[str, rest.Prefetch]:
    """The rankings that a question asks for; none by words where it has none."""
    searches: dict[str, rest.Prefetch] = {}
    scope = rest.Filter(must=list(chosen)) if chosen else None
    common: dict[str, Any] = {"filter": scope, "limit": max(query.limit, DEPTH)}
    if query.mode != "sparse":
        searches["dense"] = rest.Prefetch(
            query=list(query.vector or ()), using=layout.dense or None, params=_EXACTLY, **common
        )
    if query.mode != "dense":
        (indices,), (values,) = query_vectors([query.text or ""])
        words = rest.SparseVector(indices=indices, values=values)
        if indices:
            searches["sparse"] = rest.Prefetch(query=words, using=layout.sparse, **common)
    return searches


def _request(search: rest.Prefetch, candidates: rest.Prefetch | None) -> rest.QueryRequest:
    """A ranking, or the scores in it of what another one finds."""
    if candidates is None:
        return rest.QueryRequest(**dict(search))
    return rest.QueryRequest(
        prefetch=candidates,
        query=search.query,
        using=search.using,
        params=search.params,
        limit=(candidates.limit or 0) * _SHARDS,
    )
