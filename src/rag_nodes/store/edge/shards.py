"""Shards of the engine: made, opened, sealed part by part, and written to without harm.

The engine has no safety net where one is most needed: on a full disk it ends the process, a batch
with one bad point is stored in part, and numbers that are none are taken without a word. So what
goes in is looked at first.

It maps vectors and payloads from files, but of the segment that it writes to it holds words, ids
and indexed keys in memory, 2 KB for a chunk and more. A segment of some size is therefore sealed:
written again as one that can only lose points, of which everything is mapped, and the next is
begun. Whoever writes holds one such segment in memory, however much is stored.
"""

from __future__ import annotations

import math
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import qdrant_edge as edge

from rag_nodes.core.errors import (
    FREE_SPACE,
    ConfigurationError,
    DimensionError,
    StoreFullError,
)
from rag_nodes.store.edge.folder import CONFIG, check_manifest, drop_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rag_nodes.store.conditions import IndexKind
    from rag_nodes.store.engine import Layout, Point

SEGMENT = 10_000
"""Points of a segment that is sealed. More are more memory, and a longer time in which nothing else
runs: the engine holds Python's lock while it seals. Fewer are slower questions, which ask each."""
_LEAST = 2_000
"""Bytes of a point that count where its embeddings are shorter: about those of its words."""
_NEVER = 10**9
"""Kilobytes that no segment has."""
_LOST = 0.5
"""Share of deleted points from which a segment is written again without them. Documents that
change follow each other as they were written, so their old points are of one segment: with less,
that one would be written again and again."""
LEAST_FREE = 256 << 20
"""Bytes that stay free on the disk. The engine maps files, and a mapped file that cannot grow ends
the process."""
_INDEXED = 300
"""Bytes on disk that an index of a key takes for a point, whether the point has the key or not."""
_DEEPEST = 100
"""Levels of a payload that can still be read; the engine stores deeper ones and fails on them."""
_LARGEST = 1e18
"""Length of an embedding from which its square is no number any more."""

_NO_GRAPH = edge.HnswIndexConfig(m=0, ef_construct=4, full_scan_threshold=_NEVER)
"""Up to some 100,000 chunks exact search takes milliseconds, and building a graph for another one
stops every thread of the process for seconds to minutes."""
_MAPPED = edge.Memory.Cold
INDEX_KINDS: Mapping[str, Any] = {
    "keyword": edge.KeywordIndexParams(memory=_MAPPED),
    "integer": edge.IntegerIndexParams(memory=_MAPPED),
    "text": edge.TextIndexParams(memory=_MAPPED),
}
"""Parameters of the index of a key, by the kind of its values."""


def made(folder: Path, layout: Layout, *, temporary: bool = False) -> Any:
    """A new shard in a folder that is not there yet.

    A temporary one ends with the process; so nothing is logged, which is faster.

    Raises:
        StoreFullError: the disk has too little space.
    """
    check_space(folder.parent, temporary=temporary)
    full = SEGMENT * max(_LEAST, 4 * layout.size) // 1024
    words = edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, memory=_MAPPED)
    config = edge.EdgeConfig(
        vectors={
            layout.dense: edge.EdgeVectorParams(size=layout.size, distance=edge.Distance.Cosine)
        },
        sparse_vectors={layout.sparse: words} if layout.sparse else None,
        # Sixteen by default, even on four cores; here every call holds Python's lock anyway.
        max_search_threads=1,
        wal_enabled=not temporary,
        hnsw_config=_NO_GRAPH,
        optimizers=edge.EdgeOptimizersConfig(
            indexing_threshold=full,
            # What a killed process or deletions left of segments is made one up to here.
            max_segment_size=full * 3 // 2,
            default_segment_number=1,
            deleted_threshold=_LOST,
        ),
        id_tracker_memory=_MAPPED,
    )
    return edge.EdgeShard.create(str(folder), config)


