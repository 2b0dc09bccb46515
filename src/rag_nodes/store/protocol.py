"""What the rest of the package needs of a store.

Qdrant is behind two classes that follow it; any other store does by following it too. See
`docs/writing-a-store.md`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Protocol, Self

from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import USUAL
from rag_nodes.store.filters import Filter
from rag_nodes.store.queries import Query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.schema import BaseNode, TextNode

    from rag_nodes.store.catalogue import CollectionInfo, StoredNode
    from rag_nodes.store.hits import Hit
    from rag_nodes.store.points import Point
    from rag_nodes.store.queries import Fusion, SearchMode


class Store(Protocol):
    """Chunks with their embeddings; one collection per corpus, parser and embedding model.

    Subclass it, write the methods that have no body here, and the others follow. Collections come
    into being with the first `add`. Stores are shared between threads.

    Every method that reads or writes may raise `StoreError` or a subclass of it: the place does not
    answer, is damaged or full.
    """

    @property
    @abstractmethod
    def location(self) -> str:
        """Where it is, for people; never with a key in it."""

    def add(self, collection: str, nodes: Sequence[BaseNode]) -> None:
        """Store nodes with their embeddings; a node of the same id is replaced.

        A node with children is kept to be read by id, and never ranked: it needs no embedding.
        Words are those of a node's text only, never of the breadcrumb in front of it: headings
        repeated on every chunk would flatten the inverse document frequency.

        Raises:
            ConfigurationError: a node without children has no embedding.
            DimensionError: an embedding has another length than those of the collection.
        """
        from rag_nodes.store.payload import points_of

        self.put(collection, points_of(nodes))

    @abstractmethod
    def put(self, collection: str, points: Sequence[Point]) -> None:
        """Store points, as `rag_nodes.store.payload.points_of` makes them of nodes in any process.

        Errors are those of `add`. One without a vector is a parent.
        """

    def flush(self, collection: str) -> None:  # noqa: ARG002
        """Have all that was written to a collection on the disk itself, so a power cut loses none.

        A store that acknowledges nothing before it is there has nothing to do. Fine while the
        collection does not exist.
        """
        return  # type checkers take an empty method for one to be written

    @abstractmethod
    def delete(self, collection: str, node_ids: Sequence[str]) -> None:
        """Delete nodes by id; ids that are not there are fine.

        Raises:
            CollectionMissingError: nothing was ever stored under this name.
        """

    @abstractmethod
    def drop(self, collection: str) -> None:
        """Delete a collection with everything in it.

        Raises:
            CollectionMissingError: it does not exist.
        """

    @abstractmethod
    def collections(self) -> list[CollectionInfo]:
        """Every collection of this package, by name; see `foreign` for the others."""

    def foreign(self) -> list[str]:
        """Names of the collections that other programs made, where a store can hold such."""
        return []

    @abstractmethod
    def count(self, collection: str) -> int:
        """Nodes in a collection that a search can find; 0 while it does not exist."""

    @abstractmethod
    def stored(self, collection: str, document_id: str) -> dict[str, StoredNode]:
        """The stored nodes of a document by id; empty while the collection does not exist."""

    @abstractmethod
    def fetch(self, collection: str, node_ids: Sequence[str]) -> dict[str, TextNode]:
        """The stored nodes with these ids, without embeddings; unknown ids are left out."""

    @abstractmethod
    def find(self, collection: str, query: Query) -> list[Hit]:
        """The best chunks for a question, as `search` returns them.

        `rag_nodes.store.hits.best_hits` makes hits of scores.
        """

    def search(  # noqa: PLR0913 -- what can be asked, by name
        self,
        collection: str,
        *,
        vector: Sequence[float] | None,
        text: str | None,
        limit: int,
        mode: SearchMode = "hybrid",
        document_ids: Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002 -- the word every vector store uses
        fusion: Fusion = "score",
        using: str = USUAL,
    ) -> list[Hit]:
        """The best chunks for a question, each with its cosine similarity and BM25 score.

        Args:
            collection: where to search.
            vector: embedding of the question; needed unless the mode is "sparse".
            text: the question; needed unless the mode is "dense".
            limit: how many at most.
            mode: "hybrid" joins both rankings.
            document_ids: search only these documents; None for all.
            filter: search only chunks that pass it; None for all.
            fusion: how both rankings are joined, see `rag_nodes.store.fusion`.
            using: name of the embedding that is compared; `vector` is of the same model.

        Raises:
            CollectionMissingError: nothing was ingested under this name.
            ConfigurationError: the mode needs a vector or text that was not given.
            DimensionError: the vector's length is not that of the collection.
        """
        scope = (filter or Filter()).within(document_ids)
        return self.find(collection, Query(vector, text, limit, mode, scope, fusion, using))

    def documents(self, collection: str) -> dict[str, dict[str, StoredNode]]:  # noqa: ARG002
        """All stored nodes of a collection, by document and by id.

        A ledger that does not agree with the store is made anew from it. Where it is empty, as for
        a store that cannot list what it holds, each document is asked for with every ingest.
        """
        return {}

    def vectors(
        self,
        collection: str,  # noqa: ARG002 -- of the stores that have them
        node_ids: Sequence[str],  # noqa: ARG002
        using: str = USUAL,  # noqa: ARG002
    ) -> dict[str, tuple[str, list[float]]]:
        """What the nodes with these ids were embedded as: the text, and its vector.

        Unknown ids are left out. What is missing is embedded again where metadata alone changed,
        and where an ingest was killed before it had settled a document.
        """
        return {}

    def vector_names(self, collection: str) -> tuple[str, ...]:
        """Which embeddings chunks of a collection have, by name, the usual one first.

        Empty while the collection does not exist. One that chunks were to have and that none got is
        not among them.
        """
        return (USUAL,) if self.count(collection) else ()

    def marks(self, collection: str) -> dict[str, str]:  # noqa: ARG002 -- of the stores that have them
        """Which ledgers know a collection as it is: an epoch by writer, see `mark`.

        A ledger is believed only while these are the marks that it left. A store that keeps none is
        looked at by every ingest. Empty while the collection does not exist.
        """
        return {}

    def mark(self, collection: str, marks: Mapping[str, str | None]) -> bool:  # noqa: ARG002
        """Add marks to those of a collection; None removes one.

        Args:
            collection: its name.
            marks: by writer, a new epoch for each state that it gives the collection.

        Returns:
            False while the collection does not exist, so that nothing was kept.
        """
        return True

    def aliases(self) -> dict[str, str]:
        """Collection by alias: another name, under which all that reads or writes takes it too."""
        return {}

    def point_alias(self, alias: str, collection: str) -> None:  # noqa: ARG002 -- where there are any
        """Have an alias mean a collection, from one moment to the next.

        Raises:
            ConfigurationError: the store has no aliases, or not by this name.
            CollectionMissingError: the collection does not exist.
        """
        raise ConfigurationError(
            f"{self.location}: this store has no aliases; leave {alias!r} out, or use a folder or "
            "a Qdrant server"
        )

    def close(self) -> None:
        """Give back what the store holds; twice is fine."""

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """Where it is; never a key."""
        return f"{type(self).__name__}({self.location!r})"
