"""A share of the files, for schedulers that start the same command on several machines."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rag_nodes.errors import ConfigurationError

_WRITTEN = re.compile(r"([1-9]\d{0,8})/([1-9]\d{0,8})", re.ASCII)


@dataclass(frozen=True, slots=True)
class FileShard:
    """Every `count`-th file or so, by a hash of its path below the folder that was named.

    A file stays in its shard on every machine, wherever the folder is mounted, and whatever other
    files come and go; each is in exactly one.

    Attributes:
        number: from 1 to `count`.
        count: of all shards.
    """

    number: int
    count: int

    @classmethod
    def of(cls, words: str) -> Self:
        """What "3/8" means.

        Raises:
            ConfigurationError: it is something else.
        """
        found = _WRITTEN.fullmatch(words.strip())
        if not found or int(found[1]) > int(found[2]):
            raise ConfigurationError(
                f"{words!r} is no shard; give its number and how many there are, from 1/8 to 8/8"
            )
        return cls(int(found[1]), int(found[2]))

    def holds(self, file: str | Path, root: str | Path) -> bool:
        """Whether a file found at or below a path that was named is one of this shard."""
        file, root = Path(file), Path(root)
        place = file.relative_to(root).as_posix() if file != root else file.name
        digest = hashlib.sha256(place.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8]) % self.count == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"
