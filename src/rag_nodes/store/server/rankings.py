"""A question's rankings, asked of a server in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qdrant_client.http import models as rest

from rag_nodes.store.bm25 import query_vectors
from rag_nodes.store.fusion import Scores
from rag_nodes.store.server.terms import conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.store.engine import Layout
    from rag_nodes.store.queries import Query

DEPTH = 200
"""Candidates of each ranking, at least."""
_EXACTLY = rest.SearchParams(quantization=rest.QuantizationSearchParams(rescore=True))
"""Whatever candidates are found by, small copies of embeddings too, their scores are cosines."""
_SHARDS = 16
"""Parts a collection may consist of, at most; each has candidates of its own."""


class Rankings:
    """The requests of one question, and what their answers say.

    The server ranks by each search, and gives the candidates of each their score in the other one
    too: rankings to some depth, each completed by what only the other one found.
    """

    def __init__(self, layout: Layout, query: Query) -> None:
        self._mode = query.mode
        searches = _searches(layout, query)
        asked = [
            (kind, _request(search, None if other == kind else searches[other]))
            for kind, search in searches.items()
            for other in searches
        ]
        self._kinds = [kind for kind, _ in asked]
        self._found: dict[str, dict[str, float]] = {kind: {} for kind in searches}
        self.requests = [request for _, request in asked]

    def scores(self, answers: Sequence[Any]) -> Scores:
        """What the answers to the requests say, in their order."""
        for kind, answer in zip(self._kinds, answers, strict=True):
            self._found[kind] |= {str(point.id): float(point.score) for point in answer.points}
        return Scores(
            None if self._mode == "sparse" else self._found["dense"],
            None if self._mode == "dense" else self._found.get("sparse", {}),
        )


def _searches(layout: Layout, query: Query) -> dict[str, rest.Prefetch]:
    """The rankings that a question asks for; none by words where it has none."""
    searches: dict[str, rest.Prefetch] = {}
    common: dict[str, Any] = {
        "filter": conditions(query.filter),
        "limit": max(query.limit, DEPTH),
    }
    if query.mode != "sparse":
        vector = list(query.vector or ())
        dense: dict[str, Any] = {"using": layout.dense or None, "params": _EXACTLY}
        searches["dense"] = rest.Prefetch(query=vector, **dense, **common)
    if query.mode != "dense":
        (indices,), (values,) = query_vectors([query.text or ""])
        words = rest.SparseVector(indices=indices, values=values)
        if indices:
            searches["sparse"] = rest.Prefetch(query=words, using=layout.sparse, **common)
    return searches


def _request(search: rest.Prefetch, candidates: rest.Prefetch | None = None) -> rest.QueryRequest:
    """A ranking, or the scores in it of what another one finds."""
    if candidates is None:
        return rest.QueryRequest(**dict(search))
    return rest.QueryRequest(
        prefetch=candidates,
        query=search.query,
        using=search.using,
        params=search.params,
        limit=(search.limit or 0) * _SHARDS,
    )
