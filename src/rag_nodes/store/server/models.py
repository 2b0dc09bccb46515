"""Requests, points and options in the models of qdrant-client, and its answers in ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qdrant_client.http import models as rest

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.numbers import number_in
from rag_nodes.store.engine import DENSE, SPARSE, UNNAMED, Layout
from rag_nodes.store.fusion import SAMPLE
from rag_nodes.store.terms import DRAWN, Terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rag_nodes.store.engine import Point
    from rag_nodes.store.opening import ServerOptions
    from rag_nodes.store.queries import Query


_ID_DIGITS = 20
"""Digits of an unsigned number of 64 bits."""


def point_ids(node_ids: Iterable[str]) -> list[Any]:
    """Return ids as they are sent: points of other programs may be numbered."""
    ids = ((node_id, number_in(node_id, _ID_DIGITS)) for node_id in node_ids)
    return [node_id if number is None else number for node_id, number in ids]


TERMS = Terms(
    rest,
    range=rest.Range,
    times=rest.DatetimeRange,
    empty=lambda key: rest.IsEmptyCondition(is_empty=rest.PayloadField(key=key)),
    having=lambda name: rest.HasVectorCondition(has_vector=name),
    one_of=lambda ids: rest.HasIdCondition(has_id=point_ids(ids)),
    nearest=lambda vector, name: {"query": vector, "using": name or None},
    # Whatever candidates are found by, small copies of embeddings too, their scores are cosines.
    exactly=rest.SearchParams(quantization=rest.QuantizationSearchParams(rescore=True)),
)
_PARTS = 16
"""Parts that a collection may consist of, at most; each has candidates of its own."""
_COPIES: Mapping[str, Any] = {
    "scalar": rest.ScalarQuantization(
        scalar=rest.ScalarQuantizationConfig(type=rest.ScalarType.INT8, always_ram=True)
    ),
    "product": rest.ProductQuantization(
        product=rest.ProductQuantizationConfig(
            compression=rest.CompressionRatio.X16, always_ram=True
        )
    ),
    "binary": rest.BinaryQuantization(binary=rest.BinaryQuantizationConfig(always_ram=True)),
}
"""The small copies stay in memory: what is exact is read from where the embeddings are."""


def searches(
    layout: Layout, query: Query, chosen: Any, depth: int
) -> dict[tuple[str, str], rest.QueryRequest]:
    """Return the requests to a server: each ranking scores its own candidates and the other's.

    Points have to pass `chosen`; each ranking gives `depth` at most.
    """
    rankings = TERMS.rankings(layout, query, chosen)
    candidates = {kind: rest.Prefetch(limit=depth, **ranking) for kind, ranking in rankings.items()}
    if query.mode == "hybrid":
        # What ranks nothing comes by ids, which are hashes.
        present = TERMS.filter(TERMS.having(layout.dense), chosen)
        candidates[DRAWN] = rest.Prefetch(limit=SAMPLE, filter=present)
    return {
        (kind, source): rest.QueryRequest(limit=depth, **ranking)
        if source == kind
        else rest.QueryRequest(prefetch=prefetch, limit=(prefetch.limit or 0) * _PARTS, **ranking)
        for kind, ranking in rankings.items()
        for source, prefetch in candidates.items()
    }


def layout_of(params: Any, where: str) -> Layout:
    """Return the layout of vectors in the parameters of a collection.

    Raises:
        ConfigurationError: it has no one vector per chunk that is compared by cosine.
    """
    vectors = params.vectors if isinstance(params.vectors, dict) else {UNNAMED: params.vectors}
    names = [name for name in (DENSE, UNNAMED, *vectors) if vectors.get(name) is not None]
    if not names or (len(vectors) > 1 and names[0] not in (DENSE, UNNAMED)):
        raise ConfigurationError(
            f"{where} has {len(vectors)} kinds of vectors ({', '.join(vectors) or 'none'}), none "
            f"of them '{DENSE}'; ingest the documents into a collection of ours"
        )
    vector = vectors[names[0]]
    if not _is_cosine(vector):
        kind = "several per chunk" if vector.multivector_config else f"by {vector.distance.value}"
        raise ConfigurationError(
            f"{where} compares vectors {kind}, and rankings here go by cosine, one per chunk; "
            "ingest the documents into a collection of ours"
        )
    # One that Qdrant does not weigh by document frequency is no BM25 of ours.
    words = (params.sparse_vectors or {}).get(SPARSE)
    sparse = SPARSE if words is not None and words.modifier == "idf" else None
    ignored = tuple(name for name in vectors if name != names[0])
    return Layout(int(vector.size), names[0], sparse, ignored)


def _is_cosine(vector: Any) -> bool:
    return vector.distance == "Cosine" and vector.multivector_config is None


def new_collection(options: ServerOptions, size: int) -> dict[str, Any]:
    """A collection of ours, as arguments of `create_collection`; None leaves it to the server."""
    common: dict[str, Any] = {"distance": rest.Distance.COSINE, "on_disk": options.vectors_on_disk}
    graph = None if options.hnsw_m is None else rest.HnswConfigDiff(m=options.hnsw_m)
    return {
        "vectors_config": {DENSE: rest.VectorParams(size=size, **common)},
        # Qdrant weighs our words by how rare they are.
        "sparse_vectors_config": {SPARSE: rest.SparseVectorParams(modifier=rest.Modifier.IDF)},
        "shard_number": options.shards,
        "replication_factor": options.replicas,
        "on_disk_payload": options.payload_on_disk,
        "hnsw_config": graph,
        "quantization_config": _COPIES.get(options.quantization or ""),
    }


def struct(point: Point) -> rest.PointStruct:
    """Return the stored form of a node, built without validation: every value is ours."""
    vector: dict[str, Any] = {}
    if point.vector is not None:
        indices, values = point.words
        sparse = rest.SparseVector.model_construct(indices=indices, values=values)
        vector = {DENSE: list(point.vector), SPARSE: sparse}
    return rest.PointStruct.model_construct(id=point.node_id, payload=point.payload, vector=vector)
