"""Folders of qdrant-client's local mode, which are only read: what is assumed about them is here.

A new qdrant-client may change any of it without a word, so the upper bound in `pyproject.toml` is
raised only after `tests/store/test_local_mode.py` passed with it.
"""

from __future__ import annotations

import io
import json
import pickle
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, Self

from rag_nodes.errors import StoreDamagedError, StoreError, StoreLockedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_META = "meta.json"
_POINTS = "storage.sqlite"
_READ = {
    ("qdrant_client.http.models.models", "PointStruct"),
    ("qdrant_client.http.models.models", "SparseVector"),
    *(("datetime", name) for name in ("date", "datetime", "timedelta", "timezone")),
    ("uuid", "UUID"),
}
"""Classes that a stored point is made of. Points are pickles, which could run anything."""


def is_local_mode(folder: Path) -> bool:
    """Whether qdrant-client's local mode wrote a folder."""
    if any(folder.glob(f"collection/*/{_POINTS}")):
        return True
    try:
        told = json.loads((folder / _META).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(told, dict) and isinstance(told.get("collections"), dict)


class LocalFolder:
    """A folder of qdrant-client's local mode, open for reading: no byte of it is changed.

    Use it in a `with` statement. Meanwhile the program it belongs to cannot open it. Whatever of it
    cannot be read is a `StoreDamagedError`.

    Args:
        path: of the folder.

    Attributes:
        path: the same.
        names: of its collections.

    Raises:
        StoreError: it is no such folder, or the system does not let it be read.
        StoreLockedError: another process has it open.
    """

    def __init__(self, path: Path) -> None:
        if not is_local_mode(path):
            raise StoreError(
                f"{path}: this is no folder of qdrant-client's local mode; name the one that the "
                "program gives as QdrantClient(path=...)"
            )
        self.path = path
        self._lock = _held(path)
        try:
            told = json.loads((path / _META).read_bytes())["collections"]
            self._settings = {name: dict(told[name]) for name in told}
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.__exit__()
            raise _unreadable(path / _META, error) from error
        self.names = list(self._settings)

    def __enter__(self) -> Self:
        """The folder itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let others open it."""
        if self._lock:
            self._lock.close()

    def params(self, name: str) -> Any:
        """Which vectors a collection has, as qdrant-client tells it of one on a server."""
        from qdrant_client.http import models as rest

        told = {key: self._settings[name].get(key) for key in ("vectors", "sparse_vectors")}
        try:
            return rest.CreateCollection(**told)
        except ValueError as error:
            raise _unreadable(self._file(name), error) from error

    def count(self, name: str) -> int:
        """Rows of points that a collection has."""
        [(count,)] = self._rows(name, "SELECT count(*) FROM points")
        return int(count)

    def points(self, name: str) -> Iterator[Any]:
        """The points of a collection, each with `id`, `vector` and `payload`.

        Where two have the same id, the later one is what is stored.
        """
        for (value,) in self._rows(name, "SELECT point FROM points ORDER BY rowid"):
            try:
                yield _Unpickler(io.BytesIO(value)).load()
            except Exception as error:  # damaged pickles raise anything
                raise _unreadable(self._file(name), error) from error

    def _rows(self, name: str, query: str) -> Iterator[tuple[Any, ...]]:
        file = self._file(name)
        place = f"{file.absolute().as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(place, uri=True)) as opened:
                yield from opened.execute(query)
        except sqlite3.Error as error:
            raise _unreadable(file, error) from error

    def _file(self, name: str) -> Path:
        return self.path / "collection" / name / _POINTS


class _Unpickler(pickle.Unpickler):
    """Makes points and nothing else of a pickle."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _READ:
            raise pickle.UnpicklingError(f"a point holds a {module}.{name}")
        return super().find_class(module, name)


def _held(path: Path) -> Any:
    """The lock of a folder, held until it is closed; None where no program ever held it."""
    import portalocker

    try:
        # Its own program opens the file to write, which would make one where there is none.
        handle = (path / ".lock").open("rb")
        try:
            portalocker.lock(
                handle, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
            )
        except BaseException:
            handle.close()
            raise
    except FileNotFoundError:
        return None
    except portalocker.LockException as error:
        raise StoreLockedError(
            f"{path}: another process has this folder open; end that program, and run this again"
        ) from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}; ask for the right to read it") from error
    return handle


def _unreadable(file: Path, error: Exception) -> StoreDamagedError:
    return StoreDamagedError(
        f"{file}: it cannot be read ({type(error).__name__}: {error}); see that the program it "
        "belongs to can open it, and run this again"
    )
