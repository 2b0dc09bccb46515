"""The tree of headings over a text: which headings stand above any offset."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rag_nodes.text.markdown.blocks import Block

_ANCHOR = re.compile(r" ?\[(?:\\?#|¶|§|\u200b)?\]\([^()#\s]*(#[^)\s]*)[^)]*\)\Z")
"""The link to itself that documentation sites append to a heading."""


class Heading(NamedTuple):
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
        self.headings: list[Heading] = list(_headings(text, blocks))
        self._starts = [heading.block.start for heading in self.headings]

    def path_at(self, offset: int) -> tuple[str, ...]:
        """Headings the character at `offset` stands under; its own if it is part of one."""
        above = self.above(offset)
        return above.path if above else ()

    def above(self, offset: int) -> Heading | None:
        """The last heading that starts at `offset` or before it; None where there is none."""
        position = bisect_right(self._starts, offset)
        return self.headings[position - 1] if position else None

    def root(self, title: str) -> list[str]:
        """The title, where everything stands under it because no heading is of level 1."""
        words = " ".join(title.split())
        return [words] if words and all(h.block.level > 1 for h in self.headings) else []

    def inside(self, start: int, end: int) -> list[Heading]:
        """Headings that start after `start` and before `end`."""
        return self.headings[bisect_right(self._starts, start) : bisect_left(self._starts, end)]


def _headings(text: str, blocks: Sequence[Block]) -> Iterator[Heading]:
    stack: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    for block in blocks:
        level = block.level
        if not level:
            continue
        name, anchor = _name_of(text, block)
        while stack[-1][0] >= level:
            stack.pop()
        above = stack[-1][1]
        path = (*above, name) if name else above
        stack.append((level, path))
        yield Heading(block, path, anchor)


def _name_of(text: str, block: Block) -> tuple[str, str]:
    """A heading's text on one line, and the anchor its link names."""
    name = " ".join(text[block.title.start : block.title.end].split())
    link = _ANCHOR.search(name) if name.endswith(")") else None
    return (name[: link.start()], link.group(1)) if link else (name, "")
