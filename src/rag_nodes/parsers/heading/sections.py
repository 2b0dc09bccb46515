"""Sections of the heading tree, and nodes of short ones joined with a neighbour."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from math import inf
from typing import Any, NamedTuple

from rag_nodes.core import metadata as keys
from rag_nodes.text.formats import Format, below, is_raw_html
from rag_nodes.text.markdown import Block, Kind
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import Span

_MARKED = ((Kind.CODE, "code"), (Kind.LIST, "list"), (Kind.TABLE, "table"))
_RUNNING = frozenset({Kind.PARAGRAPH, Kind.LIST, Kind.QUOTE})
"""Blocks whose first sentence may stand in for a missing heading."""
_LONGEST_TITLE = 120
"""Characters of a first sentence that stands in for a missing heading."""
_MOST = 2 / 3
"""Share of a node's tokens that lets one of its sections name it."""
_SLACK = 4
"""Tokens by which an estimate may miss; what is closer to a limit than this is counted."""


class Section(NamedTuple):
    """A heading and the blocks under it, up to the next heading that opens a section.

    `first` and `last` are numbers of blocks; `level` is 0 for what stands above the first heading,
    `path` holds its own heading too, and `anchor` is what that links to, "" without one.
    """

    first: int
    last: int
    level: int
    path: tuple[str, ...]
    anchor: str
    has_body: bool


class Outline:
    """All sections of a text, in order; together they hold every block.

    Headings up to `max_level` open one. Text above the first H1 with fewer than `least` tokens is
    part of that one's section.
    """

    def __init__(self, packer: Packer, *, title: str, max_level: int, least: int) -> None:
        self._packer = packer
        self._blocks = packer.blocks
        sections = _sections(packer, " ".join(title.split()), max_level)
        self.sections = _with_preamble(packer, list(sections), least)
        blocks, ends = self._blocks, packer.tokens.ends
        self._starts = [blocks[section.first].start for section in self.sections]
        stops = [blocks[section.last].end for section in self.sections]
        # Tokens that end before each section, and those that begin before its end.
        self._before: list[int] = ends.searchsorted(self._starts, side="right").tolist()
        through: list[int] = ends.searchsorted(stops).tolist()
        self._through = [min(number + 1, len(ends)) for number in through]

    def span(self, first: int, last: int) -> Span:
        """Characters of the sections `first` to `last`."""
        blocks, sections = self._blocks, self.sections
        return Span(blocks[sections[first].first].start, blocks[sections[last].last].end)

    def groups(self, most: int, least: int) -> Iterator[tuple[int, int]]:
        """First and last of neighbouring sections that share a node.

        Only a group that ends with a longer section holds more than `most` tokens; a section of
        fewer than `least` joins a neighbour.
        """
        sections = self.sections
        if not sections:
            return
        first, bare = 0, not sections[0].has_body
        for section in range(1, len(sections)):
            if self._joins(first, section, most, least, bare=bare):
                bare = bare and not sections[section].has_body
                continue
            yield first, section - 1
            first, bare = section, not sections[section].has_body
        yield first, len(sections) - 1

    def _joins(self, first: int, section: int, most: int, least: int, *, bare: bool) -> bool:
        """Return True if a section joins the group from `first`; `bare`: headings without text."""
        new = self.sections[section]
        if not self._fits(first, section, most):
            # Headings without text go with the first part of a section that is split anyway.
            return bare and new.has_body and not self._fits(section, section, most)
        if bare or self._fits(first, section - 1, least - 1):
            return True
        # A short section joins what stands before it unless it opens a wider topic.
        trailing = new.has_body and new.level >= self.sections[first].level
        return trailing and self._fits(section, section, least - 1)

    def _fits(self, first: int, last: int, limit: int) -> bool:
        """Return True if the sections `first` to `last` hold at most `limit` tokens."""
        estimate = self._through[last] - self._before[first]
        if abs(estimate - limit) > _SLACK:
            return estimate < limit
        return self._packer.count(*self.span(first, last)) <= limit

    def path_at(self, offset: int) -> tuple[str, ...]:
        """Path of the section that holds the character at `offset`."""
        return self.sections[self._section_at(offset)].path

    def facts_of_text(self, span: Span) -> dict[str, Any]:
        """Heading path and link of a span that need not hold whole sections."""
        first, last = self._section_at(span.start), self._section_at(span.end - 1)
        estimate = self._packer.tokens.estimate
        return self.facts(first, last, estimate(0, span.start), estimate(0, span.end))

    def _section_at(self, offset: int) -> int:
        return max(0, bisect_right(self._starts, offset) - 1)

    def facts(self, first: int, last: int, low: float = 0, high: float = inf) -> dict[str, Any]:
        """Heading path and link of the section that is most of the tokens `low` to `high`.

        Else the headings all of them stand under; their first section's where they share none.
        """
        group = self.sections[first : last + 1]
        sizes = [
            min(self._through[n], high) - max(self._before[n], low) for n in range(first, last + 1)
        ]
        longest = max(sizes)
        if longest >= _MOST * sum(sizes):
            named = group[sizes.index(longest)]
            return _facts(named.path, named.anchor)
        opening = next((section for section in group if section.has_body), group[-1])
        path = opening.path
        for section in group:
            if section.has_body and section.path[: len(path)] != path:
                path = shared_path(path, section.path)
        return _facts(path or opening.path, opening.anchor)


