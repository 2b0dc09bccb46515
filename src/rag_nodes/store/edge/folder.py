"""A storage folder: who holds it, and how a collection comes and goes in one piece.

Each collection is a folder of its own in `collections`, with a shard and what is known of it. A
collection is made, and removed, under another name first, so that one which was interrupted is
never taken for whole.
"""

from __future__ import annotations

import json
import logging
import shutil
import threading
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rag_nodes.errors import StoreError, StoreLockedError
from rag_nodes.store.edge import files, shards
from rag_nodes.store.edge.collection import Collection
from rag_nodes.store.edge.contents import (
    ALIASES,
    COLLECTIONS,
    MARKER,
    UNFINISHED,
    check_ours,
    contents_of,
    unreadable,
)
from rag_nodes.store.edge.engine import Edge
from rag_nodes.store.edge.memory import MemoryEdge
from rag_nodes.store.engine import MEMORY
from rag_nodes.store.points import Layout

logger = logging.getLogger(__name__)

FORMAT = 1
"""Of the folder; raised when an older release could not read it."""
_folders: dict[Path, FolderEdge] = {}
_folders_lock = threading.Lock()


def open_edge(location: str) -> Edge:
    """A new engine in memory, or the one that this process has on a folder; see `FolderEdge`."""
    if location == MEMORY:
        return MemoryEdge()
    path = Path(location).expanduser().resolve()
    with _folders_lock:
        if path in _folders:
            _folders[path].users += 1
        else:
            _folders[path] = FolderEdge(path)
        return _folders[path]


class FolderEdge(Edge):
    """A folder that this process alone uses until it is closed.

    A collection that cannot be read is in nobody's way but its own: it is refused where it is asked
    for, and the others work.

    Args:
        path: of the folder, resolved; made where it is missing.

    Attributes:
        users: open stores that share it.

    Raises:
        StoreForeignError: another program or person put something there; nothing is changed.
        StoreLockedError: another process holds it.
        StoreDamagedError: what tells about the folder itself cannot be read.
        StoreError: it cannot be made or written to, or a newer release wrote it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), threading.RLock())
        self.users = 1
        self._path, self._collections = path, path / COLLECTIONS
        self._lock = _locked(path)
        try:
            self._check_format()
            self._collections.mkdir(exist_ok=True)
            self._aliases = self._read(ALIASES)
            self._known, self._unread, unfinished, _ = contents_of(path)
            for folder in unfinished:
                shutil.rmtree(folder)
            for error in self._unread.values():
                logger.warning("%s; the other collections can be used", error)
        except BaseException:
            self._lock.close()
            raise

    def names(self) -> list[str]:
        """Every collection there is, but those of which nothing can be read."""
        return list(self._known)

    def _opened(self, name: str) -> Collection | None:
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
        folder, layout = self._known[name]
        try:
            shard = shards.loaded(folder / files.SHARD)
        except StoreError:
            raise
        except Exception as error:
            raise unreadable(folder, error) from error
        return Collection(shard, name, layout, self.location, folder)

    def create(self, name: str, layout: Layout) -> None:
        """Make a collection; fine if it is there."""
        if name in self._known:
            return
        folder = self._collections / _file_name(name)
        new = folder.with_name(folder.name + UNFINISHED[0])
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        shards.closed(shards.made(new / files.SHARD, layout))
        files.describe(new, name, layout)
        new.rename(folder)
        self._known[name] = folder, layout

    def _remove(self, name: str) -> None:
        """Remove a collection, which may be open."""
        if opened := self._open.pop(name, None):
            opened.shard.close()
        folder, _ = self._known.pop(name)
        gone = folder.with_name(folder.name + UNFINISHED[1])
        shutil.rmtree(gone, ignore_errors=True)
        folder.rename(gone)
        shutil.rmtree(gone)

    def _keep_aliases(self, aliases: dict[str, str]) -> None:
        if aliases != self._aliases:
            files.replace_json(self._path / ALIASES, aliases)
        super()._keep_aliases(aliases)

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
                    for collection in self._open.values():
                        collection.close()
                finally:
                    self._open.clear()
                    self._lock.close()

    def _check_format(self) -> None:
        marker = self._path / MARKER
        if not marker.exists():
            marker.write_text(json.dumps({"format": FORMAT}), encoding="utf-8")
        written = self._read(MARKER).get("format")
        if not isinstance(written, int):
            raise unreadable(marker, ValueError("it tells no format"))
        if written > FORMAT:
            raise StoreError(
                f"{self._path}: a newer release of rag_nodes wrote this storage folder (format "
                f"{written}, and this one reads up to {FORMAT}); update rag_nodes, or choose "
                "another folder"
            )

    def _read(self, name: str) -> dict[str, Any]:
        """What a file of the folder itself tells; nothing where it is not there."""
        try:
            return dict(json.loads((self._path / name).read_bytes()))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError) as error:
            raise unreadable(self._path / name, error) from error


def _locked(path: Path) -> Any:
    """The open lock file of a folder, held until it is closed or the process ends."""
    import portalocker

    flags = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
    try:
        check_ours(path)
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
        raise StoreError(
            f"{path}: cannot be used as a storage folder ({error.strerror or error}); choose a "
            "folder you may write to"
        ) from error
    return handle


def _file_name(name: str) -> str:
    """A name that every file system takes, different for different collections."""
    quoted = quote(name, safe=" ")
    if len(quoted) <= 150 and quoted.strip(" .") == quoted and quoted == quoted.lower():  # noqa: PLR2004
        return quoted
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{quoted[:100].strip(' .').lower()}-{digest}"
