"""What is stored: points with their vectors, and which vectors a collection has."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.errors import ConfigurationError, DimensionError
from rag_nodes.metadata import USUAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DENSE = "text-dense"
"""Name of the embedding vector in our collections, and in hybrid ones of LlamaIndex."""
SPARSE = "text-words-stems"
"""Name of the BM25 vector in our collections. It says what the vector holds: where that changes, so
does the name, as texts that are indexed in two ways cannot be ranked together."""
UNNAMED = ""
"""Name of a vector without one, which LlamaIndex's dense collections have."""


class Layout(NamedTuple):
    """Which vectors a collection has: ours, or those that another program wrote.

    The embedding `dense` of length `size`, the BM25 vector `sparse`, None where there is none that
    we can read, and lengths of further embeddings by name.
    """

    size: int
    dense: str = DENSE
    sparse: str | None = SPARSE
    named: Mapping[str, int] = MappingProxyType({})

    def using(self, name: str) -> Layout | None:
        """The same, asked by another embedding; None where there is none of that name."""
        if name == USUAL:
            return self
        found = self.named.get(named(name))
        return self._replace(size=found, dense=named(name)) if found else None

    @property
    def sizes(self) -> dict[str, int]:
        """Length of each embedding by its name."""
        return {self.dense: self.size, **self.named}

    @property
    def is_ours(self) -> bool:
        """Whether we may write to it."""
        return self.dense == DENSE


class Point(NamedTuple):
    """What is stored of a node.

    Attributes:
        node_id: its id, a UUID; a number in text form where another program gave it.
        payload: see `rag_nodes.store.payload.payload_of`.
        vector: its embedding; None for a parent, which is never ranked.
        words: numbers and BM25 weights of its words.
        named: further embeddings by name; a point need not have all that its collection has.
    """

    node_id: str
    payload: Mapping[str, Any]
    vector: Sequence[float] | None = None
    words: tuple[list[int], list[float]] = ([], [])
    named: Mapping[str, Sequence[float]] = MappingProxyType({})

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
            {n: list(vectors[n]) for n in layout.named if vectors.get(n) is not None},
        )


def named(name: str) -> str:
    """What a further embedding is called in our collections."""
    return f"text-{name}"


def agreed_length(points: Sequence[Point], known: int | None, where: str) -> int:
    """The one length that all embeddings of a collection have; None is known of a new one."""
    lengths = [len(one.vector) for one in points if one.vector is not None]
    expected = known or next(iter(lengths), 0)
    if not expected:
        raise ConfigurationError(
            f"{where} does not exist yet and would get parents only, without a vector to make it "
            "by; add them together with their children"
        )
    for length in lengths:
        if length != expected:
            raise DimensionError(
                f"{where} holds vectors of length {expected}, got {length}; use the embedding "
                "model it was made with, or another corpus name"
            )
    return expected
