"""What a store is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import USUAL, check_vector
from rag_nodes.store.filters import Filter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.vector_stores.types import MetadataFilters

Fusion = Literal["score", "distribution", "rank"]
"""By the sum of z-scores, of scores scaled to each ranking's spread, or of reciprocal ranks."""
FUSIONS: tuple[Fusion, ...] = ("score", "distribution", "rank")
SearchMode = Literal["hybrid", "dense", "sparse"]
"""By meaning and words, by meaning only, or by words only."""


class Scope(NamedTuple):
    """Which points are meant: those that pass every filter, and are one of the nodes.

    Attributes:
        filters: ours and LlamaIndex's; None lets all pass.
        node_ids: ids of nodes; None for all.
    """

    filters: tuple[Filter | MetadataFilters | None, ...] = ()
    node_ids: Sequence[str] | None = None

    @property
    def is_all(self) -> bool:
        """Whether every point is meant."""
        return self.node_ids is None and all(one in (None, Filter()) for one in self.filters)

    def within(self, chosen: Filter) -> Scope:
        """Those of them that pass a further filter."""
        return self._replace(filters=(*self.filters, chosen))


EVERYTHING = Scope()


@dataclass(frozen=True, slots=True)
class Query:
    """What to search for.

    Attributes:
        vector: embedding of the question; needed unless the mode is "sparse".
        text: the question; needed unless the mode is "dense".
        limit: chunks to find at most.
        mode: which rankings to use.
        filter: search only chunks that pass it; as it comes, it lets all pass.
        fusion: how a hybrid search joins its rankings, see `rag_nodes.store.fusion`.
        using: name of the embedding that is compared, see `rag_nodes.FurtherVectors`.

    Raises:
        ConfigurationError: mode, fusion or `using` is unknown, the limit is below 1, or the mode
            needs a vector or text that is missing.
    """

    vector: Sequence[float] | None
    text: str | None
    limit: int
    mode: SearchMode = "hybrid"
    filter: Filter = field(default_factory=Filter)
    fusion: Fusion = "score"
    using: str = USUAL

    def __post_init__(self) -> None:
        """Check that the mode has what it needs."""
        if self.mode not in {"hybrid", "dense", "sparse"}:
            raise ConfigurationError(
                f"unknown search mode {self.mode!r}; choose hybrid, dense or sparse"
            )
        if self.fusion not in FUSIONS:
            raise ConfigurationError(
                f"unknown fusion {self.fusion!r}; choose {', '.join(FUSIONS[:-1])} or {FUSIONS[-1]}"
            )
        if self.mode != "sparse" and self.vector is None:
            raise ConfigurationError(f"search mode {self.mode!r} needs the question's embedding")
        if self.mode != "dense" and self.text is None:
            raise ConfigurationError(f"search mode {self.mode!r} needs the question's text")
        check_vector(self.using)
        if self.limit < 1:
            raise ConfigurationError(
                f"the number of chunks to find must be at least 1, not {self.limit}"
            )
