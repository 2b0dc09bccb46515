"""Counts of one strategy's chunks, and the measures that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from rag_nodes.text.spans import Span

Problem = Literal["oversized", "undersized", "open-end", "cut-block", "duplicate", "related"]
"""Over the size limit; under it; ends inside a sentence; cuts a table or code block; repeats the
text of another chunk; is followed by a sentence much like its own last one."""
_MILLION = 1_000_000


class JudgedChunk(NamedTuple):
    """One chunk as it is judged.

    Attributes:
        span: its characters in the document.
        tokens: tokens of its text.
        embedded: tokens of what the embedding model reads, headings included.
        oversized: the parser itself says that an unbreakable block exceeds the limit.
    """

    span: Span
    tokens: int
    embedded: int
    oversized: bool = False


class SizeLimits(NamedTuple):
    """How large a parser lets its chunks be; 0 and None where it sets no limit.

    Attributes:
        minimum: smallest size it aims at.
        maximum: largest size it allows.
        unit: what both count.
    """

    minimum: int
    maximum: int | None
    unit: Literal["tokens", "characters"]


class Finding(NamedTuple):
    """One chunk behind a number.

    Attributes:
        problem: what is wrong with it.
        document: id of its document.
        chunk: its position in the document, counted from 0.
        quote: the characters that show it.
        value: size, or cosine similarity; 0 where there is none.
    """

    problem: Problem
    document: str
    chunk: int
    quote: Span
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts from which every measure follows; tallies of several documents add up.

    The measures describe chunks. None of them told reliably which parser finds more answers
    (`benchmarks/predictors.py`).

    Attributes:
        chunks: number of chunks.
        tokens: their tokens.
        embedded: tokens the embedding model reads.
        limited: chunks of a parser that states a size limit.
        fitting: those of them within it.
        closed: chunks that end where a sentence, a line of a table, list or code, or a block ends.
        blocks: tables and code blocks.
        whole: those of them that one chunk holds in full.
        characters: characters of all chunks.
        repeated: characters that the chunk before holds too.
        inside: pairs of neighbouring sentences that a chunk keeps together.
        inside_similarity: sum of their cosines.
        across: pairs of neighbouring sentences that a boundary parts.
        across_similarity: sum of their cosines.
        findings: the chunks behind the numbers.
    """

    chunks: int = 0
    tokens: int = 0
    embedded: int = 0
    limited: int = 0
    fitting: int = 0
    closed: int = 0
    blocks: int = 0
    whole: int = 0
    characters: int = 0
    repeated: int = 0
    inside: int = 0
    inside_similarity: float = 0.0
    across: int = 0
    across_similarity: float = 0.0
    findings: tuple[Finding, ...] = field(default=(), repr=False)

    @property
    def compliance(self) -> float | None:
        """Share of chunks within the parser's own size limits; None where it has none."""
        return _share(self.fitting, self.limited)

    @property
    def boundaries(self) -> float | None:
        """Share of chunks that end where a sentence or block ends."""
        return _share(self.closed, self.chunks)

    @property
    def intact(self) -> float | None:
        """Share of tables and code blocks that are not cut; None without any."""
        return _share(self.whole, self.blocks)

    @property
    def overlap(self) -> float | None:
        """Share of the chunks' characters that the chunk before holds too."""
        return _share(self.repeated, self.characters)

    @property
    def cohesion(self) -> float | None:
        """Mean cosine of neighbouring sentences that stay together; None without any."""
        return self.inside_similarity / self.inside if self.inside else None

    @property
    def parting(self) -> float | None:
        """Mean cosine of neighbouring sentences that a boundary parts; None without any."""
        return self.across_similarity / self.across if self.across else None

    @property
    def contrast(self) -> float | None:
        """`cohesion` less `parting`: above 0, boundaries stand where the subject changes."""
        if self.cohesion is None or self.parting is None:
            return None
        return self.cohesion - self.parting

    def of(self, *problems: Problem) -> list[Finding]:
        """The findings of some kinds, in order of document and chunk."""
        return [finding for finding in self.findings if finding.problem in problems]

    def cost(self, dollars_per_million: float | None) -> float | None:
        """US dollars to embed all chunks once; None where the price is unknown."""
        if dollars_per_million is None:
            return None
        return self.embedded * dollars_per_million / _MILLION


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
