"""What Qdrant stores: points with their vectors, and which vectors a collection has."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.metadata import USUAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DENSE = "text-dense"
"""Name of the embedding vector in our collections, and in hybrid ones of LlamaIndex."""
SPARSE = "text-sparse-new"
"""Name of the BM25 vector in our collections."""
_NAMED = "text-"
"""Before the name of a further embedding, in our collections."""
UNNAMED = ""
"""Name of a vector without one, which LlamaIndex's dense collections have."""


class Layout(NamedTuple):
    """Which vectors a collection has: ours, or those that another program wrote.

    Attributes:
        size: length of the embedding vector.
        dense: its name.
        sparse: name of the BM25 vector; None where there is none that we can read.
        named: further embeddings by name, and their lengths.
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


def named(name: str) -> str:
    """What a further embedding is called in our collections."""
    return f"{_NAMED}{name}"