def loaded(folder: Path) -> Any:
    """An existing shard, as it was made; it knows best which vectors it has.

    Raises:
        StoreFullError: the disk has too little space to map its files.
        Exception: it is damaged, or open in another process.
    """
    check_space(folder)
    # Loading a folder that is none would leave files in it.
    if not (folder / CONFIG).is_file():
        raise FileNotFoundError(f"{folder.name}/{CONFIG} is lost")
    check_manifest(folder)
    drop_manifest(folder)
    return edge.EdgeShard.load(str(folder))


def index(shard: Any, keys: Mapping[str, IndexKind], disk: Path) -> None:
    """Have filters by some keys of the payload answered without a look at every point.

    Raises:
        StoreFullError: the disk has too little space.
    """
    about = shard.info()
    for key, kind in keys.items():
        if key not in about.payload_schema:
            check_space(disk, about.points_count * _INDEXED)
            shard.update(edge.UpdateOperation.create_field_index(key, INDEX_KINDS[kind]))


def seal(shard: Any) -> None:
    """Seal what is full, and give back the space of what was deleted; where nothing is, a glance.

    A disk without room for it is left as it is: nothing is lost, and it is tried again.
    """
    try:
        shard.optimize()
    except Exception as error:
        # Of the engine's bare exceptions only the text tells anything.
        if "Not enough space" not in str(error):
            raise


def closed(shard: Any) -> None:
    """Close a shard: closing alone would hide that the last changes could not be written."""
    shard.flush()
    shard.close()


def check_space(place: Path, coming: int = 0, *, temporary: bool = False) -> None:
    """Find out whether a disk has room for what comes, before the process ends for lack of it.

    Of a place that is not there yet its nearest parent counts. Nobody chose a temporary one.

    Raises:
        StoreFullError: it has not.
    """
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if free >= LEAST_FREE + coming:
        return
    remedy = (
        "free some space, or set TMPDIR to a folder on another disk" if temporary else FREE_SPACE
    )
    # The name of a temporary folder tells nobody anything.
    where = place.parent if temporary else place
    raise StoreFullError(
        f"{where}: {free >> 20} MB are free, and at least {-(-(LEAST_FREE + coming) >> 20)} MB "
        f"are needed to open and write safely; {remedy}"
    )


def vectors_of(point: Point, layout: Layout, where: str) -> dict[str, Any]:
    """The vectors of a point as the engine takes them, once nothing in it would do harm.

    Raises:
        ConfigurationError: a value cannot be stored.
        DimensionError: an embedding has another length.
    """
    if _depth(point.payload) > _DEEPEST:
        raise ConfigurationError(
            f"{where}: metadata of node {point.node_id} is nested more than {_DEEPEST} levels "
            "deep; keep less of it"
        )
    if point.vector is None:
        return {}
    numbers = _numbers(point.vector, layout.size, point.node_id, where)
    vectors: dict[str, Any] = {layout.dense: numbers}
    indices, values = point.words
    if layout.sparse and indices:
        vectors[layout.sparse] = edge.SparseVector(indices=indices, values=values)
    return vectors


def _numbers(vector: Sequence[float], size: int, node: str, where: str) -> Sequence[float]:
    """A vector as the engine takes it fastest."""
    numbers: Sequence[float] = vector.tolist() if isinstance(vector, np.ndarray) else vector
    if len(numbers) != size:
        raise DimensionError(
            f"{where} holds vectors of length {size}, got {len(numbers)}; use the embedding model "
            "it was made with, or another corpus name"
        )
    length = math.hypot(*numbers)
    if not length < _LARGEST:
        raise ConfigurationError(
            f"{where}: the embedding of node {node} has a length of {length}, which no similarity "
            "can be computed of; look at the embedding model"
        )
    return numbers


def _depth(value: Any) -> int:
    """Levels of lists and mappings, counted no further than matters."""
    depth, level = 0, [value]
    while level and depth <= _DEEPEST:
        depth += 1
        inner = (value.values() if isinstance(value, dict) else value for value in level)
        level = [item for items in inner for item in items if isinstance(item, dict | list | tuple)]
    return depth
