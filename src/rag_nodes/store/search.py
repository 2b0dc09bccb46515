"""One question against one collection: both rankings, complete scores, fused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.errors import ConfigurationError, DimensionError
from rag_nodes.store.faults import shown
from rag_nodes.store.filters import Filter, conditions
from rag_nodes.store.fusion import FUSIONS, Fusion, fuse
from rag_nodes.store.hit import Hit
from rag_nodes.store.layout import layout_of, without_words
from rag_nodes.store.sparse import query_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseNode, TextNode
    from qdrant_client.http import models as rest

    from rag_nodes.store.engine import Engine
    from rag_nodes.store.layout import Layout

SearchMode = Literal["hybrid", "dense", "sparse"]
"""By meaning and words, by meaning only, or by words only."""

SERVER_DEPTH = 200
"""Candidates of each ranking on a server; embedded Qdrant scores every point anyway."""


@dataclass(frozen=True, slots=True)
class Query:
    """What to search for.

    Attributes:
        vector: embedding of the question; needed unless the mode is "sparse".
        text: the question; needed unless the mode is "dense".
        mode: which rankings to use.
        document_ids: search only these documents; None for all.
        filter: search only chunks that pass it; None for all.
        fusion: how a hybrid search joins its rankings, see `rag_nodes.store.fusion`.

    Raises:
        ConfigurationError: mode or fusion is unknown, or the mode needs a vector or text that is
            missing.
    """

    vector: Sequence[float] | None
    text: str | None
    mode: SearchMode = "hybrid"
    document_ids: Sequence[str] | None = None
    filter: Filter | None = None
    fusion: Fusion = "score"

    def __post_init__(self) -> None:
        """Check that the mode has what it needs."""
        if self.mode not in {"hybrid", "dense", "sparse"}:
            raise ConfigurationError(
                f"unknown search mode {self.mode!r}; choose hybrid, dense or sparse"
            )
        if self.fusion not in FUSIONS:
            raise ConfigurationError(
                f"unknown fusion {self.fusion!r}; choose {', '.join(FUSIONS[:-1])} or {FUSIONS[-1]}"
            )
        if self.mode != "sparse" and self.vector is None:
            raise ConfigurationError(f"search mode {self.mode!r} needs the question's embedding")
        if self.mode != "dense" and self.text is None:
            raise ConfigurationError(f"search mode {self.mode!r} needs the question's text")


def search(engine: Engine, collection: str, query: Query, limit: int) -> list[Hit]:
    """The best `limit` chunks, see `Store.search`."""
    if limit < 1:
        raise ConfigurationError(f"the number of chunks to find must be at least 1, not {limit}")
    kind = _Embedded if engine.embedded else _Served
    with engine.calls(collection):
        layout = layout_of(engine, collection)
        if layout.sparse is None:
            query = replace(query, mode=without_words(engine, collection, query.mode))
        searcher = kind(engine, collection, query, layout, limit)
        dense = searcher.similarities() if query.mode != "sparse" else None
        sparse = searcher.word_scores() if query.mode != "dense" else None
        if dense is not None and sparse is not None:
            searcher.complete(dense, sparse)
        ranking = fuse(dense, sparse, query.fusion)
        best = _read(engine, collection, ranking.pairs, limit)
    return [
        Hit(
            node=node,
            rank=rank,
            score=ranking.scale.place(score),
            similarity=dense.get(node_id) if dense is not None else None,
            keyword_score=sparse.get(node_id, 0.0) if sparse is not None else None,
            fused_score=score if dense is not None and sparse is not None else None,
        )
        for rank, (node_id, score, node) in enumerate(best, start=1)
    ]


def _read(
    engine: Engine, collection: str, ranked: list[tuple[str, float]], limit: int
) -> list[tuple[str, float, TextNode]]:
    """Id, score and node of the best `limit` that are still there.

    Whoever ingests into a server may delete between ranking and reading; the next best follow.
    """
    found: list[tuple[str, float, TextNode]] = []
    place = 0
    while len(found) < limit and place < len(ranked):
        page = ranked[place : place + limit - len(found)]
        place += len(page)
        nodes = nodes_of(engine, collection, [node_id for node_id, _ in page])
        found.extend((*pair, nodes[pair[0]]) for pair in page if pair[0] in nodes)
    return found


def documents_filter(document_ids: Sequence[str]) -> rest.Filter | None:
    """Only chunks of these documents."""
    return conditions(Filter(document_ids=document_ids))


class _Searcher:
    """What searching needs wherever the vectors are."""

    def __init__(self, engine: Engine, collection: str, query: Query, layout: Layout) -> None:
        self.layout = layout
        self.engine = engine
        self.collection = collection
        self.query = query
        self._check_vector()
        self.scope = conditions((query.filter or Filter()).within(query.document_ids))

    def _check_vector(self) -> None:
        """Find out whether the question's vector fits the collection."""
        vector, expected = self.query.vector, self.layout.size
        if self.query.mode != "sparse" and vector is not None and len(vector) != expected:
            raise DimensionError(
                f"{self.engine.location}: collection {self.collection!r} holds vectors of length "
                f"{expected}, the question's has {len(vector)}; ask with the embedding model it "
                "was ingested with"
            )


