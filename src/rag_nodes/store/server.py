"""A Qdrant server at a URL: rankings to some depth, in one request per question."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from qdrant_client import AsyncQdrantClient, QdrantClient
from qdrant_client.http import models as rest

from rag_nodes.errors import CredentialsError
from rag_nodes.store.bm25 import query_vectors
from rag_nodes.store.client import ClientEngine, conditions
from rag_nodes.store.faults import shown, translated, was_refused
from rag_nodes.store.filters import INDEXES, Filter
from rag_nodes.store.fusion import Scores

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rag_nodes.store.engine import Layout, Point
    from rag_nodes.store.queries import Query

logger = logging.getLogger(__name__)

PROBE_SECONDS = 5
"""How long opening a server waits for a sign of life."""
REQUEST_SECONDS = 60
"""How long a single request may take."""
DEPTH = 200
"""Candidates of each ranking, at least."""
_SHARDS = 16
"""Parts a collection may consist of, at most; each has candidates of its own."""
_PAGE = 1000
"""Points per request when reading many."""


def open_server(url: str, api_key: str | None) -> Served:
    """Connect to a server.

    Raises:
        CredentialsError: the key cannot be one.
        StoreUnreachableError: the server did not answer within `PROBE_SECONDS`.
        StoreError: the server refused the key.
    """
    if api_key is not None and not api_key.isascii():
        raise CredentialsError("the Qdrant key holds characters no key has; copy it again")
    options: dict[str, Any] = {"url": url, "api_key": api_key, "check_compatibility": False}
    with translated(url):
        probe = QdrantClient(**options, timeout=PROBE_SECONDS)
        try:
            probe.get_collections()
        finally:
            probe.close()
        return Served(
            shown(url),
            QdrantClient(**options, timeout=REQUEST_SECONDS),
            AsyncQdrantClient(**options, timeout=REQUEST_SECONDS),
        )


class Served(ClientEngine):
    """A server's rankings, and what it needs to be told once per collection and connection."""

    scans = False

    def __init__(self, location: str, client: QdrantClient, aclient: AsyncQdrantClient) -> None:
        super().__init__(location, client, aclient)
        self._layouts: dict[str, Layout] = {}
        self._filterable: set[str] = set()

    def layout(self, collection: str, *, remembered: bool = False) -> Layout | None:
        """Which vectors a collection has; it takes two requests."""
        known = self._layouts.get(collection) if remembered else None
        known = known or super().layout(collection)
        if known is not None:
            self._layouts[collection] = known
        return known

    def create(self, collection: str, size: int) -> None:
        """Make a collection of ours, which has no indexes yet."""
        super().create(collection, size)
        self._filterable.discard(collection)

    def write(self, collection: str, points: Sequence[Point]) -> None:
        """Store points in a collection that can be filtered."""
        self.make_filterable(collection)
        super().write(collection, points)

    def scan(
        self, collection: str, chosen: Filter, keys: Sequence[str]
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Id and some keys of the payload."""
        if chosen != Filter():
            self.make_filterable(collection)
        return super().scan(collection, chosen, keys)

    def make_filterable(self, collection: str) -> None:
        """Have the server index what filters ask for; asked once per collection and connection.

        Collections made by an earlier release lack some. A key that may only read cannot add
        them, and the server decides by itself whether it filters without.
        """
        if collection in self._filterable:
            return
        present = self.client.get_collection(collection).payload_schema
        try:
            for key, kind in INDEXES.items():
                if key not in present:
                    self.client.create_payload_index(collection, key, field_schema=kind)
        except Exception as error:
            if not was_refused(error):
                raise
            logger.warning(
                "%s: collection %s lacks indexes for filters, and this key may not add them; "
                "ingest once with a key that may write",
                self.location,
                collection,
            )
        self._filterable.add(collection)

    def scores(self, collection: str, layout: Layout, query: Query) -> Scores:
        """Rankings to some depth, each completed by what only the other one found.

        One request has the server rank by each, and give the candidates of each their score in the
        other one too.
        """
        if query.filter != Filter():
            self.make_filterable(collection)
        searches = _searches(layout, query)
        asked = [
            (kind, _request(search, None if other == kind else searches[other]))
            for kind, search in searches.items()
            for other in searches
        ]
        found: dict[str, dict[str, float]] = {kind: {} for kind in searches}
        if asked:
            requests = [request for _, request in asked]
            answers = self.client.query_batch_points(collection, requests=requests)
            for (kind, _), answer in zip(asked, answers, strict=True):
                found[kind] |= {str(point.id): float(point.score) for point in answer.points}
        return Scores(
            None if query.mode == "sparse" else found["dense"],
            None if query.mode == "dense" else found.get("sparse", {}),
        )

    def _page(self, collection: str) -> int:  # noqa: ARG002 -- of any
        return _PAGE


def _searches(layout: Layout, query: Query) -> dict[str, rest.Prefetch]:
    """The rankings that a question asks for; none by words where it has none."""
    searches: dict[str, rest.Prefetch] = {}
    common: dict[str, Any] = {
        "filter": conditions(query.filter),
        "limit": max(query.limit, DEPTH),
    }
    if query.mode != "sparse":
        vector = list(query.vector or ())
        searches["dense"] = rest.Prefetch(query=vector, using=layout.dense or None, **common)
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
        limit=(search.limit or 0) * _SHARDS,
    )
