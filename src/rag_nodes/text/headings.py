"""The tree of headings over a text: which headings stand above any offset."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_nodes.text.blocks import Block, Kind

_ANCHOR = re.compile(r"\s*\[\\?#\]\(\\?(#[^)\s]*)[^)]*\)\s*\Z")
"""The link to itself that documentation sites append to a heading."""


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading with its place in the tree.

    Attributes:
        block: where it stands.
        path: the headings above it and itself, outermost first; skipped levels leave no gap.
        anchor: what its link to itself names, such as `#install`; "" without one.
    """

    block: Block
    path: tuple[str, ...]
    anchor: str


class HeadingTree:
    """All headings of a text, in order.

    Args:
        text: the text.
        blocks: its Markdown blocks.
    """

    def __init__(self, text: str, blocks: Sequence[Block]) -> None:
        self.headings = list(_headings(text, blocks))
        self._starts = [heading.block.start for heading in self.headings]

    def path_at(self, offset: int) -> tuple[str, ...]:
        """Headings the character at `offset` stands under; its own if it is part of one."""
        position = bisect_right(self._starts, offset)
        return self.headings[position - 1].path if position else ()

    def inside(self, start: int, end: int) -> list[Heading]:
        """Headings that start after `start` and before `end`."""
        return self.headings[bisect_right(self._starts, start) : bisect_left(self._starts, end)]


def _headings(text: str, blocks: Sequence[Block]) -> Iterator[Heading]:
    stack: list[tuple[int, str]] = []
    for block in blocks:
        if block.kind is not Kind.HEADING:
            continue
        name, anchor = _name_of(text, block)
        while stack and stack[-1][0] >= block.level:
            stack.pop()
        stack.append((block.level, name))
        yield Heading(block, tuple(part for _, part in stack if part), anchor)


def _name_of(text: str, block: Block) -> tuple[str, str]:
    """A heading's text on one line, and the anchor its link names."""
    name = " ".join(block.title.of(text).split())
    link = _ANCHOR.search(name)
    return (name[: link.start()], link.group(1)) if link else (name, "")
