"""Units that the semantic parser embeds: the sentences of a text, with their token counts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.text.markdown import Block, Kind
from rag_nodes.text.packing import Packer
from rag_nodes.text.sentences import Bounds
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNCUT = frozenset({Kind.CODE, Kind.TABLE, Kind.HEADING, Kind.HTML, Kind.FRONT_MATTER, Kind.RULE})
"""Blocks that are embedded as one unit; the others by sentence, lists by line."""
_SLACK = 4
"""Tokens by which the sum over a text may miss the count of a span encoded alone; beyond words
of hundreds of letters it is never more than two, and every node is counted again at the end."""


class TopicUnits:
    """The units of a text in order; together they hold every visible character.

    A unit is a sentence, a line of a list, or a whole heading, table or block of code. A sentence
    over `limit` tokens is split into its lines, what else is over it between lines, then words.
    Only the first `embedded` units are to be embedded, all of them where that is None; `blocks` are
    those of the text unless it is a part of them that is meant.
    """

    def __init__(
        self,
        packer: Packer,
        limit: int,
        embedded: int | None = None,
        blocks: Sequence[Block] | None = None,
    ) -> None:
        self.packer = packer
        blocks = packer.blocks if blocks is None else blocks
        units = _natural(packer, blocks)
        before, through = _tokens_around(packer, units)
        over = set(np.flatnonzero(through - before > limit - _SLACK).tolist())
        if over:
            units = _within(packer, units, over, limit)
            before, through = _tokens_around(packer, units)
        self.starts: list[int] = units.starts
        self.ends: list[int] = units.ends
        self.headings: NDArray[np.bool_] = _in_headings(blocks, self.starts)
        self.embedded = len(self) if embedded is None else min(embedded, len(self))
        self._before_each: list[int] = before.tolist()
        self._through_each: list[int] = through.tolist()

    def __len__(self) -> int:
        return len(self.starts)

    def texts(self, size: int) -> Iterator[list[str]]:
        """The units to embed, `size` at a time."""
        text = self.packer.text
        for first in range(0, self.embedded, size):
            batch = slice(first, min(first + size, self.embedded))
            yield [text[a:b] for a, b in zip(self.starts[batch], self.ends[batch], strict=True)]

    def span(self, first: int, last: int) -> Span:
        """Characters of the units `first` to `last`."""
        return Span(self.starts[first], self.ends[last])

    def fits(self, first: int, last: int, limit: int) -> bool:
        """Return True if the units `first` to `last` hold at most `limit` tokens."""
        estimate = self._through_each[last] - self._before_each[first]
        if abs(estimate - limit) > _SLACK:
            return estimate < limit
        return self.packer.count(self.starts[first], self.ends[last]) <= limit

    def last_within(self, first: int, limit: int) -> int:
        """The last unit up to which the units from `first` fit into `limit` tokens."""
        reach = self._before_each[first] + limit
        last = max(first, bisect_right(self._through_each, reach + _SLACK, lo=first) - 1)
        while last > first and not self.fits(first, last, limit):
            last -= 1
        return last

    def first_over(self, first: int, least: int) -> int:
        """The first unit up to which the units from `first` hold about `least` tokens."""
        return bisect_left(self._through_each, self._before_each[first] + least, lo=first)


def _natural(packer: Packer, blocks: Sequence[Block]) -> Bounds:
    units = Bounds([], [])
    for block in blocks:
        if block.kind in _UNCUT:
            units.starts.append(block.start)
            units.ends.append(block.end)
        else:
            inside = packer.bounds_of(block)
            units.starts.extend(inside.starts)
            units.ends.extend(inside.ends)
    return units


def _within(packer: Packer, units: Bounds, over: Collection[int], limit: int) -> Bounds:
    """The units; those that are `over` and indeed do not fit are split."""
    pieces = Bounds([], [])
    for index, span in enumerate(map(Span, *units)):
        fits = index not in over or packer.count(*span) <= limit
        for start, end in [span] if fits else _cut(packer, span, limit):
            pieces.starts.append(start)
            pieces.ends.append(end)
    return pieces


def _cut(packer: Packer, span: Span, limit: int) -> Iterator[Span]:
    """The lines of a sentence over the limit, in pieces where they are; pieces of other blocks."""
    if packer.block_at(span.start).kind in _UNCUT:
        yield from packer.pieces(span, limit)
        return
    for line in packer.lines_of(span):
        yield from packer.pieces(line, limit)


def _in_headings(blocks: Sequence[Block], starts: Sequence[int]) -> NDArray[np.bool_]:
    headings = [block for block in blocks if block.kind is Kind.HEADING]
    if not headings:
        return np.zeros(len(starts), dtype=bool)
    opened = np.searchsorted([block.start for block in headings], starts, side="right") - 1
    ends = np.array([block.end for block in headings])
    inside: NDArray[np.bool_] = (opened >= 0) & (np.asarray(starts) < ends[opened])
    return inside


def _tokens_around(packer: Packer, units: Bounds) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tokens that end before each unit, and those that begin before its end.

    The difference is the count of a unit but for a few tokens at its edges.
    """
    ends = packer.tokens.ends
    starts, stops = np.array(units, dtype=np.int64)
    before = ends.searchsorted(starts, side="right")
    begun = ends.searchsorted(stops, side="left") + 1
    through = np.maximum(ends.searchsorted(stops, side="right"), begun)
    return before.astype(np.int64), np.minimum(through, len(ends)).astype(np.int64)
