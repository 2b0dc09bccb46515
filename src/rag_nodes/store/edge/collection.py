"""One collection: a shard of its own, or its share of one that several have."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import qdrant_edge as edge

from rag_nodes.errors import StoreFullError
from rag_nodes.metadata import BREADCRUMB, FILE_NAME
from rag_nodes.store.conditions import indexes_for
from rag_nodes.store.edge import files, sealing, shards
from rag_nodes.store.edge.searches import Searches
from rag_nodes.store.edge.terms import TENANT, WHOLE, conditions, one_of
from rag_nodes.store.engine import EngineCollection
from rag_nodes.store.filters import DOCUMENT_ID, INDEXES, Filter
from rag_nodes.store.fusion import SAMPLE, Scores, depth_of
from rag_nodes.store.points import Point

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rag_nodes.store.edge.terms import ShardShare
    from rag_nodes.store.filters import IndexKind
    from rag_nodes.store.points import Layout
    from rag_nodes.store.queries import Query, Scope

INDEXED = 2_000
"""Points from which keys that filters name are indexed: below, looking at all of them takes
milliseconds, and an index takes that per write, and several calls to the disk when it is made."""
USUAL = {key: INDEXES[key] for key in (DOCUMENT_ID, FILE_NAME)}
"""Keys that have an index from then on: an ingest finds what it replaces by the one, and most
questions that are not to all chunks are to a file. Each further key is indexed by the first filter
that names it: for each index the engine reads every payload again, now and when it seals."""
_PAGE = 1_000
"""Points read in one call."""
CHECKPOINT = 2_000
"""Points after which what was written is put on the disk itself: they outlive a power cut. What
ends the process alone loses nothing that was acknowledged. Parts that are full are sealed then."""


class Collection(EngineCollection):
    """What is stored under one name. The caller sees to it that no two threads are in here.

    Args:
        shard: opened.
        name: of it.
        layout: of its vectors.
        location: of its store, for messages.
        disk: its folder, or one on the disk it is on where it shares a shard.
        share: what of the shard is its own.
    """

    def __init__(
        self,
        shard: Any,
        name: str,
        layout: Layout,
        location: str,
        disk: Path,
        share: ShardShare = WHOLE,
    ) -> None:
        self.shard, self.layout, self._name, self._disk = shard, layout, name, disk
        self.where = f"{location}: collection {name!r}"
        self._share = share
        self._unflushed = 0
        self._indexed: frozenset[str] = frozenset()
        self._is_large = False
        self._marks: dict[str, str] = {}

    def write(self, points: Sequence[Point]) -> None:
        """Store points; those of the same id are replaced.

        Raises:
            StoreFullError: the disk has too little space; what was written before stays.
        """
        shards.write(self.shard, points, self.layout, self.where, self._disk, self._share)
        self._wrote(len(points))
        self.find_by(USUAL)

    def add_vector(self, name: str, size: int) -> None:
        """Let points have a further embedding; fine if another collection of the shard did."""
        distance = edge.Distance.Cosine
        self.shard.update(edge.UpdateOperation.create_dense_vector(name, size, distance))
        self.layout = self.layout._replace(named={**self.layout.named, name: size})
        if self._share.tenant is None:
            files.describe(self._disk, self._name, self.layout)

    def delete(self, node_ids: Sequence[str]) -> None:
        """Delete points; ids that are not there are fine."""
        self.shard.update(edge.UpdateOperation.delete_points(self._ids(node_ids)))
        self._wrote(len(node_ids))

    def clear(self) -> None:
        """Delete its share of a shared shard."""
        self.shard.update(edge.UpdateOperation.delete_points_by_filter(self._share.corpus))

    def count(self, vector: str | None) -> int:
        """Points that have the embedding of that name; None counts those too that have none."""
        having = edge.HasVectorCondition(vector=vector) if vector is not None else None
        return self._count(self._share.scope(having))

    def read(self, node_ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        """Points by id; unknown ones are left out."""
        found: list[Point] = []
        for first in range(0, len(node_ids), _PAGE):
            page = self._ids(node_ids[first : first + _PAGE])
            found += map(self._point, self.shard.retrieve(page, True, vectors))  # noqa: FBT003 -- by place only
        return found

    def select(
        self, scope: Scope, keys: Sequence[str] | None, *, vectors: bool = False
    ) -> Iterator[Point]:
        """All points of a scope, page by page."""
        chosen, offset = self._share.scope(*self._chosen(scope)), None
        while True:
            request = edge.ScrollRequest(
                offset=offset,
                limit=_PAGE,
                filter=chosen,
                with_payload=list(keys) if keys else keys is None,
                with_vector=vectors,
            )
            records, offset = self.shard.scroll(request)
            yield from map(self._point, records)
            if offset is None:
                return

    def scores(self, query: Query) -> Scores:
        """Both rankings; of a hybrid question as far as `depth_of` says, and what is behind it."""
        chosen = self._chosen(query.scope)
        scope = self._share.scope(*chosen)
        searches = Searches(self.shard, self.layout, self._share, query, scope)
        if query.mode != "hybrid":
            return searches.scores(query.limit)
        # Of all points the engine knows the number; those that pass a filter it has to look at.
        every = self._count(scope, exact=bool(chosen))
        depth = depth_of(query.limit, every)
        if depth >= every:
            return searches.scores(depth)
        return searches.scores(depth, every, self._sample(scope))

    def find_by(self, keys: Mapping[str, IndexKind]) -> None:
        """Have filters by some keys answered without a look at every point, where there are many.

        The first time that takes 15 milliseconds for a key and 1,000 points. Where the disk has no
        room for it, a look at every point is what there is.

        Args:
            keys: and the kind of index of each; one that another kind has keeps it.
        """
        if keys.keys() <= self._indexed:
            return
        self._is_large = self._is_large or self._count(self._share.scope(), exact=False) >= INDEXED
        if self._is_large:
            with suppress(StoreFullError):
                self._index(keys)

    def flush(self) -> None:
        """Put what was written on the disk itself, and seal parts that are full."""
        if self._share.tenant is None:
            self.shard.flush()
        self._unflushed = 0
        sealing.tidy(self.shard)

    def marks(self) -> dict[str, str]:
        """Who wrote to it last; none where that cannot be read."""
        return files.marks_in(self._disk) if self._share.tenant is None else dict(self._marks)

    def mark(self, marks: Mapping[str, str | None]) -> None:
        """Add marks to those that it has, or remove some."""
        known = {**self.marks(), **marks}
        self._marks = {one: epoch for one, epoch in known.items() if epoch is not None}
        if self._share.tenant is None:
            files.keep_marks(self._disk, self._marks)

    def disk_size(self) -> int | None:
        """Bytes that it takes: its files have holes, and are shorter than they say."""
        if self._share.tenant is not None:
            return None
        each = [one.stat() for one in self._disk.rglob("*")]
        return sum(getattr(one, "st_blocks", 0) * 512 or one.st_size for one in each)

    def close(self) -> None:
        """Close a shard of its own without a loss, and note what its files are."""
        shards.closed(self.shard)
        files.keep_manifest(self._disk / files.SHARD)

    def _chosen(self, scope: Scope) -> list[Any]:
        """What a scope asks, in the engine's terms, from now on answered by indexes."""
        ids = None if scope.node_ids is None else one_of(self._ids(scope.node_ids))
        asked = [one for one in (*map(conditions, scope.filters), ids) if one is not None]
        for chosen in scope.filters:
            if isinstance(chosen, Filter) and chosen.heading is not None:
                # Without an index parts of words would match.
                self._index({BREADCRUMB: INDEXES[BREADCRUMB]})
            self.find_by(indexes_for(chosen))
        return asked

    def _index(self, keys: Mapping[str, IndexKind]) -> None:
        if not keys.keys() <= self._indexed:
            shards.index(self.shard, keys, self._disk)
            self._indexed |= keys.keys()

    def _sample(self, scope: Any) -> frozenset[Any]:
        """Some of the points in a scope.

        The first by their ids, which are hashes: as good as drawn, and the same every time.
        """
        request = edge.ScrollRequest(limit=SAMPLE, filter=scope, with_payload=False)
        return frozenset(one.id for one in self.shard.scroll(request)[0])

    def _wrote(self, points: int) -> None:
        self._unflushed += points
        if self._unflushed >= CHECKPOINT:
            self.flush()

    def _count(self, chosen: Any, *, exact: bool = True) -> int:
        return int(self.shard.count(edge.CountRequest(exact=exact, filter=chosen)))

    def _ids(self, node_ids: Sequence[str]) -> list[Any]:
        return [self._share.point_id(one, self.where) for one in node_ids]

    def _point(self, record: Any) -> Point:
        vector = record.vector
        words: tuple[list[int], list[float]] = ([], [])
        named: dict[str, list[float]] = {}
        if isinstance(vector, dict):
            sparse = vector.get(self.layout.sparse or "")
            if isinstance(sparse, edge.SparseVector):
                words = list(sparse.indices), list(sparse.values)
            named = {one: list(vector[one]) for one in self.layout.named if one in vector}
            vector = vector.get(self.layout.dense)
        payload: Mapping[str, Any] = record.payload or {}
        if self._share.tenant is not None:
            payload = {key: value for key, value in payload.items() if key != TENANT}
        given = None if vector is None else list(vector)
        return Point(self._share.node_id(record.id), payload, given, words, named)
