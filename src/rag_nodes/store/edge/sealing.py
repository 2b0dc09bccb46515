"""What was written long ago leaves memory: a shard is sealed part by part.

The engine maps vectors and payloads from files, but of the part that it writes to it holds words,
ids and indexed keys in memory, 2 KB for a chunk and more. A part of some size is therefore sealed:
written once more as one that can only lose points, of which everything is mapped, and the next is
begun. Whoever writes holds one such part in memory, however much is stored, and pays a share of
each chunk that is the same for the first and the millionth, since no two full parts are made one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import qdrant_edge as edge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.store.points import Layout

PART = 10_000
"""Points of a part. More are more memory, and a longer time in which nothing else runs: the engine
holds Python's lock while it seals. Fewer are slower questions, which ask every part."""
_LEAST = 2_000
"""Bytes of a point that count where its embeddings are shorter: about those of its words."""
_NEVER = 10**9
"""Kilobytes that no part has."""
_LOST = 0.5
"""Share of deleted points from which a part is written once more without them. Documents that
change follow each other as they were written, so their old points are of one part: with less, that
part would be written again and again."""

_NO_GRAPH = edge.HnswIndexConfig(m=0, ef_construct=4, full_scan_threshold=_NEVER)
"""Up to some 100,000 chunks exact search takes milliseconds, and building a graph for another one
stops every thread of the process for seconds to minutes."""
_MAPPED = edge.Memory.Cold

INDEXED: Mapping[str, Any] = {
    "keyword": edge.KeywordIndexParams(memory=_MAPPED),
    "integer": edge.IntegerIndexParams(memory=_MAPPED),
    "text": edge.TextIndexParams(memory=_MAPPED),
}
"""What an index of a key is told, by the kind of its values."""


def config(layout: Layout, *, durable: bool, seals: bool) -> Any:
    """What the engine is told of a new shard.

    Args:
        layout: of its vectors.
        durable: see `rag_nodes.store.edge.shards.made`.
        seals: False for one that is small, or gone with the process.
    """
    # The engine compares kilobytes of that vector which has the most of them.
    full = PART * max(_LEAST, 4 * max(layout.sizes.values())) // 1024
    memory = _MAPPED if seals else None
    words = edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, memory=memory)
    return edge.EdgeConfig(
        vectors={
            name: edge.EdgeVectorParams(size=size, distance=edge.Distance.Cosine)
            for name, size in layout.sizes.items()
        },
        sparse_vectors={layout.sparse: words} if layout.sparse else None,
        # Sixteen by default, even on four cores; here every call holds Python's lock anyway.
        max_search_threads=1,
        wal_enabled=durable,
        hnsw_config=_NO_GRAPH,
        optimizers=edge.EdgeOptimizersConfig(
            indexing_threshold=full if seals else _NEVER,
            # What a killed process or deletions left of parts is made one up to here.
            max_segment_size=full * 3 // 2,
            default_segment_number=1,
            deleted_threshold=_LOST,
        ),
        id_tracker_memory=_MAPPED,
    )


def tidy(shard: Any) -> None:
    """Seal what is full, and give back the space of what was deleted; where nothing is, a glance.

    A disk without room for it is left as it is: nothing is lost, and it is tried again.
    """
    try:
        shard.optimize()
    except Exception as error:
        # Of the engine's bare exceptions only the text tells anything.
        if "Not enough space" not in str(error):
            raise
