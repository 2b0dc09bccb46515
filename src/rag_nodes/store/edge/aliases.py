"""Other names of collections, kept beside them as a Qdrant server keeps its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rag_nodes.store.edge.files import replace_json

if TYPE_CHECKING:
    from pathlib import Path

FILE = "aliases.json"
"""In a storage folder."""


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
