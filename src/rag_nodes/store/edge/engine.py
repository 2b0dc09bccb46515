"""What a folder and memory have in common: an engine of Qdrant in this process."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rag_nodes.errors import RagNodesError, StoreDamagedError, StoreError
from rag_nodes.store.engine import Engine

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from rag_nodes.store.edge.collection import Collection


class Edge(Engine):
    """Qdrant's own engine in this process.

    Args:
        location: see `Engine`.
        guard: held around every step: the engine is called by one thread at a time.
    """

    def __init__(self, location: str, guard: threading.RLock) -> None:
        self.location, self.guard = location, guard
        self._open: dict[str, Collection] = {}
        self._is_closed = False
        self._aliases: dict[str, str] = {}

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
                where = f"{self.location}: collection {collection!r}"
                # What it gives up on is no `Exception`.
                if type(error).__name__ == "PanicException":
                    raise StoreDamagedError(
                        f"{where} is damaged ({error}); `rag-nodes doctor` says what can be done"
                    ) from error
                if not isinstance(error, Exception):
                    raise
                # The engine raises bare exceptions, of which only the text tells anything.
                raise StoreError(
                    f"{where}: {error}; check free disk space and permissions, and ask `rag-nodes "
                    "doctor` whether the collection is damaged"
                ) from error

    def collection(self, name: str, *, remembered: bool = False) -> Collection | None:  # noqa: ARG002
        """A collection by its name or an alias, opened when it is first asked for."""
        name = self._aliases.get(name, name)
        if name not in self._open and (opened := self._opened(name)):
            self._open[name] = opened
        return self._open.get(name)

    def _opened(self, name: str) -> Collection | None:  # noqa: ARG002 -- all are open
        """A collection that is not open yet; None where there is none."""
        return None

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
        self._aliases = aliases
