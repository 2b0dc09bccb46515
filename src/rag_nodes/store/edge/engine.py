"""The engine in this process, and that of a folder: who holds it, and how collections come and go.

A collection is made, and removed, under another name first, so that one which was interrupted is
never taken for whole.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
import threading
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from rag_nodes.core.errors import RagNodesError, StoreDamagedError, StoreError, StoreLockedError
from rag_nodes.store.edge import folder, shards
from rag_nodes.store.edge.collection import Collection
from rag_nodes.store.edge.folder import COLLECTIONS, MARKER, SHARD, unreadable
from rag_nodes.store.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rag_nodes.store.engine import Layout

logger = logging.getLogger(__name__)

FORMAT = 1
"""Version of the folder's format; raised when an older release could not read it."""
_NEW, _GONE = folder.UNFINISHED
_DAMAGE = re.compile(r"Failed to (decode|decompress)")
"""Words of the engine's errors about bytes that it did not write."""
_folders: dict[Path, FolderEdge] = {}
_folders_lock = threading.Lock()


class Edge(Engine):
    """Qdrant's own engine in this process; called by one thread at a time."""

    def __init__(self, location: str, guard: threading.RLock) -> None:
        self.location, self.guard = location, guard
        self._opened: dict[str, Collection] = {}
        self._is_closed = False

    @contextmanager
    def step(self, collection: str = "") -> Iterator[None]:
        """Calls that no other thread comes between.

        Raises:
            StoreDamagedError: the engine gave up over bytes that it did not write.
            StoreError: it refused, or is closed.
        """
        with self.guard:
            if self._is_closed:
                raise StoreError(f"{self.location}: the store is closed; open it again")
            try:
                yield
            except (RagNodesError, ValueError, TypeError, KeyError, AttributeError):
                raise
            except BaseException as error:
                where = f"{self.location}: collection '{collection}'"
                # What it gives up on is no `Exception`.
                if type(error).__name__ == "PanicException" or _DAMAGE.search(str(error)):
                    raise StoreDamagedError(
                        f"{where} is damaged ({error}); `rag-nodes clear --parser {collection} "
                        "--yes` deletes it, then ingest again or restore a copy"
                    ) from error
                if not isinstance(error, Exception):
                    raise
                # The engine raises bare exceptions, of which only the text tells anything.
                raise StoreError(
                    f"{where}: {error}; check free disk space and permissions, and ask `rag-nodes "
                    "doctor` whether the collection is damaged"
                ) from error

    def collection(self, name: str, *, remembered: bool = False) -> Collection | None:  # noqa: ARG002
        """Return a collection by its name, opened when it is first asked for."""
        if name not in self._opened and (opened := self._opening(name)):
            self._opened[name] = opened
        return self._opened.get(name)

    def _opening(self, name: str) -> Collection | None:  # noqa: ARG002 -- all are open
        """A collection that is not open yet; None where there is none."""
        return None


