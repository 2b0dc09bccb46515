"""`QdrantStore`: chunks in Qdrant, whatever kind of it is behind."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError
from rag_nodes.store.catalogue import described
from rag_nodes.store.faults import missing
from rag_nodes.store.points import DENSE
from rag_nodes.store.reading import ReadableStore, pages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llama_index.core.schema import BaseNode
    from llama_index.core.vector_stores.types import BasePydanticVectorStore

    from rag_nodes.store.engine import Engine
    from rag_nodes.store.options import ServerAddress
    from rag_nodes.store.points import Point
    from rag_nodes.store.protocol import Store

    VectorStores = Callable[[Store, Engine, str], BasePydanticVectorStore]
    """Makes a vector store of LlamaIndex of a store, its engine and a collection."""

_ALIAS = re.compile(r"[\w.-]{1,100}", re.ASCII)


class QdrantStore(ReadableStore):
    """Chunks in Qdrant; one collection per corpus, parser configuration and embedding model.

    Safe to share between threads. `open_store` makes one.

    Args:
        engine: the Qdrant behind it.
        address: how another process opens it; None where only one process may.
        vector_stores: makes those of LlamaIndex that `vector_store` gives.
    """

    def __init__(
        self,
        engine: Engine,
        address: ServerAddress | None = None,
        vector_stores: VectorStores | None = None,
    ) -> None:
        super().__init__(engine)
        self._address = address
        self._kind = vector_stores
        self._closed = False
        self._vector_stores: dict[str, BasePydanticVectorStore] = {}
        self._lock = threading.Lock()

    @property
    def address(self) -> ServerAddress | None:
        """How another process opens it; None for a folder, which one process has at a time."""
        return self._address

    def close(self) -> None:
        """Close the connection; a folder stays open while another store of this process uses it."""
        if not self._closed:
            self._closed = True
            self.engine.close()

    def vector_store(self, collection: str) -> BasePydanticVectorStore:
        """The collection as a LlamaIndex vector store, sync and async, created on first write."""
        from rag_nodes.store.vector_store import CollectionVectorStore

        made = self._kind or CollectionVectorStore
        with self._lock:
            if collection not in self._vector_stores:
                self._vector_stores[collection] = made(self, self.engine, collection)
            return self._vector_stores[collection]

    def add(self, collection: str, nodes: Sequence[BaseNode]) -> None:
        """Store nodes with their embeddings, and BM25 vectors of their texts.

        BM25 reads the text of a node only, never the breadcrumb in front of it: headings repeated
        on every chunk would flatten the inverse document frequency. Lengths are checked before
        anything is written, and many threads may make the same collection.

        Raises:
            ConfigurationError: a node without children has no embedding, or another program wrote
                the collection, with other vectors.
            DimensionError: an embedding has another length than those of the collection.
        """
        from rag_nodes.store.payload import points_of

        self.put(collection, points_of(nodes))

    def put(self, collection: str, points: Sequence[Point]) -> None:
        """Store what `points_of` made of nodes."""
        from rag_nodes.store.payload import agreed_length

        if not points:
            return
        with self.engine.step(collection):
            layout = self.engine.layout(collection)
            if layout is not None and not layout.is_ours:
                raise ConfigurationError(
                    f"{self.location}: collection {collection!r} was written by another program "
                    f"and has no vector {DENSE!r}; it can be asked, and written to by that "
                    "program; choose another name for ours"
                )
            known = layout.size if layout else None
            lengths = [len(point.vector) for point in points if point.vector is not None]
            length = agreed_length(lengths, known, self._place(collection))
            further = {name: len(one) for point in points for name, one in point.named.items()}
            if layout is None:
                self.engine.create(collection, length, further)
            else:
                for name in further.keys() - layout.named.keys():
                    self.engine.add_vector(collection, name, further[name])
            self.engine.write(collection, points)

    def delete(self, collection: str, node_ids: Sequence[str]) -> None:
        """Delete chunks by id, some hundred in a request."""
        for page in pages(node_ids):
            with self.engine.step(collection):
                self.engine.delete(collection, page)

    def flush(self, collection: str) -> None:
        """Have all that was written to a collection on the disk itself."""
        with self.engine.step(collection):
            self.engine.flush(collection)

    def marks(self, collection: str) -> dict[str, str]:
        """Which ledgers know a collection as it is: an epoch by writer."""
        with self.engine.step(collection):
            return self.engine.marks(collection) if self.engine.layout(collection) else {}

    def mark(self, collection: str, marks: Mapping[str, str | None]) -> bool:
        """Add marks to those of a collection; None removes one, and False says that it is not."""
        with self.engine.step(collection):
            if self.engine.layout(collection) is None:
                return False
            self.engine.mark(collection, marks)
            return True

    def drop(self, collection: str) -> None:
        """Delete a collection with everything in it; its aliases go with it."""
        with self.engine.step(collection):
            if collection not in self.engine.names():
                raise missing(self.location, collection)
            self.engine.drop(collection)

    def aliases(self) -> dict[str, str]:
        """Collection by alias: another name, under which all that reads or writes takes it too."""
        with self.engine.step():
            return self.engine.aliases()

    def point_alias(self, alias: str, collection: str) -> None:
        """Have an alias mean a collection, from one moment to the next.

        Whoever asks by the alias gets answers of the former one before, and of this one after.

        Raises:
            ConfigurationError: the alias is no name, or that of a collection.
            CollectionMissingError: the collection does not exist.
        """
        if not _ALIAS.fullmatch(alias) or described(alias, 0):
            raise ConfigurationError(
                f"{alias!r} is no alias: up to 100 letters, digits, points, hyphens and "
                "underscores, and not built as the name of a collection"
            )
        with self.engine.step(collection):
            names = self.engine.names()
            if alias in names:
                raise ConfigurationError(
                    f"{self._place(alias)} exists; an alias needs a name of its own"
                )
            if collection not in names:
                raise missing(self.location, collection)
            self.engine.point_alias(alias, collection)

    def drop_alias(self, alias: str) -> None:
        """Remove an alias; what it meant stays.

        Raises:
            CollectionMissingError: there is none by that name.
        """
        with self.engine.step():
            if alias not in self.engine.aliases():
                raise missing(self.location, alias)
            self.engine.point_alias(alias, None)
