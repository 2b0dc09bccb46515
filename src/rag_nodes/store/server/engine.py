"""The engine behind a `Store` at a URL."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from httpx import TimeoutException
from qdrant_client.http import models as rest

from rag_nodes.store.conditions import INDEXES, keys_of
from rag_nodes.store.engine import Engine, EngineCollection, Layout, Point
from rag_nodes.store.fusion import DEPTH, TIES
from rag_nodes.store.server.connection import NOT_FOUND, REFUSED, Repeating, status_of, translated
from rag_nodes.store.server.models import (
    TERMS,
    layout_of,
    new_collection,
    point_ids,
    searches,
    struct,
)
from rag_nodes.store.terms import scores_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from qdrant_client import QdrantClient

    from rag_nodes.store.conditions import IndexKind, Where
    from rag_nodes.store.fusion import Scores
    from rag_nodes.store.opening import ServerOptions
    from rag_nodes.store.queries import Query

logger = logging.getLogger(__name__)

_MARK = "rag_nodes_writer_"
"""Before the name of a writer, in a collection's metadata."""
_WRITTEN = 100
"""Points per request when writing: a fifth of the 32 MB that a server takes, if they are long."""
_READ = 1000
"""Points per request when reading."""


class Served(Engine):
    """A Qdrant behind `client` of qdrant-client.

    Args:
        location: URL of the server without a key, for messages.
        client: see `rag_nodes.store.server.connected`.
        options: how often requests are repeated, and how new collections are kept.
    """

    def __init__(self, location: str, client: QdrantClient, options: ServerOptions) -> None:
        self.location, self.client, self._options = location, client, options
        # A request that was slow would be slow again; a server that was there restarts.
        self._asked = Repeating(client, options.retries, TimeoutException)
        self._known: dict[str, ServedCollection] = {}

    @contextmanager
    def step(self, collection: str = "") -> Iterator[None]:
        """Calls with their errors translated."""
        with translated(self.location, collection):
            yield

    def names(self) -> list[str]:
        return [collection.name for collection in self._asked.get_collections().collections]

    def collection(self, name: str, *, remembered: bool = False) -> ServedCollection | None:
        """A collection by its name or an alias; it takes a request where it is not remembered."""
        if remembered and name in self._known:
            return self._known[name]
        try:
            info = self._asked.get_collection(name)
        except Exception as error:
            if status_of(error) != NOT_FOUND:
                raise
            self._known.pop(name, None)
            return None
        where = f"{self.location}: collection '{name}'"
        collection = ServedCollection(self._asked, name, where, info)
        self._known[name] = collection
        return collection

    def create(self, name: str, layout: Layout) -> None:
        try:
            self._asked.create_collection(name, **new_collection(self._options, layout.size))
        except Exception as error:
            # Whoever came first made the same.
            if "already exists" not in str(error):
                raise
        self._known.pop(name, None)

    def drop(self, name: str) -> None:
        self._asked.delete_collection(name)

    def resolved(self, name: str) -> str:
        """Return the collection that a name means, which may be an alias of another program."""
        aliases = self._asked.get_aliases().aliases
        return next((alias.collection_name for alias in aliases if alias.alias_name == name), name)

    def close(self) -> None:
        self.client.close()


