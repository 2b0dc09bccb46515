"""Contents of a storage folder, read and written without the engine.

Each collection is a folder of its own in `collections`: a shard of the engine, and beside it what
the collection is, its marks, and a manifest. The engine does not look at its files: it takes a
vector file that was split for a shorter one, and deletes a part whose `version.info` is missing. So
when a shard is closed, names and sizes of its files are written down, and checksums of those that
are not large. The manifest is removed when the shard is opened: a process that is killed leaves
none, and then there is nothing to compare with.
"""

from __future__ import annotations

import errno
import json
import os
import re
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.core.errors import StoreDamagedError, StoreError, StoreForeignError
from rag_nodes.store.engine import SPARSE, Layout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MARKER = "store.json"
"""Every folder of ours has it from the moment it is made."""
COLLECTIONS = "collections"
UNFINISHED = (".new", ".gone")
"""Suffixes of folders that were interrupted while they were made or removed."""
SHARD = "shard"
CONFIG = "edge_config.json"
"""In a shard, of the engine."""
ABOUT = "collection.json"
_MARKS = "marks.json"
_MANIFEST = "manifest.json"
CHECKED = 1 << 20
"""Bytes up to which a file has a checksum: those that the engine steers by have. Of larger ones,
with texts, words and vectors, the size is compared: to read them takes longer than a search."""
_PART = re.compile(r"segments/[0-9a-f-]{36}/")
"""Folder in which the engine looks for parts; other files may lie about."""
_NOBODYS = {
    *(".lock", ".gitignore", ".gitkeep", ".keep", ".DS_Store"),
    *("Thumbs.db", "desktop.ini", "lost+found", "store.new"),
}
"""Files that an empty folder may hold: those left from opening it (a lock, an incomplete marker),
and those that systems put everywhere."""
_OF_SYSTEM = re.compile(r"\(os error (\d+)\)")
"""Prefix with which the engine reports an error of the system."""
_NO_DAMAGE = {
    *(errno.EPERM, errno.EACCES, errno.EROFS, errno.EIO),
    *(errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC),
}
"""Errors of the system that do not mean damaged files."""
_NAMED = 3
"""Entries of a folder that a message names."""


class Contents(NamedTuple):
    """Contents of a storage folder: folder and vectors of each collection, by name.

    Then, of each folder of one that cannot be read, why; and folders of those that were interrupted
    while they came or went.
    """

    collections: dict[str, tuple[Path, Layout]]
    unread: dict[Path, StoreError]
    unfinished: list[Path]


def contents_of(path: Path) -> Contents:
    """Look at a storage folder without opening or changing anything.

    Raises:
        StoreForeignError: no store of ours made it.
    """
    check_ours(path)
    contents, within = Contents({}, {}, []), path / COLLECTIONS
    for folder in sorted(within.iterdir()) if within.is_dir() else ():
        if folder.suffix in UNFINISHED:
            contents.unfinished.append(folder)
        elif _is_collection(folder):
            try:
                name, layout = _read_about(folder)
                contents.collections[name] = folder, layout
            except (OSError, ValueError, KeyError, TypeError) as error:
                contents.unread[folder] = unreadable(folder, error)
    return contents


def check_ours(path: Path) -> None:
    """Find out whether a folder may be written to, without changing anything in it.

    It may where a store of ours made it, and where there is nothing in it yet.

    Raises:
        StoreForeignError: another program or person put something there.
        OSError: it cannot be looked at.
    """
    if not path.is_dir() or (path / MARKER).exists():
        return
    if _is_local_mode(path):
        raise StoreForeignError(
            f"{path}: another program or `rag-nodes store export` made this folder for "
            "qdrant-client's local mode, and it is left unchanged; name another folder for the "
            "store. To ask its collections in Python: "
            "RagNodesQueryEngine(vector_store=QdrantVectorStore(NAME, client=QdrantClient(path="
            f"{str(path)!r}))), with the embedding model that made them as embed_model; or copy "
            "them to a Qdrant server with QdrantClient.migrate and name that server"
        )
    within = path / COLLECTIONS
    if within.is_dir() and any(map(_is_collection, within.iterdir())):
        return  # ours, of which only the marker was lost
    if names := sorted(entry.name for entry in path.iterdir() if entry.name not in _NOBODYS):
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        raise StoreForeignError(
            f"{path}: this folder is not a store of rag_nodes and holds "
            f"{', '.join(names[:_NAMED])}{more}; choose a new or an empty folder for the store"
        )