class _Embedded(_Searcher):
    """Scores of every chunk in this process; there is nothing to complete."""

    def __init__(
        self, engine: Engine, collection: str, query: Query, layout: Layout, _limit: int
    ) -> None:
        super().__init__(engine, collection, query, layout)
        self.index = engine.index(collection, layout.dense, layout.sparse)
        self.allowed = self._allowed()

    def similarities(self) -> dict[str, float]:
        """Cosine similarity of every chunk."""
        scores = self.index.similarities(list(self.query.vector or ())).tolist()
        return self._kept(scores)

    def word_scores(self) -> dict[str, float]:
        """BM25 score of every chunk that shares a word with the question."""
        (numbers,), _ = query_vectors([self.query.text or ""])
        scores = self._kept(self.index.word_scores(numbers).tolist())
        return {node_id: score for node_id, score in scores.items() if score > 0}

    def complete(self, dense: dict[str, float], sparse: dict[str, float]) -> None:
        """Do nothing: both rankings hold every chunk."""

    def _kept(self, scores: list[float]) -> dict[str, float]:
        pairs = zip(self.index.ids, scores, strict=True)
        return {one: score for one, score in pairs if self.allowed is None or one in self.allowed}

    def _allowed(self) -> set[str] | None:
        """Ids of the chunks the search is limited to; None for all."""
        if self.scope is None:
            return None
        found, _ = self.engine.client.scroll(
            self.collection,
            scroll_filter=self.scope,
            limit=max(1, len(self.index.ids)),
            with_payload=False,
        )
        return {str(point.id) for point in found}


class _Served(_Searcher):
    """Scores from a server, which ranks to some depth."""

    def __init__(
        self, engine: Engine, collection: str, query: Query, layout: Layout, limit: int
    ) -> None:
        super().__init__(engine, collection, query, layout)
        self.depth = max(limit, SERVER_DEPTH)
        if self.scope is not None:
            engine.make_filterable(collection)

    def similarities(self, node_ids: Sequence[str] | None = None) -> dict[str, float]:
        """Cosine similarities of the nearest chunks, or of the given ones."""
        return self._scores(list(self.query.vector or ()), self.layout.dense, node_ids)

    def word_scores(self, node_ids: Sequence[str] | None = None) -> dict[str, float]:
        """BM25 scores of the chunks that share a word with the question, or of the given ones."""
        from qdrant_client.http import models as rest

        indices, values = query_vectors([self.query.text or ""])
        if not indices[0]:
            return {}
        sparse = rest.SparseVector(indices=indices[0], values=values[0])
        return self._scores(sparse, self.layout.sparse, node_ids)

    def complete(self, dense: dict[str, float], sparse: dict[str, float]) -> None:
        """Give every chunk that one ranking found its score in the other one too.

        A ranking shorter than the depth asked for is complete: what it lacks scores nothing.
        """
        only_sparse = [node_id for node_id in sparse if node_id not in dense]
        if only_sparse and len(dense) >= self.depth:
            dense.update(self.similarities(only_sparse))
        only_dense = [node_id for node_id in dense if node_id not in sparse]
        if only_dense and len(sparse) >= self.depth:
            sparse.update(self.word_scores(only_dense))

    def _scores(
        self,
        vector: list[float] | rest.SparseVector,
        name: str | None,
        node_ids: Sequence[str] | None,
    ) -> dict[str, float]:
        from qdrant_client.http import models as rest

        scope, limit = self.scope, self.depth
        if node_ids is not None:
            scope = rest.Filter(must=[rest.HasIdCondition(has_id=list(node_ids))])
            limit = len(node_ids)
        if limit == 0:
            return {}
        found = self.engine.client.query_points(
            self.collection,
            query=vector,
            using=name or None,
            query_filter=scope,
            limit=limit,
            with_payload=False,
            with_vectors=False,
        )
        return {str(point.id): float(point.score) for point in found.points}


def count_ranked(engine: Engine, collection: str, dense: str) -> int:
    """Points of a collection that have vectors, so that a search can find them."""
    from qdrant_client.http import models as rest

    ranked = rest.Filter(must=[rest.HasVectorCondition(has_vector=dense)])
    return int(engine.client.count(collection, count_filter=ranked, exact=True).count)


def nodes_of(engine: Engine, collection: str, node_ids: list[str]) -> dict[str, TextNode]:
    """The stored nodes by id, as they were written."""
    from llama_index.core.schema import TextNode

    if not node_ids:
        return {}
    # Points of other programs may be numbered.
    ids = [int(one) if one.isdecimal() else one for one in node_ids]
    records: Any = engine.client.retrieve(collection, ids=ids, with_payload=True)
    nodes: dict[str, TextNode] = {}
    for record in records:
        node = _node_in(record, engine, collection)
        if isinstance(node, TextNode):
            nodes[str(record.id)] = node
    return nodes


def _node_in(record: Any, engine: Engine, collection: str) -> BaseNode:
    """The node a point holds."""
    from llama_index.core.vector_stores.utils import metadata_dict_to_node

    payload = record.payload or {}
    try:
        return metadata_dict_to_node(payload)
    except ValueError as error:
        raise ConfigurationError(
            f"{shown(engine.location)}: point {record.id} of collection {collection!r} holds no "
            f"node of LlamaIndex but {', '.join(map(repr, payload)) or 'nothing'} ({error}); "
            "ingest the documents into a collection of ours"
        ) from error


def vectors_of(
    engine: Engine, collection: str, node_ids: list[str]
) -> dict[str, tuple[str, list[float]]]:
    """Embedding text and vector of the stored nodes, by id."""
    from llama_index.core.schema import MetadataMode

    layout = layout_of(engine, collection)
    records: Any = engine.client.retrieve(
        collection, ids=node_ids, with_payload=True, with_vectors=layout.asked
    )
    return {
        str(record.id): (
            _node_in(record, engine, collection).get_content(MetadataMode.EMBED),
            list(layout.of(record.vector)[layout.dense]),
        )
        for record in records
        if layout.dense in layout.of(record.vector)
    }
