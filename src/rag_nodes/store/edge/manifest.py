"""What the files of a shard were when it was closed, so that damage is found before it is opened.

The engine does not look: it takes a vector file that was cut for a shorter one, and deletes a part
whose `version.info` is missing. So names and sizes of the files are written down when a shard is
closed, and checksums of those that are not large. The list is removed when the shard is opened: a
process that is killed leaves none, and then there is nothing to compare with.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from typing import TYPE_CHECKING

from rag_nodes.store.edge import files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = "manifest.json"
"""Beside the shard, in the folder of its collection."""
CHECKED = 1 << 20
"""Bytes up to which a file has a checksum: those that the engine steers by have. Of larger ones,
with texts, words and vectors, the size is compared: to read them takes longer than a search."""
_PART = re.compile(r"segments/[0-9a-f-]{36}/")
"""Where the engine looks for parts; other files may lie about."""


def keep(shard: Path) -> None:
    """Write the list of the files of a shard that was just closed."""
    files.replace_json(shard.parent / FILE, dict(_files(shard)))


def drop(shard: Path) -> None:
    """Remove the list: the files are about to change."""
    files.remove(shard.parent / FILE)


def check(shard: Path) -> None:
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
        found = json.loads((shard.parent / FILE).read_bytes())
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
