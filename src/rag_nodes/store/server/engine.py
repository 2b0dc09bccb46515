"""The engine behind a `QdrantStore` at a URL."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qdrant_client.http import models as rest

from rag_nodes.store.engine import Engine, EngineCollection
from rag_nodes.store.faults import NOT_FOUND, status_of, translated, was_refused
from rag_nodes.store.filters import INDEXES
from rag_nodes.store.options import ServerOptions
from rag_nodes.store.points import Layout, Point
from rag_nodes.store.queries import EVERYTHING, Scope
from rag_nodes.store.server.connection import connected
from rag_nodes.store.server.rankings import Rankings, diverse, ranked
from rag_nodes.store.server.terms import (
    changed,
    kept,
    layout_of,
    point_ids,
    point_in,
    requests_of,
    scoped,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from qdrant_client import QdrantClient

    from rag_nodes.store.fusion import Scores
    from rag_nodes.store.queries import Query
    from rag_nodes.store.server.connection import Reached

logger = logging.getLogger(__name__)

_MARK = "rag_nodes_writer_"
"""Before the name of a writer, in a collection's metadata."""
_PAGE = 1000
"""Points per request when reading many."""


def open_server(url: str, api_key: str | None, options: ServerOptions | None = None) -> Served:
    """Connect to a server.

    Raises:
        ConfigurationError: the options contradict the URL, or name a file that is none.
        CredentialsError: the key cannot be one.
        StoreUnreachableError: the server does not answer.
        StoreError: the server refused the key.
    """
    chosen = options or ServerOptions()
    return Served(connected(url, api_key, chosen), chosen)


class Served(Engine):
    """A Qdrant behind qdrant-client, told what it needs once per collection and connection.

    Attributes:
        client: asks it.
    """

    def __init__(self, reached: Reached, options: ServerOptions) -> None:
        self.location, self.client = reached
        self._options = options
        self._known: dict[str, ServedCollection] = {}

    @contextmanager
    def step(self, collection: str = "") -> Iterator[None]:
        """Calls with their errors translated."""
        with translated(self.location, collection):
            yield

    def names(self) -> list[str]:
        """Every collection there is."""
        return [found.name for found in self.client.get_collections().collections]

    def collection(self, name: str, *, remembered: bool = False) -> ServedCollection | None:
        """A collection by its name or an alias; it takes a request where it is not remembered."""
        known = self._known.get(name)
        if remembered and known:
            return known
        try:
            info = self.client.get_collection(name)
        except Exception as error:
            if status_of(error) != NOT_FOUND:
                raise
            self._known.pop(name, None)
            return None
        where = f"{self.location}: collection {name!r}"
        layout = layout_of(info.config.params, where)
        known = self._known.setdefault(
            name, ServedCollection(self.client, name, where, self._options, layout)
        )
        known.look(layout, info.payload_schema)
        return known

    def create(self, name: str, layout: Layout) -> None:
        """Make a collection of ours."""
        try:
            self.client.create_collection(name, **kept(self._options, layout.sizes))
        except Exception as error:
            # Whoever came first made the same.
            if "already exists" not in str(error):
                raise
        self._known.pop(name, None)

    def drop(self, name: str) -> None:
        """Delete a collection with everything in it."""
        self.client.delete_collection(name)

    def aliases(self) -> dict[str, str]:
        """Collection by alias."""
        return {one.alias_name: one.collection_name for one in self.client.get_aliases().aliases}

    def point_alias(self, alias: str, collection: str | None) -> None:
        """Have an alias mean a collection; None removes it."""
        change: rest.AliasOperations = rest.DeleteAliasOperation(
            delete_alias=rest.DeleteAlias(alias_name=alias)
        )
        if collection is not None:
            made = rest.CreateAlias(alias_name=alias, collection_name=collection)
            change = rest.CreateAliasOperation(create_alias=made)
        self.client.update_collection_aliases([change])
        self._known.pop(alias, None)

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


