"""What both engines on qdrant-client share: our calls in its terms, and its answers in ours."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qdrant_client.http import models as rest

from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import (
    ALSO_AT,
    BREADCRUMB,
    FILE_NAME,
    HEADING_PATH,
    PAGE_END,
    PAGE_START,
    SOURCE,
)
from rag_nodes.store.engine import DENSE, SPARSE, UNNAMED, Engine, Layout, Point
from rag_nodes.store.faults import translated
from rag_nodes.store.filters import DOCUMENT_ID

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rag_nodes.store.filters import Filter
    from rag_nodes.store.qdrant import QdrantStore
    from rag_nodes.store.vectors import HybridVectorStore

BATCH = 256
"""Points written in one request."""
_RETRIES = 3
"""How often writing a batch is tried."""


class ClientEngine(Engine):
    """A Qdrant behind qdrant-client.

    Attributes:
        client: sync, and `aclient` its async face.
    """

    def __init__(self, location: str, client: Any, aclient: Any) -> None:
        self.location = location
        self.client = client
        self.aclient = aclient

    @contextmanager
    def step(self, collection: str = "") -> Iterator[None]:
        """Calls with their errors translated."""
        with translated(self.location, collection):
            yield

    def vector_store(self, store: QdrantStore, collection: str) -> HybridVectorStore:
        """A collection as LlamaIndex reads and writes one."""
        from rag_nodes.store.vectors import HybridVectorStore

        return HybridVectorStore(store, self, collection)

    def names(self) -> list[str]:
        """Every collection there is."""
        return [found.name for found in self.client.get_collections().collections]

    def layout(self, collection: str, *, remembered: bool = False) -> Layout | None:  # noqa: ARG002
        """Which vectors a collection has."""
        if not self.client.collection_exists(collection):
            return None
        params = self.client.get_collection(collection).config.params
        return layout_of(params, f"{self.location}: collection {collection!r}")

    def create(self, collection: str, size: int) -> None:
        """Make a collection of ours; Qdrant weighs its words by how rare they are."""
        try:
            self.client.create_collection(
                collection,
                vectors_config={DENSE: rest.VectorParams(size=size, distance=rest.Distance.COSINE)},
                sparse_vectors_config={SPARSE: rest.SparseVectorParams(modifier=rest.Modifier.IDF)},
            )
        except Exception as error:
            # Of embedded Qdrant or of a server: whoever came first made the same.
            if "already exists" not in str(error):
                raise

    def drop(self, collection: str) -> None:
        """Delete a collection with everything in it."""
        self.client.delete_collection(collection)

    def write(self, collection: str, points: Sequence[Point]) -> None:
        """Store points, some hundred in a request."""
        self.client.upload_points(
            collection,
            points=[_struct(point) for point in points],
            batch_size=BATCH,
            max_retries=_RETRIES,
            wait=True,
        )

    def delete(self, collection: str, node_ids: Sequence[str]) -> None:
        """Delete points by id."""
        chosen = rest.PointIdsList(points=list(node_ids))
        self.client.delete(collection, points_selector=chosen, wait=True)

    def count(self, collection: str, dense: str) -> int:
        """Points that have the embedding of that name."""
        ranked = rest.Filter(must=[rest.HasVectorCondition(has_vector=dense)])
        return int(self.client.count(collection, count_filter=ranked, exact=True).count)

    def read(
        self, collection: str, node_ids: Sequence[str], vectors: Layout | None = None
    ) -> list[Point]:
        """Points by id."""
        # Points of other programs may be numbered.
        ids = [int(one) if one.isdecimal() else one for one in node_ids]
        records = self.client.retrieve(
            collection,
            ids=ids,
            with_payload=True,
            with_vectors=_dense_of(vectors) if vectors else False,
        )
        return [
            Point(str(record.id), record.payload or {}, _vector(record.vector, vectors))
            for record in records
        ]

    def scan(
        self, collection: str, chosen: Filter, keys: Sequence[str]
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Id and some keys of the payload, page by page."""
        page, offset = self._page(collection), None
        while True:
            points, offset = self.client.scroll(
                collection,
                scroll_filter=conditions(chosen),
                limit=page,
                offset=offset,
                with_payload=list(keys) or False,
                with_vectors=False,
            )
            yield from ((str(point.id), point.payload or {}) for point in points)
            if offset is None:
                return

    @abstractmethod
    def _page(self, collection: str) -> int:
        """Points in one request of a scan."""

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


