"""Everything we assume about folders of qdrant-client's local mode, which are taken over once.

A new qdrant-client may change any of it without a word, so the upper bound in `pyproject.toml` is
raised only after `tests/store/test_inside_qdrant.py` passed with it: a test per assumption says
what breaks without it.
"""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import StoreError, StoreLockedError

if TYPE_CHECKING:
    from pathlib import Path


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
        from qdrant_client import QdrantClient

        # The folder is only read once, to be taken over.
        warnings.filterwarnings(
            "ignore", message="Local mode is not recommended", category=UserWarning
        )
        return QdrantClient(path=str(folder))
    except RuntimeError as error:
        if "already accessed" in str(error):
            raise _locked(folder) from error
        raise


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