class ServedCollection(EngineCollection):
    """A collection on a server.

    Args:
        client: asks the server.
        name: of it, or an alias.
        where: location and name, for messages.
        options: how it is kept.
        layout: of its vectors.
    """

    def __init__(
        self,
        client: QdrantClient,
        name: str,
        where: str,
        options: ServerOptions,
        layout: Layout,
    ) -> None:
        self._client, self._name, self._where = client, name, where
        self._options, self.layout = options, layout
        self._size: int | None = None
        self._is_filterable = self._is_prepared = False

    def look(self, layout: Layout, indexed: Mapping[str, Any]) -> None:
        """Note how it is now: its vectors, and what the server has an index of."""
        self.layout, self._size = layout, None
        self._is_filterable = INDEXES.keys() <= indexed.keys()
        # Where it is not, others made it anew, or had its alias mean another one.
        self._is_prepared = self._is_prepared and self._is_filterable

    def add_vector(self, name: str, size: int) -> None:
        """Let points have a further embedding."""
        dense = rest.DenseVectorConfig(size=size, distance=rest.Distance.COSINE)
        self._client.create_vector_name(self._name, name, rest.DenseVectorNameConfig(dense=dense))
        self.layout = self.layout._replace(named={**self.layout.named, name: size})

    def marks(self) -> dict[str, str]:
        """The marks of its metadata; none where the server is too old for any."""
        known = self._client.get_collection(self._name).config.metadata or {}
        return {
            key.removeprefix(_MARK): str(epoch)
            for key, epoch in known.items()
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
            if not was_refused(error):
                raise
            logger.warning(
                "%s: this key may not change it, so that every ingest into it looks at all that is "
                "stored; use a key that may",
                self._where,
            )

    def write(self, points: Sequence[Point]) -> None:
        """Store points, some hundred in a request."""
        self._prepare()
        for batch in requests_of(points):
            self._client.upsert(self._name, points=batch, wait=True)

    def delete(self, node_ids: Sequence[str]) -> None:
        """Delete points by id."""
        chosen = rest.PointIdsList(points=list(node_ids))
        self._client.delete(self._name, points_selector=chosen, wait=True)

    def count(self, vector: str | None) -> int:
        """Points that have the embedding of that name; None for all points."""
        chosen = None
        if vector is not None:
            chosen = rest.Filter(must=[rest.HasVectorCondition(has_vector=vector)])
        return int(self._client.count(self._name, count_filter=chosen, exact=True).count)

    def read(self, node_ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        """Points by id."""
        records = self._client.retrieve(
            self._name, ids=point_ids(node_ids), with_payload=True, with_vectors=vectors
        )
        return [point_in(record, self.layout if vectors else None) for record in records]

    def select(
        self, scope: Scope, keys: Sequence[str] | None, *, vectors: bool = False
    ) -> Iterator[Point]:
        """All points of a scope, page by page."""
        chosen = self._chosen(scope)
        offset = None
        while True:
            records, offset = self._client.scroll(
                self._name,
                scroll_filter=rest.Filter(must=chosen) if chosen else None,
                limit=_PAGE,
                offset=offset,
                with_payload=list(keys) if keys else keys is None,
                with_vectors=vectors,
            )
            yield from (point_in(one, self.layout if vectors else None) for one in records)
            if offset is None:
                return

    def _chosen(self, scope: Scope) -> list[Any]:
        """What a scope asks, in Qdrant's terms."""
        if not scope.is_all:
            self._make_filterable()
        return scoped(scope)

    def _asked(self, query: Query) -> Layout:
        """The layout with the embedding that a query compares."""
        return self.layout.using(query.using) or self.layout

    def scores(self, query: Query, also: Scope = EVERYTHING, **native: Any) -> Scores:
        """Rankings to some depth, in one request; and one that counts what a filter lets pass.

        How many chunks there are in all is remembered, as it changes what is usual by little.

        Args:
            query: what is asked.
            also: what chunks have to pass beside the query's filter.
            native: `qdrant_filters`, a filter of Qdrant in place of both, and `search_params` of
                the searches in place of ours.
        """
        layout, chosen = self._asked(query), self._chosen(also.within(query.filter))
        if given := native.get("qdrant_filters"):
            chosen = [given]
        given = native.get("search_params")
        params = rest.SearchParams(**dict(given)) if given else None
        rankings = Rankings(layout, query, chosen, params)
        if rankings.requests:
            rankings.take(self._client.query_batch_points(self._name, requests=rankings.requests))
        if rankings.is_whole:
            return rankings.scores()
        return rankings.scores(self._every(layout, chosen))

    def diverse(self, query: Query, also: Scope, weight: float) -> list[tuple[str, float]]:
        """Nodes by maximal marginal relevance, which are also asked for their similarity."""
        chosen = self._chosen(also.within(query.filter))
        asked = diverse(self._asked(query), query, chosen, weight)
        best, similar = self._client.query_batch_points(self._name, requests=asked)
        scores = {point.id: float(point.score) for point in similar.points}
        return [(str(one.id), scores[one.id]) for one in best.points if one.id in scores]

    def _every(self, layout: Layout, chosen: Sequence[Any]) -> int:
        """How many chunks pass a filter, about."""
        if not chosen and self._size is not None:
            return self._size
        scope = ranked(layout, chosen)
        found = int(self._client.count(self._name, count_filter=scope, exact=False).count)
        if not chosen:
            self._size = found
        return found

    def _make_filterable(self) -> None:
        """Have the server index what filters ask for; asked once per collection and connection.

        Collections that another program made lack some. A key that may only read cannot add
        them, and the server decides by itself whether it filters without.
        """
        if not self._is_filterable:
            self._index(self._client.get_collection(self._name).payload_schema)

    def _prepare(self) -> None:
        """Have it kept as the options say, and filterable; asked once, as above."""
        if self._is_prepared:
            return
        info = self._client.get_collection(self._name)
        arguments = changed(self._options, info.config)
        if self._options.shards not in {None, info.config.params.shard_number}:
            logger.warning(
                "%s keeps its number of shards, which nothing changes; ingest into another corpus "
                "for another one",
                self._where,
            )
        if arguments:
            self._client.update_collection(self._name, **arguments)
        self._index(info.payload_schema)
        self._is_prepared = True

    def _index(self, present: Mapping[str, Any]) -> None:
        try:
            for key, kind in INDEXES.items():
                if key not in present:
                    self._client.create_payload_index(
                        self._name, key, field_schema=rest.PayloadSchemaType(kind)
                    )
        except Exception as error:
            if not was_refused(error):
                raise
            logger.warning(
                "%s lacks indexes for filters, and this key may not add them; ingest once with a "
                "key that may write",
                self._where,
            )
        self._is_filterable = True
