"""Folders of embedded Qdrant as qdrant-client had it, made into ours once.

What was there is kept beside, in `local-mode`, for whoever wants to go back.
"""

from __future__ import annotations

import logging
import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError, StoreError
from rag_nodes.store import inside_qdrant
from rag_nodes.store.edge import sealing, shards
from rag_nodes.store.edge.folder import CONVERTING, KEPT, OLD, StorageFolder, damaged
from rag_nodes.store.edge.shards import Vectors
from rag_nodes.store.engine import UNNAMED, Point
from rag_nodes.store.server.terms import layout_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)

_PAGE = 1_000


def convert(path: Path) -> None:
    """Take everything over, and put what was there into `local-mode`; nothing is written twice.

    A run that was interrupted has changed nothing that the next one does not make anew.

    Raises:
        StoreLockedError: another process holds the folder.
        StoreDamagedError: what is in it cannot be read.
        StoreFullError: the disk has too little space for both.
    """
    try:
        client = inside_qdrant.open_folder(path)
    except StoreError:
        raise
    except Exception as error:
        raise damaged(path, error) from error
    made = path / CONVERTING
    shutil.rmtree(made, ignore_errors=True)
    with closing(client), closing(StorageFolder(made)) as new:
        names = [found.name for found in client.get_collections().collections]
        for name in names:
            _take_over(client, name, new, str(path))
    shutil.rmtree(path / "collections", ignore_errors=True)
    (made / "collections").rename(path / "collections")
    (path / KEPT).mkdir(exist_ok=True)
    for one in OLD:
        if (path / one).exists():
            (path / one).rename(path / KEPT / one)
    shutil.rmtree(made)
    logger.warning(
        "%s: %d collections of qdrant-client's local mode were taken over; the old files are in "
        "%s, and can be deleted",
        path,
        len(names),
        path / KEPT,
    )


def _take_over(client: Any, name: str, new: StorageFolder, where: str) -> None:
    where = f"{where}: collection {name!r}"
    try:
        layout = layout_of(client.get_collection(name).config.params, where)
    except ConfigurationError as error:
        new.refuse(name, str(error))
        return
    vectors = Vectors(layout.size, layout.dense, layout.sparse)

    def fill(shard: Any) -> None:
        points = list(_points(client, name, vectors))
        for first in range(0, len(points), _PAGE):
            shards.write(shard, points[first : first + _PAGE], vectors, where, new.path)
            sealing.tidy(shard)

    new.create(name, vectors, fill)


def _points(client: Any, name: str, vectors: Vectors) -> Iterator[Point]:
    # Local mode sorts the whole collection for every page: one page costs as much as all.
    every = max(1, int(client.count(name, exact=True).count))
    records, _ = client.scroll(name, limit=every, with_payload=True, with_vectors=True)
    for record in records:
        named = record.vector if isinstance(record.vector, dict) else {UNNAMED: record.vector}
        sparse = named.get(vectors.sparse) if vectors.sparse else None
        words = (list(sparse.indices), list(sparse.values)) if sparse else ([], [])
        yield Point(str(record.id), record.payload or {}, named.get(vectors.dense), words)
