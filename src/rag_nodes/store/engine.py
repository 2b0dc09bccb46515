"""What `QdrantStore` needs of a Qdrant: the seam behind which an engine can be another one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_nodes.store.queries import EVERYTHING, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from rag_nodes.store.fusion import Scores
    from rag_nodes.store.points import Layout, Point
    from rag_nodes.store.queries import Query

CANDIDATES = 4
"""Candidates per chunk wanted, from which `Engine.diverse` chooses."""
MEMORY = ":memory:"
"""Location of a store that ends with the process."""


class Engine(ABC):
    """A Qdrant of one kind at one place.

    Every call is made within a `step`. Collections that a method is given exist, except where it
    says otherwise.

    Attributes:
        location: ":memory:", the resolved folder, or the URL without credentials.
    """

    location: str

    @abstractmethod
    def step(self, collection: str = "") -> AbstractContextManager[None]:
        """One step of one or more calls, undisturbed where others could, errors translated.

        Raises:
            StoreError: see `rag_nodes.store.faults.translated`.
        """

    @abstractmethod
    def names(self) -> list[str]:
        """Every collection there is."""

    @abstractmethod
    def layout(self, collection: str, *, remembered: bool = False) -> Layout | None:
        """Which vectors a collection has; None while it does not exist.

        Args:
            collection: to look at.
            remembered: what was seen before will do, where asking takes time.

        Raises:
            ConfigurationError: it has no one vector per chunk that is compared by cosine.
        """

    @abstractmethod
    def create(
        self, collection: str, size: int, named: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """Make a collection of ours; fine if another just did.

        Args:
            collection: its name.
            size: length of its embeddings.
            named: lengths of further embeddings, by name.
        """

    @abstractmethod
    def add_vector(self, collection: str, name: str, size: int) -> None:
        """Let the points of a collection of ours have a further embedding of that length."""

    @abstractmethod
    def drop(self, collection: str) -> None:
        """Delete a collection with everything in it, its aliases too."""

    @abstractmethod
    def aliases(self) -> dict[str, str]:
        """Collection by alias; whatever reads or writes a collection takes an alias of it too."""

    @abstractmethod
    def point_alias(self, alias: str, collection: str | None) -> None:
        """Have an alias mean a collection, from one moment to the next; None removes it."""

    @abstractmethod
    def marks(self, collection: str) -> dict[str, str]:
        """The marks of a collection, see `Store.marks`."""

    @abstractmethod
    def mark(self, collection: str, marks: Mapping[str, str | None]) -> None:
        """Add marks to those of a collection, or remove some, see `Store.mark`."""

    @abstractmethod
    def write(self, collection: str, points: Sequence[Point]) -> None:
        """Store points; those of the same id are replaced."""

    def flush(self, collection: str) -> None:  # noqa: B027 -- what is waited for is there
        """Have all that this process wrote to a collection on the disk, see `Store.flush`.

        Args:
            collection: need not exist yet.
        """

    @abstractmethod
    def delete(self, collection: str, node_ids: Sequence[str]) -> None:
        """Delete points by id; ids that are not there are fine.

        Raises:
            CollectionMissingError: the collection does not exist.
        """

    @abstractmethod
    def count(self, collection: str, dense: str | None) -> int:
        """Points that have the embedding of that name, so that a search can find them.

        None counts all points, those too that are never ranked.
        """

    @abstractmethod
    def read(
        self, collection: str, node_ids: Sequence[str], vectors: Layout | None = None
    ) -> list[Point]:
        """Points by id, unknown ones left out; with all vectors where the layout is given.

        Raises:
            CollectionMissingError: the collection does not exist.
        """

    @abstractmethod
    def scans(self, collection: str) -> bool:
        """Whether a filter looks at every chunk: one look at all is cheaper than many of them.

        Args:
            collection: need not exist yet.
        """

    @abstractmethod
    def select(
        self,
        collection: str,
        scope: Scope,
        keys: Sequence[str] | None,
        vectors: Layout | None = None,
    ) -> Iterable[Point]:
        """All points of a scope, with some keys of their payload; None for all keys.

        With all vectors where the layout is given.
        """

    @abstractmethod
    def scores(
        self,
        collection: str,
        layout: Layout,
        query: Query,
        also: Scope = EVERYTHING,
        **native: Any,
    ) -> Scores:
        """What both searches of a question find, each chunk with its score in both.

        An engine may stop at some depth, which is `query.limit` or more.

        Args:
            collection: to ask.
            layout: its vectors, the embedding that is compared as `dense`.
            query: what is asked.
            also: what has to hold beside the query's filter.
            native: arguments of that engine alone.
        """

    @abstractmethod
    def diverse(
        self, collection: str, layout: Layout, query: Query, also: Scope, weight: float
    ) -> list[tuple[str, float]]:
        """Nodes by maximal marginal relevance, with their similarity to the question.

        Args:
            collection: to ask.
            layout: its vectors.
            query: dense, with its embedding.
            also: what has to hold beside the query's filter.
            weight: of similarity to the question against novelty, from 0 to 1.
        """

    def disk_size(self, collection: str) -> int | None:  # noqa: ARG002 -- of those that know
        """Bytes that a collection takes on disk; None where that cannot be told from here."""
        return None

    def unfilterable(self, collection: str) -> list[str]:  # noqa: ARG002 -- most need nothing
        """Keys of the payload by which a filter may be refused; see `make_filterable`."""
        return []

    def make_filterable(self, collection: str) -> None:  # noqa: B027 -- most need nothing
        """Prepare a collection of any release for filters by every key of theirs."""

    @abstractmethod
    def close(self) -> None:
        """Give the connection back."""
