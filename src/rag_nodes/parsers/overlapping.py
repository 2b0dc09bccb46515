"""What neighbouring nodes share: whole sentences where one fits, and the header of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from rag_nodes import metadata as keys
from rag_nodes.parsers.source import NO_FACTS
from rag_nodes.text.graphemes import boundary_at_or_after
from rag_nodes.text.markdown import Kind
from rag_nodes.text.packing import Packer

_RUNNING = frozenset({Kind.PARAGRAPH, Kind.LIST, Kind.QUOTE})
"""Blocks of which a part may be shared that is no whole sentence or line."""
_LINE_START = re.compile(r"[\r\n]([^\S\r\n]*\S)")
_WORD_START = re.compile(r"(?<=\S)[^\S\r\n]+(\S)")
_IN_A_WORD = re.compile(r"\S\S")
_MOST_CLUSTERS = 16
"""Clusters looked at; the first is at most a few tokens too far back."""


def starts_within(packer: Packer, start: int, end: int, overlap: int) -> Sequence[int]:
    """Starts after `start` whose text up to `end` is within the overlap, farthest first.

    Of sentences where one fits; else of lines, else of words.

    Args:
        packer: the text.
        start: where the node that ends at `end` starts.
        end: where it ends.
        overlap: tokens it may share with the next one.
    """
    if not overlap:
        return []
    low = max(start + 1, packer.tokens.back(end, overlap))
    for candidates in chain([packer.unit_starts(low, end)], finer_starts(packer, low, end)):
        for position, candidate in enumerate(candidates):
            if packer.count(candidate, end) <= overlap:
                return candidates[position:]
    return []


def finer_starts(packer: Packer, low: int, end: int) -> Iterator[list[int]]:
    """Starts in `low..end` inside the last sentence: of lines, of words, of clusters in a word.

    None in code, tables and headings, of which no part is shared, and of clusters only where the
    text that goes on at `end` goes on without a blank, as in languages that write none.
    """
    block, text = packer.block_at(end - 1), packer.text
    if block.kind not in _RUNNING:
        return
    low = max(low, block.start)
    yield [line.start(1) for line in _LINE_START.finditer(text, low - 1, end)]
    yield [word.start(1) for word in _WORD_START.finditer(text, low, end)]
    if _IN_A_WORD.match(text, end - 1):
        starts, start = [], packer.cluster_boundary(low, block.start)
        for _ in range(_MOST_CLUSTERS):
            if start >= end:
                break
            starts.append(start)
            start = boundary_at_or_after(text, start + 1, start)
        yield starts


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