class FolderEdge(Edge):
    """A folder that this process alone uses until it is closed.

    A collection that cannot be read is in nobody's way but its own: it is refused where it is asked
    for, and the others work. `path` is made where it is missing; `users` open stores share it.

    Raises:
        StoreForeignError: another program or person put something there; nothing is changed.
        StoreLockedError: another process holds it.
        StoreDamagedError: what tells about the folder itself cannot be read.
        StoreError: it cannot be made or written to, or a newer release wrote it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), threading.RLock())
        self.users, self._path, self._collections = 1, path, path / COLLECTIONS
        self._lock = _locked(path)
        try:
            self._check_format()
            self._collections.mkdir(exist_ok=True)
            self._known, self._unread, unfinished = folder.contents_of(path)
            for collection in unfinished:
                shutil.rmtree(collection)
            for error in self._unread.values():
                logger.warning("%s; the other collections can be used", error)
        except BaseException as error:
            self._lock.close()
            if isinstance(error, OSError):
                raise _unusable(path, error) from error
            raise

    @classmethod
    def of(cls, path: Path) -> Self:
        """Return this process's engine of a folder, and open it if necessary."""
        with _folders_lock:
            if path in _folders:
                _folders[path].users += 1
            else:
                _folders[path] = cls(path)
            return _folders[path]  # type: ignore[return-value] # there are no others

    def names(self) -> list[str]:
        """Every collection there is, but those of which nothing can be read."""
        return list(self._known)

    def _opening(self, name: str) -> Collection | None:
        """Open a collection.

        Raises:
            StoreDamagedError: it cannot be read.
            StoreFullError: the disk has too little space to open it.
            StoreError: the system does not let it be opened, and it may be whole.
        """
        if name not in self._known:
            if error := self._unread.get(self._collections / _file_name(name)):
                raise type(error)(str(error))
            return None
        place, layout = self._known[name]
        try:
            shard = shards.loaded(place / SHARD)
        except StoreError:
            raise
        except Exception as error:
            raise unreadable(place, error) from error
        return Collection(shard, name, layout, self.location, place)

    def create(self, name: str, layout: Layout) -> None:
        if name in self._known:
            return
        place = self._collections / _file_name(name)
        new = place.with_name(place.name + _NEW)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        shards.closed(shards.made(new / SHARD, layout))
        folder.describe(new, name, layout)
        new.rename(place)
        self._known[name] = place, layout

    def drop(self, name: str) -> None:
        if opened := self._opened.pop(name, None):
            opened.shard.close()
        place, _ = self._known.pop(name)
        gone = place.with_name(place.name + _GONE)
        shutil.rmtree(gone, ignore_errors=True)
        place.rename(gone)
        shutil.rmtree(gone)

    def close(self) -> None:
        """Let other processes have it, once the last user closes it."""
        with _folders_lock:
            self.users -= 1
            if self.users > 0:
                return
            _folders.pop(self._path, None)
            with self.guard:
                self._is_closed = True
                try:
                    for collection in self._opened.values():
                        collection.close()
                finally:
                    self._opened.clear()
                    self._lock.close()

    def _check_format(self) -> None:
        marker = self._path / MARKER
        if not marker.exists():
            folder.replace_json(marker, {"format": FORMAT})
        try:
            written = dict(json.loads(marker.read_bytes())).get("format")
        except (OSError, ValueError, TypeError) as error:
            raise unreadable(marker, error) from error
        if not isinstance(written, int):
            raise unreadable(marker, ValueError("it tells no format"))
        if written > FORMAT:
            raise StoreError(
                f"{self._path}: a newer release of rag_nodes wrote this storage folder (format "
                f"{written}, and this one reads up to {FORMAT}); update rag_nodes, or choose "
                "another folder"
            )


def _locked(path: Path) -> Any:
    """The open lock file of a folder, held until it is closed or the process ends."""
    import portalocker

    flags = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
    try:
        folder.check_ours(path)
        path.mkdir(parents=True, exist_ok=True)
        handle = (path / ".lock").open("a+")
        try:
            portalocker.lock(handle, flags)
        except BaseException:
            handle.close()
            raise
    except portalocker.LockException as error:
        raise StoreLockedError(
            f"{path}: another process uses this storage folder; end that process, choose another "
            "folder, or run a Qdrant server and give its URL"
        ) from error
    except OSError as error:
        raise _unusable(path, error) from error
    return handle


def _unusable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{path}: cannot be used as a storage folder ({error.strerror or error}); choose a folder "
        "you may write to, on a disk with free space"
    )


def _file_name(name: str) -> str:
    """A name that every file system takes, different for different collections."""
    quoted = quote(name, safe=" ")
    if len(quoted) <= 150 and quoted.strip(" .") == quoted and quoted == quoted.lower():  # noqa: PLR2004
        return quoted
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{quoted[:100].strip(' .').lower()}-{digest}"
