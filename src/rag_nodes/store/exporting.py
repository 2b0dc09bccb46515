"""Folders that `QdrantClient(path=…)` reads: written beside their place, and moved there whole."""

from __future__ import annotations

import os
import shutil
import sqlite3
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from qdrant_client import QdrantClient

from rag_nodes.core.errors import CollectionMissingError, ConfigurationError, StoreError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several
from rag_nodes.store.copying import copy_collection
from rag_nodes.store.engine import MEMORY
from rag_nodes.store.opening import ServerOptions
from rag_nodes.store.server import Served
from rag_nodes.store.server.inside_local_mode import write_without_waiting
from rag_nodes.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rag_nodes.store.copying import CopyReport, CopyStep
    from rag_nodes.store.engine import Layout
    from rag_nodes.store.server.engine import ServedCollection

_UNHELPFUL = "Local mode is not recommended|Payload indexes have no effect"
"""Beginnings of warnings of qdrant-client, which are in the documentation here."""


class _LocalMode(Served):
    """qdrant-client in this process, which says in its own way that a collection is missing."""

    def collection(self, name: str, *, remembered: bool = False) -> ServedCollection | None:
        is_there = self.client.collection_exists(name)
        return super().collection(name, remembered=remembered) if is_there else None

    def create(self, name: str, layout: Layout) -> None:
        super().create(name, layout)
        write_without_waiting(self.client, name)


@checks_keywords
def export_folder(
    store: Store,
    folder: str | Path,
    collections: str | Sequence[str] | None = None,
    progress: Callable[[CopyStep], None] | None = None,
) -> list[CopyReport]:
    """Write collections to a folder that `QdrantClient(path=…)` reads; nothing is embedded again.

    Points, payloads, embeddings and BM25 vectors are copied, and compared at the end. The folder is
    there once all of it is: until then the copy is in `FOLDER.part`, which an error removes.

    Args:
        store: read from; nothing else may write to it meanwhile.
        folder: new or empty.
        collections: names of the collections; None for all of ours.
        progress: called after every 256 points.

    Raises:
        CollectionMissingError: the store has no such collection, or none at all.
        ConfigurationError: the folder is not empty, an earlier export to it was killed, or another
            program wrote a collection.
        StoreError: the store cannot be read, or the folder cannot be written.
    """
    ours = [info.name for info in store.collections()]
    names = ours if collections is None else several(collections)
    if not names:
        raise CollectionMissingError(
            f"{store.location}: no collection of rag_nodes is stored here; ingest documents first"
        )
    resolved = dict.fromkeys(map(store.resolved, names))
    with _written_whole(_vacant(folder)) as target:
        return [copy_collection(name, store, target, progress) for name in resolved]


@contextmanager
def _written_whole(place: Path) -> Iterator[Store]:
    """Run a block that fills a store, and make a folder of it unless the block fails."""
    part = place.with_name(f"{place.name}.part")
    try:
        part.mkdir(parents=True)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=_UNHELPFUL)
                client = QdrantClient(path=str(part))
                with Store(_LocalMode(str(place), client, ServerOptions(retries=0))) as store:
                    yield store
            for file in filter(Path.is_file, part.rglob("*")):
                with file.open("rb+") as written:
                    os.fsync(written.fileno())
            if place.is_dir():
                place.rmdir()
            part.rename(place)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except FileExistsError as error:
        raise ConfigurationError(
            f"{part}: an export to {place} was killed, or is running; if none is running, delete "
            "this folder and run the export again"
        ) from error
    except (OSError, sqlite3.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise StoreError(
            f"{place}: the export cannot be written ({why}); check permissions and free space, and "
            "run it again"
        ) from error


def _vacant(folder: str | Path) -> Path:
    """Return the place of a folder that is new or empty.

    Raises:
        ConfigurationError: it is neither, or no folder.
    """
    if str(folder) == MEMORY or "://" in str(folder):
        raise ConfigurationError(
            f"{folder}: an export makes a folder, so name one; to copy to a server, use `rag-nodes "
            "store push URL`"
        )
    place = Path(folder).expanduser().resolve()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise ConfigurationError(
            f"{place}: this is not an empty folder; name a new folder, or delete this one first"
        )
    return place
