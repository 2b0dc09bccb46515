"""Sections of the heading tree, packed between a least and a most number of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.bridge.pydantic import Field

from rag_nodes import metadata as keys
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.sizes import LEAST_TOKENS
from rag_nodes.parsers.source import Cut, SourceText
from rag_nodes.text.blocks import Block, Kind
from rag_nodes.text.headings import Heading
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import trimmed, trimmed_lines

_MARKED = {Kind.CODE: "code", Kind.TABLE: "table", Kind.LIST: "list"}
_LONGEST_TITLE = 120
"""Characters of a first sentence that stands in for a missing heading."""
_MOST = 2 / 3
"""Share of a node's tokens that lets one of its sections name it."""


@dataclass(frozen=True, slots=True)
class _Section:
    start: int
    end: int
    level: int
    path: tuple[str, ...]
    anchor: str
    tokens: int
    has_body: bool


class HeadingHierarchyNodeParser(SpanNodeParser):
    r"""Cuts a Markdown document at its headings, H1 to H6 (S1, S3-06).

    A section shorter than `min_chunk_size` joins its neighbour below the same heading, a heading
    without text joins the section under it, and a section longer than `chunk_size` is cut between
    blocks, then sentences, and its parts numbered (S1-43). Code is never cut: a code block over
    the size stands alone and is marked oversized (S1-44, S1-45).

    Every node knows the headings above it (`heading_path`), which are embedded with its text as
    `Heading: A > B` (S1-06). A document without headings is cut at its paragraphs, under its title
    or first sentence (S1-41).

    Args:
        chunk_size: tokens a node may hold (S1 C2: 1000).
        min_chunk_size: sections below this are merged with a neighbour (100). A document below it
            is one node, marked `whole_document` (S1-42).

    Raises:
        ConfigurationError: `min_chunk_size` is over `chunk_size`.

    Example:
        >>> parser = HeadingHierarchyNodeParser(min_chunk_size=0)
        >>> parser.split_text("# Tea\nHot.\n\n## Green\nLess hot.")
        ['# Tea\nHot.', '## Green\nLess hot.']
    """

    chunk_size: int = Field(default=1000, ge=LEAST_TOKENS)
    min_chunk_size: int = Field(default=100, ge=0)

    def spans(self, source: SourceText) -> Iterator[Cut]:
        """Sections, merged where short, cut where long."""
        packer = source.packer
        if packer.start == packer.end:
            return
        sections = list(_sections(packer, source.title))
        if packer.count(packer.start, packer.end) < self.min_chunk_size:
            facts = {**_facts(packer, sections), keys.WHOLE_DOCUMENT: True}
            yield Cut(packer.start, packer.end, facts)
            return
        for group in self._groups(packer, sections):
            start, end = group[0].start, group[-1].end
            facts = _facts(packer, group)
            if packer.count(start, end) <= self.chunk_size:
                yield Cut(start, end, facts)
            else:
                yield from self._parts(packer, start, end, facts)

    def _groups(self, packer: Packer, sections: Sequence[_Section]) -> Iterator[list[_Section]]:
        """Neighbouring sections that share a node."""
        group: list[_Section] = []
        for section in sections:
            if group and self._joins(packer, group, section):
                group.append(section)
                continue
            if group:
                yield group
            group = [section]
        if group:
            yield group

    def _joins(self, packer: Packer, group: list[_Section], section: _Section) -> bool:
        together = packer.count(group[0].start, section.end)
        if together > self.chunk_size:
            return False
        if not any(member.has_body for member in group):
            return True
        short = packer.count(group[0].start, group[-1].end) < self.min_chunk_size
        # A short section joins what stands before it unless it opens a wider topic.
        trailing = section.tokens < self.min_chunk_size and section.has_body
        return short or (trailing and section.level >= group[0].level)

    def _parts(self, packer: Packer, start: int, end: int, facts: dict[str, Any]) -> Iterator[Cut]:
        pieces = list(self._pieces(packer, start, end))
        for number, (low, high, own) in enumerate(pieces, 1):
            numbered = {keys.PART: number, keys.PARTS: len(pieces)} if len(pieces) > 1 else {}
            yield Cut(low, high, {**facts, **_kinds(packer, low, high), **numbered, **own})

    def _pieces(
        self, packer: Packer, start: int, end: int
    ) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Spans within the size, code blocks whole."""
        position = start
        while position < end:
            cut = packer.end_of_piece(position, position, end, self.chunk_size)
            cut = cut if cut > position else packer.cluster_end(position, self.chunk_size)
            own: dict[str, Any] = {}
            if code := _code_cut_by(packer, cut):
                cut, own = _around_code(packer, position, code)
            span = trimmed(packer.text, position, cut)
            if own and packer.count(position, span.end) <= self.chunk_size:
                own = {}
            block = packer.block_at(position)
            if block.kind is Kind.TABLE and position > block.start:
                own[keys.TABLE_HEADER] = packer.text[block.start : block.header_end]
            yield position, span.end, own
            if cut >= end:
                return
            position = packer.visible_from(cut)


def _code_cut_by(packer: Packer, cut: int) -> Block | None:
    """The code block that a cut would fall into."""
    block = packer.block_at(cut)
    return block if block.kind is Kind.CODE and block.start < cut < block.end else None


def _around_code(packer: Packer, position: int, code: Block) -> tuple[int, dict[str, Any]]:
    """End before a code block, or after it where nothing but headings stands before it."""
    before = packer.blocks_between(position, code.start)
    if any(block.kind is not Kind.HEADING for block in before):
        return trimmed(packer.text, position, code.start).end, {}
    return code.end, {keys.OVERSIZED: True}


def _sections(packer: Packer, title: str) -> Iterator[_Section]:
    """One section per heading, and one for what stands above the first."""
    headings = packer.headings.headings
    starts = [heading.block.start for heading in headings]
    first = starts[0] if starts else packer.end
    if first > packer.start:
        opening = (title or _first_sentence(packer),)
        yield _section(packer, packer.start, first, path=opening)
    for heading, stop in zip(headings, [*starts, packer.end][1:], strict=True):
        yield _section(packer, heading.block.start, stop, path=heading.path, heading=heading)


def _section(
    packer: Packer,
    start: int,
    stop: int,
    *,
    path: tuple[str, ...],
    heading: Heading | None = None,
) -> _Section:
    end = trimmed_lines(packer.text, start, stop).end
    return _Section(
        start=start,
        end=end,
        level=heading.block.level if heading else 0,
        path=path,
        anchor=heading.anchor if heading else "",
        tokens=packer.count(start, end),
        has_body=end > (heading.block.end if heading else start),
    )


def _first_sentence(packer: Packer) -> str:
    """What stands in for a heading where a document has none."""
    for block in packer.blocks:
        for unit in packer.units_of(block):
            words = " ".join(unit.of(packer.text).split())
            if any(character.isalnum() for character in words):
                return words if len(words) <= _LONGEST_TITLE else words[:_LONGEST_TITLE] + "…"
    return ""


def _facts(packer: Packer, group: Sequence[_Section]) -> dict[str, Any]:
    """Heading path, link and kinds of blocks of the sections that share a node."""
    facts: dict[str, Any] = _kinds(packer, group[0].start, group[-1].end)
    path, anchor = _name_of_group(group)
    if path:
        facts[keys.HEADING_PATH] = list(path)
    if anchor:
        facts[keys.LINK] = anchor
    return facts


def _name_of_group(group: Sequence[_Section]) -> tuple[tuple[str, ...], str]:
    """Path and anchor of the section that is most of a group.

    Else the headings all of it stands under; its first section's where they share none.
    """
    longest = max(group, key=lambda section: section.tokens)
    if longest.tokens >= _MOST * sum(section.tokens for section in group):
        return longest.path, longest.anchor
    first = next((section for section in group if section.has_body), group[-1])
    path = first.path
    for section in group:
        if section.has_body and section.path[: len(path)] != path:
            path = _common(path, section.path)
    return path or first.path, first.anchor


def _common(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return left[:length]


def _kinds(packer: Packer, start: int, end: int) -> dict[str, Any]:
    kinds = {_MARKED[b.kind] for b in packer.blocks_between(start, end) if b.kind in _MARKED}
    return {keys.BLOCKS: sorted(kinds)} if kinds else {}
