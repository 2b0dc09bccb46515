"""Filters, points and layouts in qdrant-client's terms, and its answers in ours."""

from __future__ import annotations

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
from rag_nodes.store.engine import DENSE, SPARSE, UNNAMED, Layout, Point
from rag_nodes.store.filters import DOCUMENT_ID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_nodes.store.filters import Filter


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
    others = {name: one for name, one in vectors.items() if name != known[0]}
    named = {
        name: int(one.size)
        for name, one in others.items()
        if one.distance == "Cosine" and one.multivector_config is None
    }
    return Layout(known[0], int(found.size), sparse, named)


def struct(point: Point) -> rest.PointStruct:
    """What is stored of a node."""
    # Built without validation: every value is ours, and there are many.
    vector: dict[str, Any] = {name: list(one) for name, one in point.named.items()}
    if point.vector is not None:
        indices, values = point.words
        sparse = rest.SparseVector.model_construct(indices=indices, values=values)
        vector |= {DENSE: list(point.vector), SPARSE: sparse}
    return rest.PointStruct.model_construct(id=point.node_id, payload=point.payload, vector=vector)


def dense_of(layout: Layout) -> list[str] | bool:
    """What to ask for: all there is where the vector has no name to ask for."""
    return layout.dense == UNNAMED or [layout.dense]


def vector_in(given: Any, layout: Layout | None) -> list[float] | None:
    """The embedding, however Qdrant gives it."""
    if layout is None or given is None:
        return None
    vector = given.get(layout.dense) if isinstance(given, dict) else given
    return None if vector is None else list(vector)


def whole(record: Any, layout: Layout) -> Point:
    """A record with all its vectors."""
    given = record.vector if isinstance(record.vector, dict) else {}
    words = given.get(layout.sparse or "")
    return Point(
        str(record.id),
        record.payload or {},
        vector_in(record.vector, layout),
        (list(words.indices), list(words.values)) if words else ([], []),
        {name: list(given[name]) for name in layout.named if given.get(name) is not None},
    )
