"""A vector store of LlamaIndex on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from rag_nodes.errors import ConfigurationError
from rag_nodes.store.vector_store import CollectionVectorStore

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from rag_nodes.store.engine import Engine
    from rag_nodes.store.protocol import Store


class HybridVectorStore(CollectionVectorStore):
    """A collection on a server, as LlamaIndex reads and writes one.

    A query also takes what is Qdrant's: `qdrant_filters`, its own filter in place of those of the
    query, and `search_params`. An MMR query takes neither.
    """

    _of_engine: ClassVar[tuple[str, ...]] = ("qdrant_filters", "search_params")

    def __init__(self, store: Store, engine: Engine, collection: str) -> None:
        super().__init__(store, engine, collection)

    @classmethod
    def class_name(cls) -> str:
        """Name under which LlamaIndex files this class."""
        return "HybridVectorStore"

    @property
    def client(self) -> QdrantClient:
        """What asks the server."""
        client: QdrantClient = self._engine.client  # type: ignore[attr-defined] # one on a server
        return client

    @classmethod
    def from_dict(cls, data: dict[str, Any], **_: Any) -> NoReturn:
        """Refused: what `to_dict` gives holds no key.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError(
            "a vector store on a server is not made from a dictionary, which holds no key; open "
            f"it with open_store(URL, api_key=KEY).vector_store({data.get('collection')!r})"
        )
