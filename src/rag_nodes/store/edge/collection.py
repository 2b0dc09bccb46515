"""One collection: a shard of its own in a folder."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import numpy as np
import qdrant_edge as edge

from rag_nodes.core.errors import ConfigurationError, StoreFullError
from rag_nodes.core.metadata import FILE_NAME
from rag_nodes.store.conditions import DOCUMENT_ID, INDEXES, keys_of
from rag_nodes.store.edge import folder, shards
from rag_nodes.store.engine import EngineCollection, Point
from rag_nodes.store.fusion import SAMPLE, TIES, Scores, depth_of
from rag_nodes.store.terms import DRAWN, Terms, scores_in

if TYPE_CHECKING:
    from collections.abc import Collection as Collection_
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rag_nodes.store.conditions import IndexKind, Where
    from rag_nodes.store.engine import Layout
    from rag_nodes.store.queries import Query

BATCH = 64
"""Points written in one call: fastest, and the shortest time in which nothing else can run."""
_PAYLOAD = 4_000
"""Bytes that a payload takes, about."""
_GROWTH = 6
"""Bytes on disk for a byte of payload and vectors that is written: index, log and room to grow."""
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
"""Points after which what was written is put on the disk itself: they outlive a power failure. What
ends the process alone loses nothing that was acknowledged. What is full is sealed then."""


class Tenant(NamedTuple):
    """Condition that separates a collection from others in a shard.

    Their ids are masked, as several collections may hold the same node.
    """

    condition: Any
    mask: int


class Collection(EngineCollection):
    """Points stored under a name; the engine lets a single thread in.

    Where others have the same `shard`, which then ends with the process, `tenant` parts them.
    """

    def __init__(
        self,
        shard: Any,
        name: str,
        layout: Layout,
        location: str,
        disk: Path,
        tenant: Tenant | None = None,
    ) -> None:
        self.shard, self.layout, self._name, self._disk = shard, layout, name, disk
        self.where = f"{location}: collection '{name}'"
        self._tenant = tenant
        self._unflushed = 0
        self._indexed: frozenset[str] = frozenset()
        self._is_large = False
        # Given with every question: by default the engine counts deleted points as well.
        corpus = edge.IdfParams(corpus=self._scope() or edge.Filter())
        self._terms = Terms(
            edge,
            range=edge.RangeFloat,
            times=edge.RangeDateTime,
            empty=edge.IsEmptyCondition,
            having=lambda name: edge.HasVectorCondition(vector=name),
            one_of=lambda ids: edge.HasIdCondition(set(map(self._id, ids))),
            nearest=lambda vector, name: {"query": edge.Query.Nearest(vector, name)},
            exactly=edge.SearchParams(exact=True),
            by_rarity=edge.SearchParams(idf=corpus),
            truth=np.bool_,  # the engine takes Python's own for the numbers 1 and 0
        )

    def write(self, points: Sequence[Point]) -> None:
        """Store points; those of the same id are replaced. Each is looked at before any is written.

        Raises:
            ConfigurationError: an id is no UUID, or a value cannot be stored.
            DimensionError: an embedding has another length.
            StoreFullError: the disk has too little space; what was written before stays.
        """
        engine_points = [self._made(point) for point in points]
        coming = BATCH * (self.layout.size * 4 + _PAYLOAD) * _GROWTH
        for first in range(0, len(engine_points), BATCH):
            shards.check_space(self._disk, coming, temporary=self._tenant is not None)
            batch = engine_points[first : first + BATCH]
            self.shard.update(edge.UpdateOperation.upsert_points(batch))
        self._wrote(len(points))
        self.find_by(USUAL)

    def delete(self, node_ids: Sequence[str]) -> None:
        ids: list[Any] = list(map(self._id, node_ids))
        self.shard.update(edge.UpdateOperation.delete_points(ids))
        self._wrote(len(node_ids))

    def delete_where(self, where: Where) -> None:
        chosen = self._scope(self._chosen(where))
        self.shard.update(edge.UpdateOperation.delete_points_by_filter(chosen))
        self._wrote(1)

    def count_where(self, where: Where) -> int:
        return self._count(self._scope(self._chosen(where)))

    def count(self) -> int:
        return self._count(self._scope(self._terms.having(self.layout.dense)))

    def read(self, node_ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        points: list[Point] = []
        for first in range(0, len(node_ids), _PAGE):
            page = list(map(self._id, node_ids[first : first + _PAGE]))
            points += map(self._point, self.shard.retrieve(page, True, vectors))  # noqa: FBT003 -- by place only
        return points

    def select(
        self, where: Where | None, keys: Sequence[str] | None, *, vectors: bool = False
    ) -> Iterator[Point]:
        """All points that are meant, page by page."""
        chosen, offset = self._scope(self._chosen(where)), None
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
        chosen = self._scope(self._chosen(query.where))
        depth, every, present = query.limit + TIES, 0, None
        if query.mode == "hybrid":
            present = self._terms.filter(self._terms.having(self.layout.dense), chosen)
            # Of all points the engine knows the number; those that pass a filter it has to look at.
            every = self._count(present, exact=query.where is not None)
            depth = depth_of(query.limit, every)
        rankings = self._terms.rankings(self.layout, query, chosen)
        answers = {(kind, kind): self._asked(ranking, depth) for kind, ranking in rankings.items()}
        if depth < every:
            candidates: dict[str, Collection_[Any]] = {
                kind: answer.keys() for (kind, _), answer in answers.items()
            }
            # What ranks nothing comes by ids, which are hashes.
            drawn = edge.ScrollRequest(limit=SAMPLE, filter=present, with_payload=False)
            candidates[DRAWN] = [point.id for point in self.shard.scroll(drawn)[0]]
            for kind, (source, ids) in product(rankings, candidates.items()):
                if source != kind:
                    answers[kind, source] = self._asked(rankings[kind], len(ids), ids)
        dense, sparse, rest = scores_in(query, answers, lambda: every)
        return Scores(self._named(dense), self._named(sparse), rest)

    def _asked(
        self, ranking: Mapping[str, Any], limit: int, ids: Collection_[Any] | None = None
    ) -> dict[Any, float]:
        """Scores by the engine's ids, best first; of all points that pass, or of some."""
        if ids is not None:
            scope = self._terms.filter(edge.HasIdCondition(set(ids)), ranking["filter"])
            ranking = {**ranking, "filter": scope}
        if not limit:
            return {}
        request = edge.QueryRequest(limit=limit, **ranking)
        return {point.id: point.score for point in self.shard.query(request)}

    def find_by(self, keys: Mapping[str, IndexKind]) -> None:
        """Have filters by some keys answered without a look at every point, where there are many.

        The first time that takes 15 milliseconds for a key and 1,000 points. A key that has an
        index of another kind keeps it; where the disk has no room for one, every point is looked
        at.
        """
        if keys.keys() <= self._indexed:
            return
        self._is_large = self._is_large or self._count(self._scope(), exact=False) >= INDEXED
        if self._is_large:
            with suppress(StoreFullError):
                self._index(keys)

    def flush(self) -> None:
        """Put what was written on the disk itself, and seal segments that are full."""
        self.shard.flush()
        self._unflushed = 0
        shards.seal(self.shard)

    def marks(self) -> dict[str, str]:
        return folder.marks_in(self._disk)

    def mark(self, marks: Mapping[str, str | None]) -> None:
        folder.add_marks(self._disk, marks)

    def disk_size(self) -> int | None:
        """Bytes that it takes: its files have holes, and are shorter than they say."""
        each = [path.stat() for path in self._disk.rglob("*")]
        return sum(getattr(status, "st_blocks", 0) * 512 or status.st_size for status in each)

    def close(self) -> None:
        """Close it without a loss, and note what its files are."""
        shards.closed(self.shard)
        folder.keep_manifest(self._disk / folder.SHARD)

    def clear(self) -> None:
        """Delete its points."""
        self.shard.update(edge.UpdateOperation.delete_points_by_filter(self._scope()))

    def _id(self, node_id: str) -> UUID | int:
        """The engine's id of a node, a number where another program gave it."""
        try:
            own = UUID(int=int(node_id)) if node_id.isdecimal() else UUID(node_id)
        except ValueError as error:
            raise ConfigurationError(
                f"{self.where}: node id '{node_id}' is not a UUID, and Qdrant accepts only UUIDs; "
                "give your nodes ids such as str(uuid.uuid4())"
            ) from error
        if self._tenant:
            return UUID(int=own.int ^ self._tenant.mask)
        return own.int if node_id.isdecimal() else own

    def _node_id(self, point_id: UUID) -> str:
        if self._tenant is None:
            return str(point_id)
        # Of hundreds in every question: a second UUID to print would double the time.
        digits = f"{point_id.int ^ self._tenant.mask:032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def _made(self, point: Point) -> Any:
        """A point as the engine takes it."""
        vectors = shards.vectors_of(point, self.layout, self.where)
        own = self._id(point.node_id)
        try:
            return edge.Point(own, vectors, dict(point.payload))
        except (TypeError, ValueError, UnicodeEncodeError) as error:
            raise ConfigurationError(
                f"{self.where}: metadata of node {point.node_id} cannot be stored ({error}); keep "
                "texts, numbers, lists and mappings with names as keys"
            ) from error

    def _point(self, record: Any) -> Point:
        return Point.of(self._node_id(record.id), record.payload or {}, record.vector, self.layout)

    def _named(self, scores: Mapping[Any, float] | None) -> dict[str, float] | None:
        if scores is None:
            return None
        return {self._node_id(point_id): score for point_id, score in scores.items()}

    def _scope(self, chosen: Any = None) -> Any:
        """A filter for those of its points that meet a condition; None for the whole shard."""
        must = [
            condition
            for condition in (chosen, self._tenant and self._tenant.condition)
            if condition is not None
        ]
        return edge.Filter(must=must) if must else None

    def _chosen(self, where: Where | None) -> Any:
        """Return a condition in the engine's terms, after indexing its keys."""
        condition = self._terms.condition(where)
        # Of other kinds every point is looked at: where texts, numbers and times are under one key,
        # an index of numbers or times would find other points.
        keys = {key: kind for key, kind in keys_of(where).items() if kind in shards.INDEX_KINDS}
        # Without an index parts of words would match.
        self._index({key: kind for key, kind in keys.items() if kind == "text"})
        self.find_by(keys)
        return condition

    def _index(self, keys: Mapping[str, IndexKind]) -> None:
        if not keys.keys() <= self._indexed:
            shards.index(self.shard, keys, self._disk)
            self._indexed |= keys.keys()

    def _wrote(self, points: int) -> None:
        self._unflushed += points
        if self._unflushed >= CHECKPOINT:
            self.flush()

    def _count(self, chosen: Any, *, exact: bool = True) -> int:
        return int(self.shard.count(edge.CountRequest(exact=exact, filter=chosen)))
