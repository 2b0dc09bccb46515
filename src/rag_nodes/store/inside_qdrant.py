"""Everything we assume about the insides of qdrant-client; nothing else reaches into it.

A new qdrant-client may change any of it without a word, so the upper bound in `pyproject.toml` is
raised only after `tests/store/test_inside_qdrant.py` passed with it: a test per assumption says
what breaks without it.
"""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_nodes.errors import StoreError, StoreLockedError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from rag_nodes.store.bm25 import SparseVectors


def arrays_of(
    client: Any, collection: str, dense: str, sparse: str | None
) -> tuple[list[str], NDArray[np.float32], SparseVectors] | None:
    """Ids, embeddings and words of a collection, where embedded Qdrant keeps them as arrays.

    Reading them there saves seconds. What is held is of unit length after a write, but as it was
    given after a folder was opened: only some of the client's own queries scale it.

    Returns:
        None where they are not as assumed; they can then be read by the public way.
    """
    stored = _local_collection(client, collection)
    try:
        gone = stored.deleted.astype(bool)
        # Parents have no vectors; where theirs would be the client keeps some placeholder.
        gone = gone | stored.deleted_per_vector[dense][: len(gone)].astype(bool)
        alive = np.flatnonzero(~gone)
        # Fancy indexing copies: later writes do not reach what was read.
        matrix = np.asarray(stored.vectors[dense][alive], dtype=np.float32)
        by_row = stored.sparse_vectors[sparse] if sparse else [None] * len(gone)
        words = [by_row[row] for row in alive.tolist()]
        columns = (
            [one.indices if one else [] for one in words],
            [one.values if one else [] for one in words],
        )
        return [str(stored.ids_inv[row]) for row in alive.tolist()], matrix, columns
    except (AttributeError, KeyError, IndexError, TypeError):
        return None


def write_ahead(client: Any, collection: str) -> bool:
    """Make writing to a folder fast: one disk flush per checkpoint instead of one per point.

    Write-ahead logging of SQLite keeps every committed point when the process is killed; only a
    power cut can lose the last ones, and running the ingest again restores them.

    Returns:
        Whether there is a database to do it to: in memory there is none.
    """
    stored = _local_collection(client, collection)
    connection = getattr(getattr(stored, "storage", None), "storage", None)
    if connection is None:
        return False
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    return True


def open_folder(folder: Path) -> Any:
    """A client of embedded Qdrant on a folder, after a look at what it would hide or destroy.

    Opening loads everything, and makes empty files in place of lost ones without a word.

    Raises:
        StoreError: the folder cannot be made or written to.
        StoreLockedError: another process holds it.
        Exception: anything else its content makes Qdrant raise: it reads JSON, SQLite and pickles.
    """
    _check_free(folder)
    _check_whole(folder)
    try:
        return _local(path=str(folder))
    except RuntimeError as error:
        if "already accessed" in str(error):
            raise _locked(folder) from error
        raise


def open_memory() -> Any:
    """A client of embedded Qdrant that ends with the process."""
    return _local(location=":memory:")


def says_missing(error: Exception) -> bool:
    """Whether embedded Qdrant means that there is no such collection."""
    return isinstance(error, ValueError) and str(error).endswith("not found")


def says_closed(error: Exception) -> bool:
    """Whether embedded Qdrant means that it was closed."""
    return isinstance(error, RuntimeError) and "instance is closed" in str(error)


def _local(**where: str) -> Any:
    from qdrant_client import QdrantClient

    # `Embedded` says it once, in words that name the collection.
    warnings.filterwarnings("ignore", message="Local mode is not recommended", category=UserWarning)
    # SQLite's own thread check is off because our lock does its work.
    return QdrantClient(**where, force_disable_check_same_thread=True)  # type: ignore[arg-type]


def _local_collection(client: Any, collection: str) -> Any:
    return getattr(getattr(client, "_client", None), "collections", {}).get(collection)


def _check_free(folder: Path) -> None:
    """Find out about permissions and other processes before Qdrant loads the whole folder."""
    import portalocker

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".lock").open("a+") as handle:
            portalocker.lock(
                handle, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
            )
            portalocker.unlock(handle)
    except portalocker.LockException as error:
        raise _locked(folder) from error
    except OSError as error:
        raise StoreError(
            f"{folder}: cannot be used as a storage folder ({error.strerror or error}); choose a "
            "folder you may write to"
        ) from error


def _check_whole(folder: Path) -> None:
    """Find lost files."""
    collections = folder / "collection"
    meta = folder / "meta.json"
    if meta.exists():
        named = json.loads(meta.read_bytes())["collections"]
        lost = [collections / name / "storage.sqlite" for name in named]
    else:
        lost = [meta] if any(collections.glob("*/storage.sqlite")) else []
    for file in lost:
        if not file.exists():
            raise FileNotFoundError(f"{file.relative_to(folder)} is lost")


def _locked(folder: Path) -> StoreLockedError:
    return StoreLockedError(
        f"{folder}: another process uses this storage folder; end that process, choose another "
        "folder, or run a Qdrant server and give its URL"
    )
