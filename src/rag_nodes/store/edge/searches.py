"""The searches of one question in this process, and what they find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import qdrant_edge as edge

from rag_nodes.store.bm25 import query_vectors
from rag_nodes.store.edge.terms import one_of
from rag_nodes.store.fusion import Rest, Scores

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from rag_nodes.store.edge.terms import ShardShare
    from rag_nodes.store.points import Layout
    from rag_nodes.store.queries import Query


class Searches:
    """One by meaning, one by words, or both; each ranks the same points.

    Args:
        shard: that is asked.
        layout: of its vectors.
        share: of the collection in it.
        query: what is asked; its filter is not looked at.
        scope: conditions of points that may be found; None for all.
    """

    def __init__(
        self, shard: Any, layout: Layout, share: ShardShare, query: Query, scope: Any
    ) -> None:
        self._shard, self._layout, self._share, self._query = shard, layout, share, query
        self._each = dict(self._made(scope))

    def scores(self, depth: int, every: int = 0, sample: frozenset[Any] = frozenset()) -> Scores:
        """What each finds, completed by what only the other one found.

        Args:
            depth: points that each gives, at most.
            every: points that may be found, where that is more.
            sample: some of them, which stand for those that neither finds.
        """
        found = {kind: self._ask(kind, depth) for kind in self._each}
        known = dict.fromkeys(one for ranked in found.values() for one in ranked)
        for kind, ranked in found.items():
            if len(ranked) >= depth:  # else it holds whatever it could find
                ranked.update(self._ask(kind, 0, known.keys() - ranked.keys()))
        names = {one: self._share.node_id(one) for one in known}
        similar, worded = (
            {names[one]: score for one, score in found.get(kind, {}).items()}
            for kind in ("dense", "sparse")
        )
        return Scores(
            None if self._query.mode == "sparse" else similar,
            None if self._query.mode == "dense" else worded,
            self._rest(sample, every, known) if sample else None,
        )

    def _rest(self, sample: frozenset[Any], every: int, known: Mapping[Any, None]) -> Rest:
        """What chunks score that no ranking reached, by some of them."""
        similar, worded = (
            self._ask(kind, 0, sample) if kind in self._each else {} for kind in ("dense", "sparse")
        )
        behind = similar.keys() - known.keys()  # parents have no embedding
        ranked = round(every * len(similar) / len(sample))
        return Rest(
            ranked - len(known),
            [similar[one] for one in behind],
            [worded.get(one, 0.0) for one in behind],
        )

    def _made(self, scope: Any) -> Iterator[tuple[str, tuple[Any, Any, list[Any]]]]:
        """What is asked, how, and of which points, by kind; nothing by words where there is none.

        Of a part that was sealed before it had a further embedding the engine reads, once it was
        opened again, more than there is, and fails; unless it is told which points have one.
        """
        query, must = self._query, [] if scope is None else [scope]
        if query.mode != "sparse":
            dense = (self._layout.using(query.using) or self._layout).dense
            nearest = edge.Query.Nearest([float(value) for value in query.vector or ()], dense)
            having = [edge.HasVectorCondition(vector=dense)] if dense != self._layout.dense else []
            yield "dense", (nearest, edge.SearchParams(exact=True), [*having, *must])
        if query.mode != "dense":
            (indices,), (values,) = query_vectors([query.text or ""])
            if indices:
                words = edge.SparseVector(indices=indices, values=values)
                nearest = edge.Query.Nearest(words, self._layout.sparse)
                rarity = edge.IdfParams(corpus=self._share.corpus)
                yield "sparse", (nearest, edge.SearchParams(idf=rarity), must)

    def _ask(self, kind: str, limit: int, ids: Collection[Any] | None = None) -> dict[Any, float]:
        """Scores by the engine's ids, best first; of some points, or of as many as the limit."""
        nearest, params, must = self._each[kind]
        if ids is not None:
            must, limit = [one_of(ids), *must], len(ids)
        if not limit:
            return {}
        scope = edge.Filter(must=must) if must else None
        request = edge.QueryRequest(limit=limit, query=nearest, filter=scope, params=params)
        return {one.id: one.score for one in self._shard.query(request)}
