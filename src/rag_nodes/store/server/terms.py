"""Filters, points, layouts and options in qdrant-client's terms, and its answers in ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qdrant_client.http import models as rest

from rag_nodes.errors import ConfigurationError
from rag_nodes.store.conditions import FilterTerms
from rag_nodes.store.points import DENSE, SPARSE, UNNAMED, Layout, Point

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_nodes.store.options import ServerOptions
    from rag_nodes.store.queries import Scope

TERMS = FilterTerms(
    rest,
    range=rest.Range,
    times=rest.DatetimeRange,
    empty=lambda key: rest.IsEmptyCondition(is_empty=rest.PayloadField(key=key)),
)
_PARAMETERS = {
    "shards": "shard_number",
    "replicas": "replication_factor",
    "write_consistency": "write_consistency_factor",
    "payload_on_disk": "on_disk_payload",
}
"""What Qdrant calls an option that it takes as it is."""
_GRAPH = {"hnsw_m": "m", "hnsw_ef_construct": "ef_construct"}
"""The same of options of the search graph."""
_QUANTIZATIONS: dict[str, Any] = {
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


def scoped(scope: Scope) -> list[Any]:
    """The conditions of a scope."""
    ids = None
    if scope.node_ids is not None:
        ids = rest.HasIdCondition(has_id=point_ids(scope.node_ids))
    return [one for one in (*map(TERMS.conditions, scope.filters), ids) if one is not None]


def point_ids(node_ids: Sequence[str]) -> list[Any]:
    """Ids as they are sent: points of other programs may be numbered."""
    return [int(one) if one.isdecimal() else one for one in node_ids]


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
    if not _is_cosine(found):
        kind = "several per chunk" if found.multivector_config else f"by {found.distance.value}"
        raise ConfigurationError(
            f"{where} compares vectors {kind}, and rankings here go by cosine, one per chunk; "
            "ingest the documents into a collection of ours"
        )
    # One that Qdrant does not weigh by document frequency is no BM25 of ours.
    words = (params.sparse_vectors or {}).get(SPARSE)
    sparse = SPARSE if words is not None and words.modifier == "idf" else None
    named = {n: int(one.size) for n, one in vectors.items() if n != known[0] and _is_cosine(one)}
    return Layout(int(found.size), known[0], sparse, named)


def _is_cosine(vector: Any) -> bool:
    return vector.distance == "Cosine" and vector.multivector_config is None


def kept(options: ServerOptions, sizes: Mapping[str, int]) -> dict[str, Any]:
    """A new collection of ours, as arguments of `create_collection`.

    Args:
        options: how it is kept.
        sizes: numbers of an embedding, by its name.
    """
    given = options.model_dump(exclude_none=True)
    common: dict[str, Any] = {
        "distance": rest.Distance.COSINE,
        "on_disk": options.vectors_on_disk,
    }
    return {
        "vectors_config": {n: rest.VectorParams(size=s, **common) for n, s in sizes.items()},
        # Qdrant weighs our words by how rare they are.
        "sparse_vectors_config": {SPARSE: rest.SparseVectorParams(modifier=rest.Modifier.IDF)},
        **_renamed(given, _PARAMETERS),
        **_structures(given),
    }


def changed(options: ServerOptions, config: Any) -> dict[str, Any]:
    """What has to change of a collection of ours, as arguments of `update_collection`.

    Args:
        options: what is wanted.
        config: what it has. How many shards it has is fixed.
    """
    quantization = config.quantization_config
    has = {
        **{ours: getattr(config.params, theirs) for ours, theirs in _PARAMETERS.items()},
        **{ours: getattr(config.hnsw_config, theirs) for ours, theirs in _GRAPH.items()},
        "vectors_on_disk": bool(config.params.vectors[DENSE].on_disk),
        "quantization": next((k for k in _QUANTIZATIONS if hasattr(quantization, k)), None),
    }
    wanted = options.model_dump(exclude_none=True, include=has.keys() - {"shards"})
    given = {name: value for name, value in wanted.items() if value != has[name]}
    arguments = _structures(given)
    if params := _renamed(given, _PARAMETERS):
        arguments["collection_params"] = rest.CollectionParamsDiff(**params)
    if "vectors_on_disk" in given:
        diff = rest.VectorParamsDiff(on_disk=given["vectors_on_disk"])
        arguments["vectors_config"] = dict.fromkeys(config.params.vectors, diff)
    return arguments


def _structures(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of what is searched by, as both calls take them."""
    graph = _renamed(given, _GRAPH)
    structures: dict[str, Any] = {"hnsw_config": rest.HnswConfigDiff(**graph)} if graph else {}
    if "quantization" in given:
        structures["quantization_config"] = _QUANTIZATIONS[given["quantization"]]
    return structures


def _renamed(given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {theirs: given[ours] for ours, theirs in names.items() if ours in given}


def struct(point: Point) -> rest.PointStruct:
    """What is stored of a node."""
    # Built without validation: every value is ours, and there are many.
    vector: dict[str, Any] = {name: list(one) for name, one in point.named.items()}
    if point.vector is not None:
        indices, values = point.words
        sparse = rest.SparseVector.model_construct(indices=indices, values=values)
        vector |= {DENSE: list(point.vector), SPARSE: sparse}
    return rest.PointStruct.model_construct(id=point.node_id, payload=point.payload, vector=vector)


def point_in(record: Any, layout: Layout) -> Point:
    """A record as a point, with its vectors where they were asked for."""
    found = Point(str(record.id), record.payload or {})
    if record.vector is None:
        return found
    given = record.vector if isinstance(record.vector, dict) else {UNNAMED: record.vector}
    words = given.get(layout.sparse or "") if layout.sparse else None
    dense = given.get(layout.dense)
    return found._replace(
        vector=None if dense is None else list(dense),
        words=(list(words.indices), list(words.values)) if words else ([], []),
        named={name: list(given[name]) for name in layout.named if name in given},
    )