def conditions(chosen: Filter) -> rest.Filter | None:
    """A filter in Qdrant's terms; None where it lets everything pass."""
    must = [*_documents(chosen), *_places(chosen)]
    return rest.Filter(must=list(must)) if must else None


def _documents(chosen: Filter) -> Iterator[rest.FieldCondition | rest.Filter]:
    """Which documents."""
    if chosen.document_ids is not None:
        ids = rest.MatchAny(any=list(chosen.document_ids))
        yield rest.FieldCondition(key=DOCUMENT_ID, match=ids)
    if chosen.file_name is not None:
        yield _equal(FILE_NAME, chosen.file_name)
    if chosen.source is not None:
        yield rest.Filter(should=[_equal(key, chosen.source) for key in (SOURCE, ALSO_AT)])


def _places(chosen: Filter) -> Iterator[rest.FieldCondition]:
    """Which places inside them."""
    if chosen.pages is not None:
        first, last = chosen.pages
        yield rest.FieldCondition(key=PAGE_START, range=rest.Range(lte=last))
        yield rest.FieldCondition(key=PAGE_END, range=rest.Range(gte=first))
    if chosen.heading is not None:
        yield rest.FieldCondition(key=BREADCRUMB, match=rest.MatchText(text=chosen.heading))
    for depth, heading in enumerate(chosen.heading_path):
        yield _equal(f"{HEADING_PATH}[{depth}]", heading)


def _equal(key: str, value: str) -> rest.FieldCondition:
    return rest.FieldCondition(key=key, match=rest.MatchValue(value=value))


def layout_of(params: Any, where: str) -> Layout:
    """What the parameters of a collection say about its vectors.

    Raises:
        ConfigurationError: it has no one vector per chunk that is compared by cosine.
    """
    vectors = params.vectors if isinstance(params.vectors, dict) else {UNNAMED: params.vectors}
    known = [one for one in (DENSE, UNNAMED, *vectors) if vectors.get(one) is not None]
    if not known or (len(vectors) > 1 and known[0] not in (DENSE, UNNAMED)):
        raise ConfigurationError(
            f"{where} has {len(vectors)} kinds of vectors ({', '.join(vectors) or 'none'}), none "
            f"of them {DENSE!r}; ingest the documents into a collection of ours"
        )
    found = vectors[known[0]]
    if found.distance != "Cosine" or found.multivector_config is not None:
        kind = "several per chunk" if found.multivector_config else f"by {found.distance.value}"
        raise ConfigurationError(
            f"{where} compares vectors {kind}, and rankings here go by cosine, one per chunk; "
            "ingest the documents into a collection of ours"
        )
    # One that Qdrant does not weigh by document frequency is no BM25 of ours.
    words = (params.sparse_vectors or {}).get(SPARSE)
    sparse = SPARSE if words is not None and words.modifier == "idf" else None
    return Layout(known[0], int(found.size), sparse)


def _struct(point: Point) -> rest.PointStruct:
    # Built without validation: every value is ours, and there are many.
    vector: dict[str, Any] = {}
    if point.vector is not None:
        indices, values = point.words
        sparse = rest.SparseVector.model_construct(indices=indices, values=values)
        vector = {DENSE: list(point.vector), SPARSE: sparse}
    return rest.PointStruct.model_construct(id=point.node_id, payload=point.payload, vector=vector)


def _dense_of(layout: Layout) -> list[str] | bool:
    """What to ask for: all there is where the vector has no name to ask for."""
    return layout.dense == UNNAMED or [layout.dense]


def _vector(given: Any, layout: Layout | None) -> list[float] | None:
    """The embedding, however Qdrant gives it."""
    if layout is None or given is None:
        return None
    vector = given.get(layout.dense) if isinstance(given, dict) else given
    return None if vector is None else list(vector)
