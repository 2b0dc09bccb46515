"""The engine behind a `QdrantStore` in this process: what a folder and memory have in common."""

from __future__ import annotations

import json
from abc import abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rag_nodes.errors import StoreError
from rag_nodes.store.edge import files
from rag_nodes.store.engine import Engine
from rag_nodes.store.faults import translated_in_process

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from pathlib import Path

    from rag_nodes.store.edge.collection import Collection


class Edge(Engine):
    """Qdrant's own engine in this process.

    Args:
        location: see `Engine`.
        guard: held around every step: the engine is called by one thread at a time.
        aliases: file in which they are kept; None in memory.

    Raises:
        ValueError: the file holds something else.
        OSError: it cannot be read.
    """

    def __init__(self, location: str, guard: threading.RLock, aliases: Path | None = None) -> None:
        self.location, self.guard = location, guard
        self._open: dict[str, Collection] = {}
        self._is_closed = False
        self._aliases_file = aliases
        self._aliases: dict[str, str] = {}
        if aliases and aliases.exists():
            read = json.loads(aliases.read_bytes())
            if not isinstance(read, dict):
                raise ValueError("it holds no names")
            self._aliases = {str(alias): str(name) for alias, name in read.items()}

    @contextmanager
    def step(self, collection: str = "") -> Iterator[None]:
        """Calls that no other thread comes between, errors translated."""
        with self.guard:
            if self._is_closed:
                raise StoreError(f"{self.location}: the store is closed; open it again")
            with translated_in_process(self.location, collection):
                yield

    def collection(self, name: str, *, remembered: bool = False) -> Collection | None:  # noqa: ARG002
        """A collection by its name or an alias, opened when it is first asked for."""
        name = self._aliases.get(name, name)
        if name not in self._open and (opened := self._opened(name)):
            self._open[name] = opened
        return self._open.get(name)

    @abstractmethod
    def _opened(self, name: str) -> Collection | None:
        """A collection that is not open yet; None where there is none."""

    def drop(self, name: str) -> None:
        """Delete a collection with everything in it."""
        self._keep_aliases({one: of for one, of in self._aliases.items() if of != name})
        self._remove(name)

    @abstractmethod
    def _remove(self, name: str) -> None:
        """Remove a collection, which may be open."""

    def aliases(self) -> dict[str, str]:
        """Collection by alias."""
        return dict(self._aliases)

    def point_alias(self, alias: str, collection: str | None) -> None:
        """Have an alias mean a collection; None removes it."""
        others = {one: name for one, name in self._aliases.items() if one != alias}
        self._keep_aliases(others if collection is None else {**others, alias: collection})

    def _keep_aliases(self, aliases: dict[str, str]) -> None:
        if self._aliases_file and aliases != self._aliases:
            files.replace_json(self._aliases_file, aliases)
        self._aliases = aliases
