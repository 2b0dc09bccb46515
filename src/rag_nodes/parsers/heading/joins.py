"""Nodes of sections that came out too short, joined with the neighbour that has room for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import NamedTuple

from rag_nodes.parsers.heading.sections import Outline, shared_path
from rag_nodes.text.packing import Packer

_SLACK = 4
"""Tokens by which an estimate may miss; what is closer to a limit than this is counted."""


class FutureNode(NamedTuple):
    """A future node: a group of sections, a part of one, or what was joined of these.

    Attributes:
        start: offset of the first character.
        end: offset after the last one.
        first: number of the group it starts in.
        last: number of the group it ends in.
        is_cut: whether it is a part of a group, or holds one.
    """

    start: int
    end: int
    first: int
    last: int
    is_cut: bool

    @property
    def is_part(self) -> bool:
        """Whether it holds a part of one group and nothing else."""
        return self.is_cut and self.first == self.last


class Joining:
    """Joins pieces below the least size, wherever a neighbour has room.

    Of two such neighbours it is the one of the same group, else the one that stands under more of
    the same headings, else the one before.

    Args:
        packer: the text.
        outline: its sections.
        most: tokens a node may hold.
        least: tokens below which a piece joins a neighbour.
    """

    def __init__(self, packer: Packer, outline: Outline, *, most: int, least: int) -> None:
        self._packer = packer
        self._outline = outline
        self._most = most
        self._least = least

    def joined(self, pieces: Iterable[FutureNode]) -> list[FutureNode]:
        """The pieces, of which none is short that would fit together with the next or the last.

        Pieces only grow, so a neighbour without room never has any later, and one pass is enough.
        """
        done: list[FutureNode] = []
        waiting = list(pieces)[::-1]
        while waiting:
            piece = waiting.pop()
            options = self._options(piece, done, waiting) if self._is_short(piece) else ()
            if best := max(options, key=lambda option: option[0], default=None):
                _, neighbours, union = best
                neighbours[-1] = union
            else:
                done.append(piece)
        return done

    def _is_short(self, piece: FutureNode) -> bool:
        estimate = self._packer.tokens.estimate(piece.start, piece.end)
        if abs(estimate - self._least) > _SLACK:
            return estimate < self._least
        return self._packer.count(piece.start, piece.end) < self._least

    def _options(
        self, piece: FutureNode, done: list[FutureNode], waiting: list[FutureNode]
    ) -> Iterator[tuple[float, list[FutureNode], FutureNode]]:
        """How near each neighbour with room is, the list it ends, and what both are together."""
        for neighbours in (done, waiting):
            if not neighbours:
                continue
            left, right = sorted((neighbours[-1], piece))
            span = left.start, right.end
            if self._packer.tokens.estimate(*span) > self._most + _SLACK:
                continue
            if self._packer.count(*span) <= self._most:
                union = FutureNode(*span, left.first, right.last, left.is_cut or right.is_cut)
                yield self._nearness(left, right), neighbours, union

    def _nearness(self, left: FutureNode, right: FutureNode) -> float:
        if left.last == right.first:
            return inf
        paths = self._outline.path_at(left.end - 1), self._outline.path_at(right.start)
        return len(shared_path(*paths))
