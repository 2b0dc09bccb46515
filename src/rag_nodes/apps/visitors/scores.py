"""Cosine similarities to words: what counts as a strong match depends on the embedding model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rag_nodes.settings import Settings

Level = Literal["strong", "fair", "weak", "unknown"]
"""In words, so that colour is never the only sign."""

_MEASURED = {
    "text-embedding-ada-002": (0.85, 0.75),
    "text-embedding-3-small": (0.50, 0.35),
    "text-embedding-3-large": (0.50, 0.35),
}
"""Cosines of strong and fair matches by model: ada-002 puts any two texts near 0.7,
its successors start near 0.1."""
_LEXICAL = (0.20, 0.10)
"""The same for the offline embedding, which shares words and not meanings."""
_SHARES = (0.85, 0.75)
"""For models nobody has measured: shares of the best match of the question."""
_CONFIGURABLE = frozenset({"high_similarity", "medium_similarity"})


@dataclass(frozen=True, slots=True)
class SimilarityScale:
    """From which similarity on a chunk is a strong or a fair match.

    Attributes:
        high: least similarity of a strong match.
        medium: least similarity of a fair match.
        relative: both are shares of the best match of the question, not cosines.
        model: the embedding model they are for.
    """

    high: float
    medium: float
    relative: bool
    model: str

    def level(self, similarity: float | None, best: float | None) -> Level:
        """The word for one chunk.

        Args:
            similarity: cosine of question and chunk; None where it was not computed.
            best: largest similarity any column found for the question.
        """
        if similarity is None:
            return "unknown"
        value = similarity
        if self.relative:
            if best is None or best <= 0:
                return "weak"
            value = similarity / best
        if value >= self.high:
            return "strong"
        return "fair" if value >= self.medium else "weak"

    def explain(self) -> str:
        """One sentence for a tooltip."""
        if self.relative:
            return (
                f"{self.model} has no known thresholds: strong is at least {self.high:.0%} of the "
                f"best match of this question, fair at least {self.medium:.0%}."
            )
        return (
            f"Thresholds for {self.model}: strong from {self.high:.2f}, "
            f"fair from {self.medium:.2f}."
        )


def scale_for(embedding_name: str, settings: Settings) -> SimilarityScale:
    """The scale of an embedding model; one the user configured wins.

    Args:
        embedding_name: as in `Models.embedding_name`, perhaps with `@host`.
        settings: `high_similarity` and `medium_similarity` count where they were set.
    """
    name = embedding_name.partition("@")[0]
    if settings.model_fields_set & _CONFIGURABLE:
        high, medium = settings.high_similarity, settings.medium_similarity
        return SimilarityScale(high, medium, relative=False, model=name)
    if name.startswith("lexical"):
        return SimilarityScale(*_LEXICAL, relative=False, model=name)
    if name in _MEASURED:
        return SimilarityScale(*_MEASURED[name], relative=False, model=name)
    return SimilarityScale(*_SHARES, relative=True, model=name)
