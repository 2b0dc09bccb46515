"""Interface that `Store` needs of an engine that keeps points.

And what is stored there: points with their vectors, and which vectors a collection has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.core.errors import ConfigurationError, DimensionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from rag_nodes.store.conditions import Where
    from rag_nodes.store.fusion import Scores
    from rag_nodes.store.queries import Query

DENSE = "text-dense"
"""Name of the embedding vector in our collections, and in hybrid ones of LlamaIndex."""
SPARSE = "text-words-stems"
"""Name of the BM25 vector in our collections. It says what the vector holds: where that changes, so
does the name, as texts that are indexed in two ways cannot be ranked together."""
UNNAMED = ""
"""Name of a vector without one, which LlamaIndex's dense collections have."""


class Layout(NamedTuple):
    """Vectors of a collection: ours, or those that another program wrote.

    The embedding `dense` of length `size`, the BM25 vector `sparse`, None where there is none that
    we can read, and names of further vectors, which are `ignored`.
    """

    size: int
    dense: str = DENSE
    sparse: str | None = SPARSE
    ignored: tuple[str, ...] = ()

    @property
    def is_ours(self) -> bool:
        """Return True if we may write to it: it has both of our vectors."""
        return (self.dense, self.sparse) == (DENSE, SPARSE)


class Point(NamedTuple):
    """Stored form of a node, whose id is a UUID; another program may have given a number.

    The `payload` is what `rag_nodes.store.payload.payload_of` makes. A parent, which is never
    ranked, has no `vector`; `words` are numbers and BM25 weights.
    """

    node_id: str
    payload: Mapping[str, Any]
    vector: Sequence[float] | None = None
    words: tuple[list[int], list[float]] = ([], [])

    @classmethod
    def of(cls, node_id: str, payload: Mapping[str, Any], given: Any, layout: Layout) -> Point:
        """A point of the vectors that Qdrant has of it: by name, one without a name, or None."""
        vectors = given if isinstance(given, dict) else {UNNAMED: given}
        dense = vectors.get(layout.dense)
        words = vectors.get(layout.sparse) if layout.sparse else None
        return cls(
            node_id,
            payload,
            None if dense is None else list(dense),
            (list(words.indices), list(words.values)) if words is not None else ([], []),
        )


def agreed_length(points: Sequence[Point], stored_length: int | None, where: str) -> int:
    """Return the length of all embeddings of a collection; None for a new collection."""
    lengths = [len(point.vector) for point in points if point.vector is not None]
    expected = stored_length or next(iter(lengths), 0)
    if not expected:
        raise ConfigurationError(
            f"{where} does not exist yet and cannot be created from parents alone, which have no "
            f"vectors; add them together with their children"
        )
    for length in lengths:
        if length != expected:
            raise DimensionError(
                f"{where} holds vectors of length {expected}, got {length}; use the embedding "
                "model it was made with, or another corpus name"
            )
    return expected


MEMORY = ":memory:"
"""Location of a store that ends with the process."""


class Engine(ABC):
    """Collections of points at one place, shared between threads.

    Every call, also of its collections, is made within a `step`. What has a body here may be left
    as it is. A place that does not answer, is damaged or full is a `StoreError`.

    Attributes:
        location: where it is, for people; never with a key in it.
    """

    location: str

    def step(self, collection: str = "") -> AbstractContextManager[None]:  # noqa: ARG002
        """One step of one or more calls, undisturbed where others could, errors translated."""
        return nullcontext()

    def place(self, collection: str) -> str:
        """A collection as messages name it."""
        return f"{self.location}: collection '{collection}'"

    @abstractmethod
    def names(self) -> list[str]:
        """Every collection there is."""

    @abstractmethod
    def collection(self, name: str, *, remembered: bool = False) -> EngineCollection | None:
        """Return a collection by its name; None while it does not exist.

        Args:
            name: of it.
            remembered: what was seen of it before will do, where asking takes time.

        Raises:
            ConfigurationError: it has no one vector per chunk that is compared by cosine.
        """

    @abstractmethod
    def create(self, name: str, layout: Layout) -> None:
        """Make a collection with these vectors; fine if another just did."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Delete a collection with everything in it."""

    def resolved(self, name: str) -> str:
        """Return the collection that a name means, which is an alias or the collection's own."""
        return name

    def close(self) -> None:  # noqa: B027 -- nothing is held
        """Give back what is held."""


class EngineCollection(ABC):
    """A collection of an `Engine`; where it was dropped meanwhile, every call says so.

    Attributes:
        layout: of its vectors.
    """

    layout: Layout

    @abstractmethod
    def write(self, points: Sequence[Point]) -> None:
        """Store points; those of the same id are replaced."""

    def flush(self) -> None:  # noqa: B027 -- what is waited for is there
        """Have all that was written on the disk itself, so that a power failure loses none."""

    @abstractmethod
    def delete(self, node_ids: Sequence[str]) -> None:
        """Delete points by id; ids that are not there are fine."""

    def delete_where(self, where: Where) -> None:
        """Delete the points that are meant."""
        self.delete([point.node_id for point in self.select(where, ())])

    def count_where(self, where: Where) -> int:
        """Points that are meant, also those that have no embedding."""
        return sum(1 for _ in self.select(where, ()))

    @abstractmethod
    def count(self) -> int:
        """Return the number of points that have an embedding, so of all but parents."""

    def count_unindexed(self, where: Where | None) -> int:  # noqa: ARG002 -- only we write
        """Return the number of meant points that another program stored without BM25 vector."""
        return 0

    @abstractmethod
    def read(self, node_ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        """Points by id, unknown ones left out."""

    @abstractmethod
    def select(
        self, where: Where | None, keys: Sequence[str] | None, *, vectors: bool = False
    ) -> Iterable[Point]:
        """All points that are meant, with some keys of their payload; None for all keys."""

    @abstractmethod
    def scores(self, query: Query) -> Scores:
        """Return what both searches of a question find, each chunk with both scores.

        An engine may stop at some depth, which is `query.limit` or more.
        """

    def marks(self) -> dict[str, str]:
        """See `Store.marks`."""
        return {}

    def mark(self, marks: Mapping[str, str | None]) -> None:  # noqa: B027 -- none are kept
        """See `Store.mark`."""

    def disk_size(self) -> int | None:
        """Bytes that it takes on disk; None if that is unknown here."""
        return None
