"""A storage folder: who holds it, what is in it, and how a collection comes and goes in one piece.

Each collection is a folder of its own in `collections`, with a shard and `collection.json`, which
says what it is: the engine cannot be asked. A collection is made, and removed, under another name
first, so that one which was interrupted is never taken for whole.
"""

from __future__ import annotations

import json
import logging
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rag_nodes.errors import StoreError, StoreLockedError
from rag_nodes.store.edge import files, shards
from rag_nodes.store.edge.collection import Collection
from rag_nodes.store.edge.files import Aliases
from rag_nodes.store.edge.ownership import (
    ABOUT,
    COLLECTIONS,
    MARKER,
    SHARD,
    UNFINISHED,
    Known,
    check_ours,
    damaged,
    is_collection,
    known_of,
    unreadable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rag_nodes.store.points import Layout

logger = logging.getLogger(__name__)

FORMAT = 1
"""Of the folder; raised when an older release could not read it."""
_MARKS = "marks.json"
"""Who wrote to a collection last, see `Store.marks`."""


class StorageFolder:
    """A folder that this process alone uses until it is closed.

    Args:
        path: of the folder, resolved; made where it is missing.

    A collection that cannot be read is in nobody's way but its own: it is refused where it is asked
    for, and the others work.

    Raises:
        StoreForeignError: another program or person put something there; nothing is changed.
        StoreLockedError: another process holds it.
        StoreDamagedError: what tells about the folder itself cannot be read.
        StoreError: it cannot be made or written to, or a newer release wrote it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.guard = threading.RLock()
        self._unread: dict[Path, StoreError] = {}
        self._lock = _locked(path)
        try:
            self._check_format()
            self._collections = path / COLLECTIONS
            self._collections.mkdir(exist_ok=True)
            self._known = dict(self._found())
            self.aliases = self._read_aliases()
        except BaseException:
            self._lock.close()
            raise

    @property
    def names(self) -> list[str]:
        """Of its collections."""
        return list(self._known)

    def layout(self, name: str) -> Layout | None:
        """Which vectors a collection has; None while it does not exist.

        Raises:
            StoreError: what tells about it cannot be read.
        """
        known = self._known.get(name)
        if known is None and (error := self._unread.get(self._collections / _file_name(name))):
            raise type(error)(str(error))
        return known.layout if known else None

    def create(self, name: str, layout: Layout, fill: Callable[[Any], None] | None = None) -> None:
        """Make a collection; fine if it is there.

        Args:
            name: of the collection.
            layout: of its vectors.
            fill: writes to its shard before the collection is there for others.
        """
        if name in self._known:
            return
        folder = self._collections / _file_name(name)
        new = folder.with_name(folder.name + UNFINISHED[0])
        _removed(new)
        new.mkdir()
        shard = shards.made(new / SHARD, layout)
        try:
            if fill:
                fill(shard)
        finally:
            shards.closed(shard)
        (new / ABOUT).write_text(_described(name, layout), encoding="utf-8")
        new.rename(folder)
        self._known[name] = Known(folder, layout)

    def note(self, name: str, layout: Layout) -> None:
        """Note that the shard of a collection has further vectors."""
        folder = self._known[name].folder
        new = folder / f"{ABOUT}.new"
        new.write_text(_described(name, layout), encoding="utf-8")
        new.replace(folder / ABOUT)
        self._known[name] = Known(folder, layout)

    def load(self, name: str) -> Any:
        """Open the shard of a collection.

        Raises:
            StoreDamagedError: it cannot be read.
            StoreFullError: the disk has too little space to open it.
            StoreError: the system does not let it be opened, and it may be whole.
        """
        folder = self._known[name].folder
        try:
            return shards.loaded(folder / SHARD)
        except StoreError:
            raise
        except Exception as error:
            raise unreadable(folder, error) from error

    def opened(self, name: str) -> Collection:
        """Open a collection, see `load`."""
        where = f"{self.path}: collection {name!r}"
        return Collection(self.load(name), self._known[name].layout, where, self.path)

    def shut(self, name: str, collection: Collection) -> None:
        """Close a collection without a loss, and note what its files are."""
        shards.closed(collection.shard)
        files.keep_manifest(self._known[name].folder / SHARD)

    def marks(self, name: str) -> dict[str, str]:
        """The marks of a collection; none where they cannot be read."""
        return files.strings_in(self._known[name].folder / _MARKS)

    def mark(self, name: str, marks: Mapping[str, str]) -> None:
        """Keep the marks of a collection, all of them."""
        files.replace_json(self._known[name].folder / _MARKS, marks)

    def drop(self, name: str, opened: Collection | None = None) -> None:
        """Remove a collection, which may be open."""
        if opened:
            opened.shard.close()
        known = self._known.pop(name)
        gone = known.folder.with_name(known.folder.name + UNFINISHED[1])
        _removed(gone)
        known.folder.rename(gone)
        _removed(gone)

    def disk_size(self, name: str) -> int:
        """Bytes that a collection takes: its files have holes, and are shorter than they say."""
        files = self._known[name].folder.rglob("*")
        return sum(getattr(one.stat(), "st_blocks", 0) * 512 or one.stat().st_size for one in files)

    def close(self) -> None:
        """Let other processes have it."""
        self._lock.close()

    def _check_format(self) -> None:
        marker = self.path / MARKER
        if not marker.exists():
            marker.write_text(json.dumps({"format": FORMAT}), encoding="utf-8")
            return
        try:
            written = int(json.loads(marker.read_bytes())["format"])
        except (ValueError, KeyError, TypeError) as error:
            raise damaged(marker, error) from error
        if written > FORMAT:
            raise StoreError(
                f"{self.path}: a newer release of rag_nodes wrote this storage folder (format "
                f"{written}, and this one reads up to {FORMAT}); update rag_nodes, or choose "
                "another folder"
            )

    def _found(self) -> Any:
        for folder in sorted(self._collections.iterdir()):
            if folder.suffix in UNFINISHED:
                _removed(folder)
            elif is_collection(folder):
                try:
                    yield known_of(folder)
                except StoreError as error:
                    self._unread[folder] = error
                    logger.warning("%s; the other collections can be used", error)

    def _read_aliases(self) -> Aliases:
        file = self.path / files.ALIASES
        try:
            return Aliases(file)
        except (OSError, ValueError) as error:
            raise unreadable(file, error) from error


def _described(name: str, layout: Layout) -> str:
    return json.dumps({"name": name, **layout._asdict(), "named": dict(layout.named)})


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
    from hashlib import blake2b

    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{quoted[:100].strip(' .').lower()}-{digest}"


def _removed(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
