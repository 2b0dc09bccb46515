"""A question's rankings, asked of a server in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qdrant_client.http import models as rest

from rag_nodes.store.bm25 import query_vectors
from rag_nodes.store.engine import CANDIDATES
from rag_nodes.store.fusion import DEPTH, SAMPLE, Rest, Scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.store.points import Layout
    from rag_nodes.store.queries import Query

_EXACTLY = rest.SearchParams(quantization=rest.QuantizationSearchParams(rescore=True))
"""Whatever candidates are found by, small copies of embeddings too, their scores are cosines."""
_DRAWN = "drawn"
"""Candidates that are not ranked."""
_SHARDS = 16
"""Parts a collection may consist of, at most; each has candidates of its own."""


class Rankings:
    """The requests of one question, and what their answers say.

    The server ranks by each search, and gives the candidates of each their score in the other one
    too: rankings to some depth, each completed by what only the other one found. Of a hybrid
    question it also gives the scores of the first points by their ids, which are hashes: as good as
    drawn, and the same every time.

    Args:
        layout: vectors of the collection.
        query: what is asked.
        chosen: conditions that chunks have to pass.
        params: of the searches; None for ours.
    """

    def __init__(
        self,
        layout: Layout,
        query: Query,
        chosen: Sequence[Any] = (),
        params: rest.SearchParams | None = None,
    ) -> None:
        self._mode = query.mode
        searches = _searches(layout, query, chosen, params)
        candidates: dict[str, rest.Prefetch | None] = {**searches}
        if query.mode == "hybrid":
            scope = ranked(layout, chosen)
            candidates[_DRAWN] = rest.Prefetch(filter=scope, limit=SAMPLE)
        self._asked = [(kind, of) for kind in searches for of in candidates]
        self.requests = [
            _request(searches[kind], None if of == kind else candidates[of])
            for kind, of in self._asked
        ]
        self._found: dict[str, dict[str, float]] = {kind: {} for kind in ("dense", "sparse")}
        self._drawn: dict[str, dict[str, float]] = {kind: {} for kind in ("dense", "sparse")}

    def take(self, answers: Sequence[Any]) -> None:
        """Note the answers to the requests, in their order."""
        for (kind, of), answer in zip(self._asked, answers, strict=True):
            noted = self._drawn if of == _DRAWN else self._found
            noted[kind] |= {str(point.id): float(point.score) for point in answer.points}

    @property
    def is_whole(self) -> bool:
        """Whether there are no chunks but those of the answers."""
        return len(self._drawn["dense"]) < SAMPLE

    def scores(self, every: int = 0) -> Scores:
        """What the answers say.

        Args:
            every: chunks that may be found; where the answers hold all, it does not matter.
        """
        known = self._found["dense"].keys() | self._found["sparse"].keys()
        behind = self._drawn["dense"].keys() - known
        similar, worded = self._drawn["dense"], self._drawn["sparse"]
        rest_ = Rest(
            len(behind) if self.is_whole else every - len(known),
            [similar[one] for one in behind],
            [worded.get(one, 0.0) for one in behind],
        )
        return Scores(
            None if self._mode == "sparse" else self._found["dense"],
            None if self._mode == "dense" else self._found["sparse"],
            rest_ if behind else None,
        )


def ranked(layout: Layout, chosen: Sequence[Any]) -> rest.Filter:
    """The chunks that pass conditions, and no parents."""
    present = rest.HasVectorCondition(has_vector=layout.dense)
    return rest.Filter(must=[present, *chosen])


def diverse(
    layout: Layout, query: Query, chosen: Sequence[Any], weight: float
) -> list[rest.QueryRequest]:
    """What is asked for different chunks, and for their similarity, see `Engine.diverse`."""
    vector, limit = list(query.vector or ()), query.limit
    mmr = rest.Mmr(diversity=1 - weight, candidates_limit=limit * CANDIDATES)
    search = rest.Prefetch(
        query=rest.NearestQuery(nearest=vector, mmr=mmr),
        using=layout.dense or None,
        filter=rest.Filter(must=list(chosen)) if chosen else None,
        limit=limit,
        params=_EXACTLY,
    )
    near = search.model_copy(update={"query": vector})
    return [_request(search), _request(near, search)]


def _searches(
    layout: Layout, query: Query, chosen: Sequence[Any], params: rest.SearchParams | None
) -> dict[str, rest.Prefetch]:
    """The rankings that a question asks for; none by words where it has none."""
    searches: dict[str, rest.Prefetch] = {}
    common: dict[str, Any] = {
        "filter": rest.Filter(must=list(chosen)) if chosen else None,
        "limit": max(query.limit, DEPTH),
        "params": params,
    }
    if query.mode != "sparse":
        vector = list(query.vector or ())
        dense: dict[str, Any] = {**common, "using": layout.dense or None}
        dense["params"] = params or _EXACTLY
        searches["dense"] = rest.Prefetch(query=vector, **dense)
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
        limit=(candidates.limit or 0) * _SHARDS,
    )
