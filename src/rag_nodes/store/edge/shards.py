"""Shards of the engine: made, opened, checked before every write, and closed without a loss.

The engine has no safety net where one is most needed: on a full disk it ends the process, a batch
with one bad point is stored in part, and numbers that are none are taken without a word. So what
goes in is looked at first.
"""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import qdrant_edge as edge

from rag_nodes.errors import ConfigurationError, DimensionError, StoreError, StoreFullError
from rag_nodes.store.edge import files, sealing
from rag_nodes.store.edge.terms import TENANT, WHOLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_nodes.store.edge.terms import ShardShare
    from rag_nodes.store.filters import IndexKind
    from rag_nodes.store.points import Layout, Point

BATCH = 64
"""Points written in one call: fastest, and the shortest time in which nothing else can run."""
LEAST_FREE = 256 << 20
"""Bytes that stay free on the disk. The engine maps files, and a mapped file that cannot grow ends
the process."""
_PAYLOAD = 4_000
"""Bytes that a payload takes, about."""
_GROWTH = 6
"""Bytes on disk for a byte of payload and vectors that is written: index, log and room to grow."""
_INDEXED = 300
"""Bytes on disk that an index of a key takes for a point, whether the point has the key or not."""
_DEEPEST = 100
"""Levels of a payload that can still be read; the engine stores deeper ones and fails on them."""
_LARGEST = 1e18
"""Length of an embedding from which its square is no number any more."""

_TENANTS = edge.KeywordIndexParams(is_tenant=True)


def made(folder: Path, layout: Layout, *, durable: bool = True, tenants: bool = False) -> Any:
    """A new shard in a folder that is not there yet.

    Args:
        folder: where.
        layout: of its vectors.
        durable: what was acknowledged survives the end of the process; else it does so only after
            a flush, which is faster.
        tenants: several collections share it, and the engine is told which key parts them.

    Raises:
        StoreFullError: the disk has too little space.
    """
    check_space(folder.parent, temporary=tenants)
    config = sealing.config(layout, durable=durable, seals=not tenants)
    shard = edge.EdgeShard.create(str(folder), config)
    if tenants:
        shard.update(edge.UpdateOperation.create_field_index(TENANT, _TENANTS))
    return shard


def loaded(folder: Path) -> Any:
    """An existing shard, as it was made; it knows best which vectors it has.

    Raises:
        StoreFullError: the disk has too little space to map its files.
        Exception: it is damaged, or open in another process.
    """
    check_space(folder)
    # Loading a folder that is none would leave files in it.
    if not (folder / files.CONFIG).is_file():
        raise FileNotFoundError(f"{folder.name}/{files.CONFIG} is lost")
    files.check_manifest(folder)
    files.drop_manifest(folder)
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
            shard.update(edge.UpdateOperation.create_field_index(key, sealing.INDEXED[kind]))


def closed(shard: Any) -> None:
    """Close a shard: closing alone would hide that the last changes could not be written."""
    shard.flush()
    shard.close()


def check_space(place: Path, coming: int = 0, *, temporary: bool = False) -> None:
    """Find out whether a disk has room for what comes, before the process ends for lack of it.

    Args:
        place: a folder on that disk; its nearest parent counts while it is not there.
        coming: bytes about to be written.
        temporary: nobody chose the folder, and nothing in it outlives the process.

    Raises:
        StoreFullError: it has not.
    """
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if free >= LEAST_FREE + coming:
        return
    remedy = (
        "free some space, or set TMPDIR to a folder on another disk"
        if temporary
        else "free some space (`rag-nodes clear --parser NAME --yes` opens nothing), or choose a "
        "folder on another disk"
    )
    # The name of a temporary folder tells nobody anything.
    where = place.parent if temporary else place
    raise StoreFullError(
        f"{where}: {free >> 20} MB are free, and at least {-(-(LEAST_FREE + coming) >> 20)} MB "
        f"are needed to open and write safely; {remedy}"
    )


def write(
    shard: Any,
    points: Sequence[Point],
    layout: Layout,
    where: str,
    disk: Path,
    share: ShardShare = WHOLE,
) -> None:
    """Store points; those of the same id are replaced. Each is looked at before any is written.

    Args:
        shard: opened.
        points: to write.
        layout: of its vectors.
        where: location and collection, for messages.
        disk: a folder on the disk it is on.
        share: of the collection that they belong to.

    Raises:
        ConfigurationError: an id is no UUID, or a value cannot be stored.
        DimensionError: an embedding has another length.
        StoreFullError: the disk has too little space; what was written before stays.
    """
    made = [_point(one, layout, where, share) for one in points]
    coming = BATCH * (layout.size * 4 + _PAYLOAD) * _GROWTH
    for first in range(0, len(made), BATCH):
        check_space(disk, coming, temporary=share.tenant is not None)
        shard.update(edge.UpdateOperation.upsert_points(made[first : first + BATCH]))


def _point(one: Point, layout: Layout, where: str, share: ShardShare) -> Any:
    """A point as the engine takes it, once there is nothing in it that would do harm."""
    if _depth(one.payload) > _DEEPEST:
        raise ConfigurationError(
            f"{where}: metadata of node {one.node_id} is nested more than {_DEEPEST} levels deep; "
            "keep less of it"
        )
    given = one.named if one.vector is None else {**one.named, layout.dense: one.vector}
    vectors: dict[str, Any] = {
        name: _numbers(vector, layout.sizes.get(name, 0), one.node_id, where)
        for name, vector in given.items()
    }
    indices, values = one.words
    if one.vector is not None and layout.sparse and indices:
        vectors[layout.sparse] = edge.SparseVector(indices=indices, values=values)
    try:
        return edge.Point(share.point_id(one.node_id, where), vectors, share.payload(one.payload))
    except (TypeError, ValueError, UnicodeEncodeError) as error:
        if isinstance(error, StoreError | ConfigurationError):
            raise
        raise ConfigurationError(
            f"{where}: metadata of node {one.node_id} cannot be stored ({error}); keep texts, "
            "numbers, lists and mappings with names as keys"
        ) from error


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
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = [item for items in inner for item in items if isinstance(item, dict | list | tuple)]
    return depth