def _is_local_mode(path: Path) -> bool:
    if any(path.glob("collection/*/storage.sqlite")):
        return True
    return isinstance(_read(path / "meta.json").get("collections"), dict)


def unreadable(place: Path, error: Exception) -> StoreError:
    """The error for what cannot be read: damage, unless the system says something else."""
    match = _OF_SYSTEM.search(str(error))
    number = error.errno if isinstance(error, OSError) else int(match[1]) if match else None
    why = f"{type(error).__name__}: {error}"
    if number in _NO_DAMAGE:
        return StoreError(
            f"{place}: it cannot be opened, which need not be damage ({why}); check permissions, "
            "the disk, and the limits of memory and open files"
        )
    return StoreDamagedError(
        f"{place}: the storage folder is damaged ({why}); delete this folder and ingest again, or "
        "restore a copy"
    )


def _is_collection(folder: Path) -> bool:
    """Return True if a folder is ours, even a torn one, and not another program's."""
    return (folder / ABOUT).exists() or (folder / SHARD).exists()


def replace_json(file: Path, data: Any) -> None:
    """Have a file hold some data, on the disk itself: the previous, or the new, never a part."""
    new = file.with_suffix(".new")
    with new.open("w", encoding="utf-8") as opened:
        json.dump(data, opened, indent=1)
        opened.flush()
        os.fsync(opened.fileno())
    new.replace(file)


def _read(file: Path) -> dict[str, Any]:
    """Return what `replace_json` wrote; nothing if it cannot be read."""
    with suppress(OSError, ValueError):
        content = json.loads(file.read_bytes())
        return content if isinstance(content, dict) else {}
    return {}


def describe(folder: Path, name: str, layout: Layout) -> None:
    """Write down what a collection is, as the engine cannot be asked."""
    about = {"name": name, "size": layout.size, "dense": layout.dense, "sparse": layout.sparse}
    replace_json(folder / ABOUT, about)


def _read_about(folder: Path) -> tuple[str, Layout]:
    about = json.loads((folder / ABOUT).read_bytes())
    if about["sparse"] not in {SPARSE, None}:
        raise ValueError(f"its words are '{about['sparse']}', and this release ranks '{SPARSE}'")
    layout = Layout(int(about["size"]), str(about["dense"]), about["sparse"])
    if not (folder / SHARD / CONFIG).is_file():
        raise FileNotFoundError(f"{SHARD}/{CONFIG} is lost")
    return str(about["name"]), layout


def marks_in(folder: Path) -> dict[str, str]:
    """The marks of a collection, see `Store.marks`; none where they cannot be read."""
    return {writer: str(epoch) for writer, epoch in _read(folder / _MARKS).items()}


def add_marks(folder: Path, marks: Mapping[str, str | None]) -> None:
    """Add marks to those of a collection; None removes one."""
    all_marks = {**marks_in(folder), **marks}
    kept = {writer: epoch for writer, epoch in all_marks.items() if epoch is not None}
    replace_json(folder / _MARKS, kept)


def keep_manifest(shard: Path) -> None:
    """Write the list of the files of a shard that was just closed."""
    replace_json(shard.parent / _MANIFEST, dict(_files(shard)))


def drop_manifest(shard: Path) -> None:
    """Remove the list, on the disk itself: the files are about to change."""
    (shard.parent / _MANIFEST).unlink(missing_ok=True)
    with suppress(OSError):  # Windows opens no folders, and needs none of this
        folder = os.open(shard.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def check_manifest(shard: Path) -> None:
    """Compare the files of a closed shard with the list, if there is one that can be read.

    Raises:
        ValueError: they differ; it names one of them.
    """
    if listed := _read(shard.parent / _MANIFEST):
        files = dict(_files(shard))
        for name in sorted(listed.keys() | set(filter(_PART.match, files))):
            expected, actual = listed.get(name), files.get(name)
            if actual is None:
                raise ValueError(f"{name} is lost")
            if actual != expected:
                raise ValueError(f"{name} is not as it was when the collection was closed")


def _files(shard: Path) -> Iterator[tuple[str, list[int]]]:
    """Name, size, and of what is not large a checksum of each file that is there."""
    for folder, _, names in os.walk(shard):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - hundreds, before each question
            about = [os.stat(path).st_size]  # noqa: PTH116
            if about[0] <= CHECKED:
                with open(path, "rb") as file:  # noqa: PTH123
                    about.append(zlib.crc32(file.read()))
            yield os.path.relpath(path, shard).replace(os.sep, "/"), about