def _facts(path: tuple[str, ...], anchor: str) -> dict[str, Any]:
    return {keys.HEADING_PATH: list(path)} | ({keys.LINK: anchor} if anchor else {})


def kinds_of(blocks: Sequence[Block]) -> dict[str, Any]:
    """The kinds of blocks that are worth knowing about a node, as its metadata."""
    kinds = [block.kind for block in blocks]
    names = [name for kind, name in _MARKED if kind in kinds]
    return {keys.BLOCKS: names} if names else {}


def _sections(packer: Packer, title: str, max_level: int) -> Iterator[Section]:
    """One section per heading up to `max_level`, and one for what stands above the first."""
    blocks = packer.blocks
    headings = [heading for heading in packer.headings.headings if heading.block.level <= max_level]
    opens = [number for number, block in enumerate(blocks) if 0 < block.level <= max_level]
    first = opens[0] if opens else len(blocks)
    if first:
        opening = title or _opening_words(packer)
        path: tuple[str, ...] = (opening,) if opening else ()
        yield Section(0, first - 1, 0, path, "", has_body=True)
    root = packer.headings.root(title)
    for (block, own, anchor), opened, following in zip(
        headings, opens, [*opens, len(blocks)][1:], strict=True
    ):
        path = tuple(below(root, own))
        yield Section(opened, following - 1, block.level, path, anchor, following > opened + 1)


def _with_preamble(packer: Packer, sections: list[Section], least: int) -> list[Section]:
    """The sections; a short text above the first H1, such as a breadcrumb, is part of the H1's."""
    if len(sections) < 2 or sections[0].level or sections[1].level != 1:  # noqa: PLR2004 -- a pair
        return sections
    preamble, opening, *others = sections
    blocks = packer.blocks
    if packer.count(blocks[preamble.first].start, blocks[preamble.last].end) >= least:
        return sections
    return [opening._replace(first=preamble.first), *others]


def _opening_words(packer: Packer) -> str:
    """Return words in place of a missing heading: a deeper heading or the first sentence.

    "" for plain text and raw HTML, whose first line is code or a note as often as a title.
    """
    if packer.text_format is Format.PLAIN or is_raw_html(packer.text):
        return ""
    for block in packer.blocks:
        for words in _words_of(packer, block):
            if any(character.isalnum() for character in words):
                return words if len(words) <= _LONGEST_TITLE else words[:_LONGEST_TITLE] + "…"
    return ""


def _words_of(packer: Packer, block: Block) -> Iterator[str]:
    """Yield a heading's text, or the sentences of running text."""
    if block.kind is Kind.HEADING:
        yield from packer.headings.path_at(block.start)[-1:]
    elif block.kind in _RUNNING:
        for unit in packer.units_of(block):
            yield " ".join(unit.of(packer.text).split())


def shared_path(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    """The headings both paths begin with."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    return tuple(path for path, _ in same)


class FutureNode(NamedTuple):
    """A future node: groups `first` to `last` of sections, some of which it may hold in part."""

    start: int
    end: int
    first: int
    last: int
    is_cut: bool

    @property
    def is_part(self) -> bool:
        """Return True if it holds a part of a single group and nothing else."""
        return self.is_cut and self.first == self.last


class Joining(NamedTuple):
    """Joins pieces of fewer than `least` tokens with a neighbour, where both have room in `most`.

    Of two such neighbours it is the one of the same group, else the one that stands under more of
    the same headings, else the one before.
    """

    packer: Packer
    outline: Outline
    most: int
    least: int

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
        estimate = self.packer.tokens.estimate(piece.start, piece.end)
        if abs(estimate - self.least) > _SLACK:
            return estimate < self.least
        return self.packer.count(piece.start, piece.end) < self.least

    def _options(
        self, piece: FutureNode, done: list[FutureNode], waiting: list[FutureNode]
    ) -> Iterator[tuple[float, list[FutureNode], FutureNode]]:
        """Yield the distance of each neighbour with room, its list, and both joined."""
        for neighbours in (done, waiting):
            if not neighbours:
                continue
            left, right = sorted((neighbours[-1], piece))
            span = left.start, right.end
            if self.packer.tokens.estimate(*span) > self.most + _SLACK:
                continue
            if self.packer.count(*span) <= self.most:
                union = FutureNode(*span, left.first, right.last, left.is_cut or right.is_cut)
                yield self._nearness(left, right), neighbours, union

    def _nearness(self, left: FutureNode, right: FutureNode) -> float:
        if left.last == right.first:
            return inf
        paths = self.outline.path_at(left.end - 1), self.outline.path_at(right.start)
        return len(shared_path(*paths))