class ServedCollection(EngineCollection):
    """A collection on a server, by its name or an alias; `info` is what the server says of it."""

    def __init__(self, client: Repeating, name: str, where: str, info: Any) -> None:
        self._client, self._name, self._where = client, name, where
        self.layout = layout_of(info.config.params, where)
        self._indexes = {key: str(index.data_type) for key, index in info.payload_schema.items()}
        self._size: int | None = None

    def marks(self) -> dict[str, str]:
        """The marks of its metadata; none where the server is too old for any."""
        metadata = self._client.get_collection(self._name).config.metadata or {}
        return {
            key.removeprefix(_MARK): str(epoch)
            for key, epoch in metadata.items()
            if key.startswith(_MARK) and epoch is not None
        }

    def mark(self, marks: Mapping[str, str | None]) -> None:
        """Add marks to those that it has; the server merges metadata, and null removes a key.

        With a key that may not change a collection nothing is kept, and every ingest looks at it.
        """
        metadata = {f"{_MARK}{writer}": epoch for writer, epoch in marks.items()}
        try:
            self._client.update_collection(self._name, metadata=metadata)
        except Exception as error:
            if status_of(error) not in REFUSED:
                raise
            logger.warning(
                "%s: this key may not change it, so that every ingest into it looks at all that is "
                "stored; use a key that may",
                self._where,
            )

    def write(self, points: Sequence[Point]) -> None:
        """Store points, a hundred in a request, once all keys that filters name have an index."""
        self._index(INDEXES)
        for first in range(0, len(points), _WRITTEN):
            batch = [struct(point) for point in points[first : first + _WRITTEN]]
            self._client.upsert(self._name, points=batch, wait=True)

    def delete(self, node_ids: Sequence[str]) -> None:
        chosen = rest.PointIdsList(points=point_ids(node_ids))
        self._client.delete(self._name, points_selector=chosen, wait=True)

    def delete_where(self, where: Where) -> None:
        chosen = rest.FilterSelector(filter=TERMS.filter(self._chosen(where)))
        self._client.delete(self._name, points_selector=chosen, wait=True)

    def count_where(self, where: Where) -> int:
        return self._count(TERMS.filter(self._chosen(where)), exact=True)

    def count(self) -> int:
        return self._count(TERMS.filter(TERMS.having(self.layout.dense)), exact=True)

    def count_unindexed(self, where: Where | None) -> int:
        """Count the chunks without BM25 vector, but our own, which lack one if they have no words.

        Payloads tell which are ours. Of more than a thousand such chunks, all are counted.
        """
        from rag_nodes.store.payload import VERSION

        lacking = TERMS.lacking(self.layout.dense, self.layout.sparse or "", self._chosen(where))
        records, rest_from = self._client.scroll(
            self._name, scroll_filter=lacking, limit=_READ, with_payload=[VERSION]
        )
        if rest_from is not None:
            return self._count(lacking, exact=True)
        return sum(VERSION not in (record.payload or {}) for record in records)

    def read(self, node_ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        records = self._client.retrieve(
            self._name, ids=point_ids(node_ids), with_payload=True, with_vectors=vectors
        )
        return list(map(self._point, records))

    def select(
        self, where: Where | None, keys: Sequence[str] | None, *, vectors: bool = False
    ) -> Iterator[Point]:
        """All points that are meant, page by page."""
        chosen, offset = TERMS.filter(self._chosen(where)), None
        while True:
            records, offset = self._client.scroll(
                self._name,
                scroll_filter=chosen,
                limit=_READ,
                offset=offset,
                with_payload=list(keys) if keys else keys is None,
                with_vectors=vectors,
            )
            yield from map(self._point, records)
            if offset is None:
                return

    def scores(self, query: Query) -> Scores:
        """Rankings to some depth, in one request; and one that counts what a filter lets pass."""
        chosen, both = self._chosen(query.where), query.mode == "hybrid"
        depth = max(query.limit, DEPTH) if both else query.limit + TIES
        asked = searches(self.layout, query, chosen, depth)
        requests = list(asked.values())
        answers = self._client.query_batch_points(self._name, requests=requests) if asked else []
        scores = {
            key: {str(point.id): float(point.score) for point in answer.points}
            for key, answer in zip(asked, answers, strict=True)
        }
        return scores_in(query, scores, lambda: self._every(chosen))

    def _every(self, chosen: Any) -> int:
        """Return about how many chunks meet a condition.

        Without one it is remembered, as it changes the average little.
        """
        present = TERMS.filter(TERMS.having(self.layout.dense), chosen)
        if chosen is not None:
            return self._count(present)
        if self._size is None:
            self._size = self._count(present)
        return self._size

    def _count(self, chosen: Any, *, exact: bool = False) -> int:
        return int(self._client.count(self._name, count_filter=chosen, exact=exact).count)

    def _point(self, record: Any) -> Point:
        return Point.of(str(record.id), record.payload or {}, record.vector, self.layout)

    def _chosen(self, where: Where | None) -> Any:
        """Return a condition in Qdrant's terms, after indexing its keys."""
        condition = TERMS.condition(where)
        if condition is not None:
            self._index({**INDEXES, **keys_of(where)})
        return condition

    def _index(self, wanted: Mapping[str, IndexKind]) -> None:
        """Have the server index keys that filters name, unless it does; asked once.

        Collections that another program made lack some. A key that may only read cannot add
        them, and the server decides whether it filters without.
        """
        lacking = {
            key: "keyword" if kind == "any" else kind
            for key, kind in wanted.items()
            if key not in self._indexes or not _answers(self._indexes[key], key, kind)
        }
        self._indexes |= lacking
        try:
            for key, kind in lacking.items():
                schema = rest.PayloadSchemaType(kind)
                self._client.create_payload_index(self._name, key, field_schema=schema)
        except Exception as error:
            if status_of(error) not in REFUSED:
                raise
            logger.warning(
                "%s lacks indexes for filters, and this key may not add them; ingest once with a "
                "key that may write",
                self._where,
            )


def _answers(index: str, key: str, kind: IndexKind) -> bool:
    """Return True if an index that a key has answers a comparison, or is to stay as it is.

    Those of our own keys stay. A server keeps one index of a key: another kind replaces it.
    """
    return key in INDEXES or kind in {index, "any"} or (index, kind) == ("integer", "float")
