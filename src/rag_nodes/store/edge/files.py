"""What is written beside the shard of a collection: what it is, its marks, and its manifest.

The engine does not look at its files: it takes a vector file that was cut for a shorter one, and
deletes a part whose `version.info` is missing. So names and sizes of the files are written down
when a shard is closed, and checksums of those that are not large. The manifest is removed when the
shard is opened: a process that is killed leaves none, and then there is nothing to compare with.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rag_nodes.store.points import SPARSE, Layout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

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
"""Where the engine looks for parts; other files may lie about."""


def replace_json(file: Path, data: Any) -> None:
    """Have a file hold some data, on the disk itself: the former, or the new, never a part."""
    new = file.with_suffix(".new")
    with new.open("w", encoding="utf-8") as opened:
        json.dump(data, opened, indent=1)
        opened.flush()
        os.fsync(opened.fileno())
    new.replace(file)


def _read(file: Path) -> dict[str, Any]:
    """What `replace_json` has kept; nothing where that cannot be read."""
    with suppress(OSError, ValueError):
        found = json.loads(file.read_bytes())
        return found if isinstance(found, dict) else {}
    return {}


def describe(folder: Path, name: str, layout: Layout) -> None:
    """Write down what a collection is, as the engine cannot be asked."""
    about = {"name": name, **layout._asdict(), "named": dict(layout.named)}
    replace_json(folder / ABOUT, about)


def read_about(folder: Path) -> tuple[str, Layout]:
    """Name of a collection, and its vectors.

    Raises:
        OSError: a file is lost, or the system does not let it be read.
        ValueError, KeyError, TypeError: it holds something else.
    """
    about = json.loads((folder / ABOUT).read_bytes())
    named = {str(one): int(size) for one, size in about.get("named", {}).items()}
    words = SPARSE if about["sparse"] == SPARSE else None  # of another name: indexed in another way
    layout = Layout(int(about["size"]), str(about["dense"]), words, named)
    if not (folder / SHARD / CONFIG).is_file():
        raise FileNotFoundError(f"{SHARD}/{CONFIG} is lost")
    return str(about["name"]), layout


def marks_in(folder: Path) -> dict[str, str]:
    """The marks of a collection, see `Store.marks`; none where they cannot be read."""
    return {writer: str(epoch) for writer, epoch in _read(folder / _MARKS).items()}


def keep_marks(folder: Path, marks: Mapping[str, str | None]) -> None:
    """Keep the marks of a collection, all of them but those of None."""
    kept = {writer: epoch for writer, epoch in marks.items() if epoch is not None}
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
        there = dict(_files(shard))
        for name in sorted(listed.keys() | set(filter(_PART.match, there))):
            known, found = listed.get(name), there.get(name)
            if found is None:
                raise ValueError(f"{name} is lost")
            if found != known:
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
