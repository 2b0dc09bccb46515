"""What chunks are like without a question: their sizes, limits, overlap, and what they cut through.

None of it tells which parser finds more answers; only labelled questions do.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag_nodes.parsers import ParentChildNodeParser, get_parser
from rag_nodes.text.markdown import Kind
from rag_nodes.text.packing import Packer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.text.formats import Format
    from rag_nodes.text.markdown import Block
    from rag_nodes.text.spans import Span

_WHOLE = frozenset({Kind.CODE, Kind.TABLE})
"""Blocks that lose their meaning when they are cut."""


@dataclass(frozen=True, slots=True)
class ChunkStatistics:
    """How many chunks a parser makes, and how large they are, in tokens; `tokens` are of all."""

    chunks: int
    tokens: int
    smallest: int
    largest: int
    mean: float
    median: float
    deviation: float


def chunk_statistics(token_counts: Iterable[int]) -> ChunkStatistics:
    """Statistics of chunk sizes; all zero without chunks."""
    sizes = list(token_counts)
    if not sizes:
        return ChunkStatistics(0, 0, 0, 0, 0.0, 0.0, 0.0)
    return ChunkStatistics(
        chunks=len(sizes),
        tokens=sum(sizes),
        smallest=min(sizes),
        largest=max(sizes),
        mean=fmean(sizes),
        median=float(median(sizes)),
        deviation=pstdev(sizes),
    )


class SizeLimits(NamedTuple):
    """How large a parser lets its chunks be; 0 and None where it sets no limit."""

    minimum: int
    maximum: int | None
    unit: Literal["tokens", "characters"]


def limits_of(parser: SpanNodeParser) -> SizeLimits:
    """The sizes a parser is configured for; those of the children where it makes families."""
    if isinstance(parser, ParentChildNodeParser):
        parser = get_parser(parser.child, **parser.child_options)
    unit = getattr(parser, "unit", "tokens")
    if unit == "sentences":
        return SizeLimits(0, getattr(parser, "max_tokens", None), "tokens")
    minimum, maximum = getattr(parser, "min_chunk_size", 0), getattr(parser, "chunk_size", None)
    return SizeLimits(minimum, maximum, "characters" if unit == "characters" else "tokens")


class SizedChunk(NamedTuple):
    """One chunk; `oversized` where its parser says that an unbreakable block exceeds the limit."""

    span: Span
    tokens: int
    oversized: bool = False


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """What is known of one document's chunks.

    Attributes:
        oversized: positions of those over the limit of their parser, counted from 0.
        cutting: positions of those that begin a table or code block which no chunk holds whole, one
            for each such block.
        blocks: tables and code blocks there are.
        overlap: share of the chunks' characters that the chunk before holds, too.
    """

    oversized: tuple[int, ...] = ()
    cutting: tuple[int, ...] = ()
    blocks: int = 0
    overlap: float = 0.0


def whole_blocks(text: str, text_format: Format | None = None) -> list[Block]:
    """The tables and code blocks of a text, in order; its format is told by the text if None."""
    return [block for block in Packer(text, text_format=text_format).blocks if block.kind in _WHOLE]


def chunk_facts(
    chunks: Sequence[SizedChunk], blocks: Sequence[Block], limits: SizeLimits
) -> ChunkFacts:
    """The facts of one document's chunks, in order; `blocks` are its `whole_blocks`."""
    characters = sum(chunk.span.length for chunk in chunks)
    repeated = sum(max(0, a.span.end - b.span.start) for a, b in pairwise(chunks))
    return ChunkFacts(
        oversized=tuple(at for at, one in enumerate(chunks) if _is_over(one, limits)),
        cutting=tuple(_cutting(chunks, blocks)),
        blocks=len(blocks),
        overlap=repeated / characters if characters else 0.0,
    )


def _is_over(chunk: SizedChunk, limits: SizeLimits) -> bool:
    if limits.maximum is None:
        return False
    size = chunk.tokens if limits.unit == "tokens" else chunk.span.length
    return chunk.oversized or size > limits.maximum


def _cutting(chunks: Sequence[SizedChunk], blocks: Sequence[Block]) -> Iterable[int]:
    """For each block that no chunk holds whole, the first chunk with some of it."""
    ends = [chunk.span.end for chunk in chunks]
    for block in blocks:
        holder = bisect_left(ends, block.end)
        if holder < len(chunks) and chunks[holder].span.start <= block.start:
            continue
        first = bisect_left(ends, block.start + 1)
        if first < len(chunks):
            yield first
