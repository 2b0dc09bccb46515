"""A vector store of LlamaIndex in this process, by where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from llama_index.core.bridge.pydantic import PrivateAttr

from rag_nodes.errors import ConfigurationError
from rag_nodes.store.edge.engine import Edge
from rag_nodes.store.edge.folder import open_edge
from rag_nodes.store.engine import MEMORY
from rag_nodes.store.qdrant import QdrantStore
from rag_nodes.store.vector_store import CollectionVectorStore

if TYPE_CHECKING:
    from pathlib import Path

    from rag_nodes.store.protocol import Store


class EdgeVectorStore(CollectionVectorStore):
    """Qdrant's own engine in this process as a vector store of LlamaIndex: no server, no service.

    Dense, sparse (BM25), hybrid and MMR queries, all metadata filters, nodes by id, sync and async,
    in a folder that outlives the process or in memory. A node with children can be read by id
    (`get_nodes`), but is never ranked against its own children.

    Args:
        location: a folder, made where it is missing, or ":memory:".
        collection: name of the collection; made by the first `add`.
        store: an open store to be part of, instead of a location; then it is the owner's to close.

    Raises:
        ConfigurationError: the store is neither in a folder nor in memory.
        StoreForeignError: no store of ours made the folder, and something is in it.
        StoreLockedError: another process holds the folder.
        StoreDamagedError: the folder's content cannot be read.
        StoreFullError: the disk has too little space.

    Example:
        >>> from llama_index.core.schema import TextNode
        >>> from llama_index.core.vector_stores import VectorStoreQuery
        >>> chunks = EdgeVectorStore()
        >>> ids = chunks.add([TextNode(text="Dogs travel free.", embedding=[1.0, 0.0])])
        >>> chunks.query(VectorStoreQuery(query_embedding=[1.0, 0.0])).nodes[0].text
        'Dogs travel free.'
        >>> chunks.close()
    """

    _owned: bool = PrivateAttr()

    def __init__(
        self,
        location: str | Path = MEMORY,
        collection: str = "documents",
        *,
        store: Store | None = None,
    ) -> None:
        opened = store or QdrantStore(
            open_edge(str(location)),
            vector_stores=lambda own, _, name: type(self)(collection=name, store=own),
        )
        if not isinstance(opened, QdrantStore) or not isinstance(opened.engine, Edge):
            raise ConfigurationError(
                f"{opened.location}: this vector store reads stores in a folder or in memory; one "
                f"on a server gives its own by vector_store({collection!r})"
            )
        super().__init__(opened, opened.engine, collection)
        self._owned = store is None

    @classmethod
    def class_name(cls) -> str:
        """Name under which LlamaIndex files this class."""
        return "EdgeVectorStore"

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """The store that `to_dict` was asked of, opened anew.

        Raises:
            ConfigurationError: it was in memory, which no dictionary outlives.
        """
        given = {**data, **kwargs}
        if given["location"] == MEMORY:
            raise ConfigurationError(
                f"collection {given['collection']!r} was in memory, and what was in it is not in "
                "this dictionary; store it in a folder"
            )
        return cls(given["location"], given["collection"])

    def close(self) -> None:
        """Give the folder back, unless the store is another's."""
        if self._owned:
            self._store.close()
