"""What a store is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Literal, get_args

from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import USUAL, check_vector
from rag_nodes.store.filters import Filter, Where, all_of

if TYPE_CHECKING:
    from collections.abc import Sequence

Fusion = Literal["score", "rank"]
"""By the sum of z-scores, or of reciprocal ranks."""
FUSIONS: tuple[Fusion, ...] = get_args(Fusion)
SearchMode = Literal["hybrid", "dense", "sparse"]
"""By meaning and words, by meaning only, or by words only."""


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
        alpha: weight of the dense ranking in the fusion "score", from 0 to 1; None for half.
        also: what nodes have to be beside passing the filter; None for nothing.

    Raises:
        ConfigurationError: mode, fusion or `using` is unknown, the limit is below 1, `alpha` is no
            share, or the mode needs a vector or text that is missing.
    """

    vector: Sequence[float] | None
    text: str | None
    limit: int
    mode: SearchMode = "hybrid"
    filter: Filter = field(default_factory=Filter)
    fusion: Fusion = "score"
    using: str = USUAL
    alpha: float | None = None
    also: Where | None = None

    def __post_init__(self) -> None:
        """Check that the mode has what it needs."""
        _check_choice("search mode", self.mode, get_args(SearchMode))
        _check_choice("fusion", self.fusion, FUSIONS)
        if self.mode != "sparse" and self.vector is None:
            raise ConfigurationError(f"search mode {self.mode!r} needs the question's embedding")
        if self.mode != "dense" and self.text is None:
            raise ConfigurationError(f"search mode {self.mode!r} needs the question's text")
        check_vector(self.using)
        if self.limit < 1:
            raise ConfigurationError(
                f"the number of chunks to find must be at least 1, not {self.limit}"
            )
        if self.alpha is not None:
            check_share("alpha", self.alpha)

    @property
    def where(self) -> Where | None:
        """Which nodes may be found; None for all."""
        return all_of(self.filter.where(), self.also)


def check_share(name: str, value: object) -> None:
    """Refuse what is no number from 0 to 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) <= 1:
        raise ConfigurationError(f"{name} is a number from 0 to 1, not {value!r}")


def _check_choice(name: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        choices = f"{', '.join(known[:-1])} or {known[-1]}"
        raise ConfigurationError(f"unknown {name} {given!r}; choose {choices}")
