"""What neighbouring nodes share: whole sentences, and the header of a table both are part of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_nodes import metadata as keys
from rag_nodes.parsers.source import NO_FACTS
from rag_nodes.text.blocks import Kind
from rag_nodes.text.packing import Packer


def starts_within(packer: Packer, start: int, end: int, overlap: int) -> list[int]:
    """Sentence starts after `start` whose text up to `end` is within the overlap, farthest first.

    Args:
        packer: the text.
        start: where the node that ends at `end` starts.
        end: where it ends.
        overlap: tokens it may share with the next one.
    """
    if not overlap:
        return []
    low = max(start + 1, packer.tokens.back(end, overlap))
    candidates = packer.unit_starts(low, end)
    for position, candidate in enumerate(candidates):
        if packer.count(candidate, end) <= overlap:
            return candidates[position:]
    return []


def best_start(packer: Packer, candidates: Sequence[int], end: int, size: int) -> int:
    """Where the node after `end` starts: as many sentences back as the candidates allow.

    Fewer, but at least one, where that keeps the next paragraph or sentence whole.

    Args:
        packer: the text.
        candidates: what `starts_within` found.
        end: where the node before ends.
        size: tokens the next node may hold.
    """
    following = packer.visible_from(end)
    if not candidates:
        return following
    estimate = packer.tokens.estimate
    block = packer.block_at(following)
    if estimate(candidates[0], block.end) <= size:  # most often; a sentence's end costs more
        return candidates[0]
    for whole in (block.end, packer.unit_end(following)):
        for candidate in candidates:
            if estimate(candidate, whole) <= size:
                return candidate
    return candidates[-1]


def table_header(packer: Packer, start: int) -> Mapping[str, Any]:
    """The header rows of the table a node starts in the middle of."""
    block = packer.block_at(start)
    if block.kind is Kind.TABLE and start > block.start:
        return {keys.TABLE_HEADER: packer.text[block.start : block.header_end]}
    return NO_FACTS
