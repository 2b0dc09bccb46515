"""Small files of ours in a storage folder, replaced in one piece: aliases, manifests of shards.

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

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALIASES = "aliases.json"
"""In a storage folder."""
MANIFEST = "manifest.json"
"""Beside the shard, in the folder of its collection."""
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


def remove(file: Path) -> None:
    """Remove a file, on the disk itself; fine where there is none."""
    file.unlink(missing_ok=True)
    with suppress(OSError):  # Windows opens no folders, and needs none of this
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def strings_in(file: Path) -> dict[str, str]:
    """The texts by name that `replace_json` has kept; none where they cannot be read."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(one): str(text) for one, text in found.items()} if isinstance(found, dict) else {}


class Aliases:
    """Collections by their other names.

    Args:
        file: where they are kept; None in memory.

    Raises:
        ValueError: the file holds something else.
        OSError: it cannot be read.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._targets: dict[str, str] = {}
        if file and file.exists():
            read = json.loads(file.read_bytes())
            if not isinstance(read, dict):
                raise ValueError("it holds no names")
            self._targets = {str(alias): str(name) for alias, name in read.items()}

    @property
    def targets(self) -> dict[str, str]:
        """Collection by alias."""
        return dict(self._targets)

    def resolved(self, name: str) -> str:
        """The collection that a name means, be it an alias or its own."""
        return self._targets.get(name, name)

    def point(self, alias: str, collection: str | None) -> None:
        """Have an alias mean a collection, from one moment to the next; None removes it."""
        others = {one: name for one, name in self._targets.items() if one != alias}
        self._keep(others if collection is None else {**others, alias: collection})

    def forget(self, collection: str) -> None:
        """Remove the aliases of a collection."""
        if collection in self._targets.values():
            others = {one: name for one, name in self._targets.items() if name != collection}
            self._keep(others)

    def _keep(self, targets: dict[str, str]) -> None:
        if self._file:
            replace_json(self._file, targets)
        self._targets = targets


def keep_manifest(shard: Path) -> None:
    """Write the list of the files of a shard that was just closed."""
    replace_json(shard.parent / MANIFEST, dict(_files(shard)))


def drop_manifest(shard: Path) -> None:
    """Remove the list: the files are about to change."""
    remove(shard.parent / MANIFEST)


def check_manifest(shard: Path) -> None:
    """Compare the files of a closed shard with the list, if there is one that can be read.

    Raises:
        ValueError: they differ; it names one of them.
    """
    listed = _listed(shard)
    if listed is None:
        return
    there = dict(_files(shard))
    for name in sorted(listed.keys() | set(filter(_PART.match, there))):
        known, found = listed.get(name), there.get(name)
        if found != known:
            raise ValueError(f"{name} {_difference(known, found)}")


def _listed(shard: Path) -> dict[str, list[int]] | None:
    """The list; None where there is none that can be read."""
    try:
        found = json.loads((shard.parent / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _difference(known: list[int] | None, found: list[int] | None) -> str:
    if known is None:
        return "was not there when the collection was closed"
    if found is None:
        return "is lost"
    if found[0] != known[0]:
        return f"has {found[0]} bytes, and had {known[0]}"
    return "holds other bytes than when the collection was closed"


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
