"""The searches of one question in this process, and what they find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import qdrant_edge as edge

from rag_nodes.store.bm25 import query_vectors
from rag_nodes.store.edge.terms import one_of
from rag_nodes.store.fusion import Rest, Scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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
        self._shard, self._layout, self._share = shard, layout, share
        self._query, self._scope = query, scope
        self._dense = (layout.using(query.using) or layout).dense
        self._each = dict(self._made())
        self._scopes = {"dense": self._having(), "sparse": scope}

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
                ranked.update(self._among(kind, known.keys() - ranked.keys()))
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
            self._among(kind, sample) if kind in self._each else {} for kind in ("dense", "sparse")
        )
        behind = similar.keys() - known.keys()  # parents have no embedding
        ranked = round(every * len(similar) / len(sample))
        return Rest(
            ranked - len(known),
            [similar[one] for one in behind],
            [worded.get(one, 0.0) for one in behind],
        )

    def _made(self) -> Iterator[tuple[str, tuple[Any, Any]]]:
        """What is asked, and how, by kind; nothing by words where there is none."""
        query = self._query
        if query.mode != "sparse":
            nearest = edge.Query.Nearest(_numbers(query), self._dense)
            yield "dense", (nearest, edge.SearchParams(exact=True))
        if query.mode != "dense":
            (indices,), (values,) = query_vectors([query.text or ""])
            if indices:
                words = edge.SparseVector(indices=indices, values=values)
                nearest = edge.Query.Nearest(words, self._layout.sparse)
                rarity = edge.IdfParams(corpus=self._share.corpus)
                yield "sparse", (nearest, edge.SearchParams(idf=rarity))

    def _having(self) -> Any:
        """The scope of a search by an embedding.

        Of a part that was sealed before it had that embedding the engine reads, once it was opened
        again, more than there is, and fails; unless it is told which points have one.
        """
        if self._dense == self._layout.dense:
            return self._scope
        also = () if self._scope is None else (self._scope,)
        return edge.Filter(must=[edge.HasVectorCondition(vector=self._dense), *also])

    def _among(self, kind: str, ids: Iterable[Any]) -> dict[Any, float]:
        """Scores of points by the engine's ids."""
        wanted = set(ids)
        also = () if self._scope is None else (self._scope,)
        return self._ask(kind, len(wanted), edge.Filter(must=[one_of(wanted), *also]))

    def _ask(self, kind: str, limit: int, scope: Any = None) -> dict[Any, float]:
        """Scores by the engine's ids, best first."""
        if limit < 1:
            return {}
        nearest, params = self._each[kind]
        request = edge.QueryRequest(
            limit=limit, query=nearest, filter=scope or self._scopes[kind], params=params
        )
        return {one.id: one.score for one in self._shard.query(request)}


def _numbers(query: Query) -> list[float]:
    return [float(value) for value in query.vector or ()]
