"""The engine behind a `QdrantStore` at a URL."""

from __future__ import annotations

import logging
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from qdrant_client.http import models as rest

from rag_nodes.store.engine import Engine
from rag_nodes.store.faults import NOT_FOUND, status_of, translated, was_refused
from rag_nodes.store.filters import INDEXES
from rag_nodes.store.options import ServerOptions
from rag_nodes.store.points import DENSE, Layout, Point
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


@dataclass
class _Seen:
    """What this connection knows of a collection.

    Attributes:
        layout: of its vectors.
        size: chunks in it, about.
        is_filterable: what filters ask for is indexed, or cannot be.
        is_prepared: and it is kept as the options say.
    """

    layout: Layout | None = None
    size: int | None = None
    is_filterable: bool = False
    is_prepared: bool = False


class Served(Engine):
    """A Qdrant behind qdrant-client, told what it needs once per collection and connection.

    Attributes:
        client: asks it.
    """

    def __init__(self, reached: Reached, options: ServerOptions) -> None:
        self.location, self.client = reached
        self._options = options
        self._seen: defaultdict[str, _Seen] = defaultdict(_Seen)

    @contextmanager
    def step(self, collection: str = "") -> Iterator[None]:
        """Calls with their errors translated."""
        with translated(self.location, collection):
            yield

    def names(self) -> list[str]:
        """Every collection there is."""
        return [found.name for found in self.client.get_collections().collections]

    def layout(self, collection: str, *, remembered: bool = False) -> Layout | None:
        """Which vectors a collection has; it takes a request."""
        seen = self._seen[collection]
        if remembered and seen.layout:
            return seen.layout
        seen.size = None
        try:
            info = self.client.get_collection(collection)
        except Exception as error:
            if status_of(error) != NOT_FOUND:
                raise
            return None
        found = layout_of(info.config.params, f"{self.location}: collection {collection!r}")
        seen.layout = found
        seen.is_filterable = INDEXES.keys() <= info.payload_schema.keys()
        # Where it is not, others made it anew, or had its alias mean another one.
        seen.is_prepared = seen.is_prepared and seen.is_filterable
        return found

    def create(
        self, collection: str, size: int, named: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """Make a collection of ours."""
        try:
            sizes = {DENSE: size, **named}
            self.client.create_collection(collection, **kept(self._options, sizes))
        except Exception as error:
            # Whoever came first made the same.
            if "already exists" not in str(error):
                raise
        self._seen.pop(collection, None)

    def add_vector(self, collection: str, name: str, size: int) -> None:
        """Let the points of a collection have a further embedding."""
        dense = rest.DenseVectorConfig(size=size, distance=rest.Distance.COSINE)
        self.client.create_vector_name(collection, name, rest.DenseVectorNameConfig(dense=dense))
        self._seen[collection].layout = None

    def drop(self, collection: str) -> None:
        """Delete a collection with everything in it."""
        self.client.delete_collection(collection)

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
        self._seen.pop(alias, None)

    def marks(self, collection: str) -> dict[str, str]:
        """The marks of a collection, of its metadata; none where the server is too old for any."""
        known = self.client.get_collection(collection).config.metadata or {}
        return {
            key.removeprefix(_MARK): str(epoch)
            for key, epoch in known.items()
            if key.startswith(_MARK) and epoch is not None
        }

    def mark(self, collection: str, marks: Mapping[str, str | None]) -> None:
        """Add marks to those of a collection; the server merges metadata, and null removes a key.

        With a key that may not change a collection nothing is kept, and every ingest looks at it.
        """
        metadata = {f"{_MARK}{writer}": epoch for writer, epoch in marks.items()}
        try:
            self.client.update_collection(collection, metadata=metadata)
        except Exception as error:
            if not was_refused(error):
                raise
            logger.warning(
                "%s: this key may not change collection %s, so that every ingest into it looks at "
                "all that is stored; use a key that may",
                self.location,
                collection,
            )

    def write(self, collection: str, points: Sequence[Point]) -> None:
        """Store points, some hundred in a request."""
        self._prepare(collection)
        for batch in requests_of(points):
            self.client.upsert(collection, points=batch, wait=True)

    def delete(self, collection: str, node_ids: Sequence[str]) -> None:
        """Delete points by id."""
        chosen = rest.PointIdsList(points=list(node_ids))
        self.client.delete(collection, points_selector=chosen, wait=True)

    def count(self, collection: str, dense: str | None) -> int:
        """Points that have the embedding of that name; None for all points."""
        ranked = rest.Filter(must=[rest.HasVectorCondition(has_vector=dense)]) if dense else None
        return int(self.client.count(collection, count_filter=ranked, exact=True).count)

    def read(
        self, collection: str, node_ids: Sequence[str], vectors: Layout | None = None
    ) -> list[Point]:
        """Points by id."""
        records = self.client.retrieve(
            collection,
            ids=point_ids(node_ids),
            with_payload=True,
            with_vectors=vectors is not None,
        )
        return [point_in(record, vectors) for record in records]

    def scans(self, collection: str) -> bool:  # noqa: ARG002
        """Documents are indexed."""
        return False

    def select(
        self,
        collection: str,
        scope: Scope,
        keys: Sequence[str] | None,
        vectors: Layout | None = None,
    ) -> Iterator[Point]:
        """All points of a scope, page by page."""
        chosen = self._chosen(collection, scope)
        offset = None
        while True:
            records, offset = self.client.scroll(
                collection,
                scroll_filter=rest.Filter(must=chosen) if chosen else None,
                limit=_PAGE,
                offset=offset,
                with_payload=list(keys) if keys else keys is None,
                with_vectors=vectors is not None,
            )
            yield from (point_in(record, vectors) for record in records)
            if offset is None:
                return

    def _chosen(self, collection: str, scope: Scope) -> list[Any]:
        """What a scope asks, in Qdrant's terms."""
        if not scope.is_all:
            self.make_filterable(collection)
        return scoped(scope)

    def scores(
        self,
        collection: str,
        layout: Layout,
        query: Query,
        also: Scope = EVERYTHING,
        **native: Any,
    ) -> Scores:
        """Rankings to some depth, in one request; and one that counts what a filter lets pass.

        How many chunks there are in all is remembered, as it changes what is usual by little.

        Args:
            collection: to ask.
            layout: its vectors.
            query: what is asked.
            also: what chunks have to pass beside the query's filter.
            native: `qdrant_filters`, a filter of Qdrant in place of both, and `search_params` of
                the searches in place of ours.
        """
        chosen = self._chosen(collection, also.within(query.filter))
        if given := native.get("qdrant_filters"):
            chosen = [given]
        given = native.get("search_params")
        params = rest.SearchParams(**dict(given)) if given else None
        rankings = Rankings(layout, query, chosen, params)
        if rankings.requests:
            rankings.take(self.client.query_batch_points(collection, requests=rankings.requests))
        if rankings.is_whole:
            return rankings.scores()
        return rankings.scores(self._every(collection, layout, chosen))

    def diverse(
        self, collection: str, layout: Layout, query: Query, also: Scope, weight: float
    ) -> list[tuple[str, float]]:
        """Nodes by maximal marginal relevance, which are also asked for their similarity."""
        asked = diverse(layout, query, self._chosen(collection, also.within(query.filter)), weight)
        best, similar = self.client.query_batch_points(collection, requests=asked)
        scores = {point.id: float(point.score) for point in similar.points}
        return [(str(one.id), scores[one.id]) for one in best.points if one.id in scores]

    def _every(self, collection: str, layout: Layout, chosen: Sequence[Any]) -> int:
        """How many chunks pass a filter, about."""
        seen = self._seen[collection]
        if not chosen and seen.size is not None:
            return seen.size
        scope = ranked(layout, chosen)
        found = int(self.client.count(collection, count_filter=scope, exact=False).count)
        if not chosen:
            seen.size = found
        return found

    def unfilterable(self, collection: str) -> list[str]:
        """Keys of the payload that the server has no index of."""
        present = self.client.get_collection(collection).payload_schema
        return [key for key in INDEXES if key not in present]

    def make_filterable(self, collection: str) -> None:
        """Have the server index what filters ask for; asked once per collection and connection.

        Collections that another program made lack some. A key that may only read cannot add
        them, and the server decides by itself whether it filters without.
        """
        if not self._seen[collection].is_filterable:
            self._index(collection, self.client.get_collection(collection).payload_schema)

    def _prepare(self, collection: str) -> None:
        """Have a collection kept as the options say, and filterable; asked once, as above."""
        if self._seen[collection].is_prepared:
            return
        info = self.client.get_collection(collection)
        arguments = changed(self._options, info.config)
        if self._options.shards not in {None, info.config.params.shard_number}:
            logger.warning(
                "%s: collection %s keeps its number of shards, which nothing changes; ingest into "
                "another corpus for another one",
                self.location,
                collection,
            )
        if arguments:
            self.client.update_collection(collection, **arguments)
        self._index(collection, info.payload_schema)
        self._seen[collection].is_prepared = True

    def _index(self, collection: str, present: Mapping[str, Any]) -> None:
        try:
            for key, kind in INDEXES.items():
                if key not in present:
                    self.client.create_payload_index(
                        collection, key, field_schema=rest.PayloadSchemaType(kind)
                    )
        except Exception as error:
            if not was_refused(error):
                raise
            logger.warning(
                "%s: collection %s lacks indexes for filters, and this key may not add them; "
                "ingest once with a key that may write",
                self.location,
                collection,
            )
        self._seen[collection].is_filterable = True

    def close(self) -> None:
        """Close the connection."""
        self.client.close()
