"""Half-open ranges of a text, the one currency of this package, and the pages they lie on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

from rag_nodes.core import metadata as keys

WHITE_SPACE = "white_space"
"""Key on the relationship of a node to the next node: the characters between the two, unless they
are one space or hold a blank line (str)."""


class Span(NamedTuple):
    """Characters `start` (included) to `end` (excluded) of a text."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """Number of characters."""
        return self.end - self.start

    def overlap(self, other: Span) -> int:
        """Number of characters both spans hold."""
        return max(0, min(self.end, other.end) - max(self.start, other.start))

    def common(self, other: Span) -> Span | None:
        """The characters both spans hold; None where there are none."""
        start, end = max(self.start, other.start), min(self.end, other.end)
        return Span(start, end) if start < end else None

    def union(self, other: Span) -> Span:
        """The smallest span that holds both."""
        return Span(min(self.start, other.start), max(self.end, other.end))

    def of(self, text: str) -> str:
        """The characters themselves."""
        return text[self.start : self.end]


def trimmed(text: str, start: int, end: int) -> Span:
    """`start:end` without blank space at either end; empty at `start` when all is blank."""
    piece = text[start:end]
    stripped = piece.rstrip()
    if not stripped:
        return Span(start, start)
    return Span(start + len(piece) - len(piece.lstrip()), start + len(stripped))


def with_indentation(text: str, low: int, start: int) -> int:
    """`start` moved back over the blanks its line begins with, but not below `low`.

    `start` itself where something visible or `low` stands before it in its line.
    """
    line = start
    while line > low and text[line - 1] in " \t":
        line -= 1
    return line if line == 0 or text[line - 1] in "\r\n" else start


def merge(spans: list[Span]) -> list[Span]:
    """Sorted, disjoint spans that hold the same characters as `spans`."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


class PageMap:
    """Pages of a text, from the sorted offsets at which they start.

    An empty page repeats the offset of the next one; `before` pages start before the first of
    these.

    Raises:
        ValueError: `starts` is not sorted.
    """

    __slots__ = ("before", "starts")

    def __init__(self, starts: Sequence[int], *, before: int = 0) -> None:
        self.starts: list[int] = list(starts)
        self.before = before
        if any(left > right for left, right in pairwise(self.starts)):
            raise ValueError("page starts must be sorted")

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Self | None:
        """The pages that a document or a node knows of; None without any.

        A document knows all of them, a node those it is on. Offsets are those of the document.
        """
        if starts := metadata.get(keys.PAGE_STARTS):
            return cls(starts)
        label = keys.page_number(metadata.get(keys.PAGE_LABEL))  # of LlamaIndex's readers
        if (first := metadata.get(keys.PAGE_START, label)) is None:
            return None
        return cls(metadata.get(keys.PAGE_BREAKS) or (), before=int(first))

    def page_of(self, offset: int) -> int:
        """Page that holds the character at `offset`, counted from 1."""
        return max(1, self.before + bisect_right(self.starts, offset))

    def span(self, first: int, last: int, length: int) -> Span | None:
        """The text of pages `first` to `last`, counted from 1; None if none of it is known.

        A `last` beyond the last page stands for that.
        """
        first, last = first - self.before, last - self.before
        # A node is on a page that starts before it, a document on none.
        if first > len(self.starts) or (last if self.before else first - 1) < 0:
            return None
        end = self.starts[last] if last < len(self.starts) else length
        return Span(self.starts[first - 1] if first > 0 else 0, end)

    def breaks_within(self, start: int, end: int) -> list[int]:
        """Offsets inside `start:end`, the first character apart, at which another page starts.

        A page without text repeats the offset of the next page, and so does this list: the number
        of entries up to an offset is always how many pages were turned.
        """
        return self.starts[bisect_right(self.starts, start) : bisect_left(self.starts, end)]

    def facts(self, start: int, end: int) -> dict[str, Any]:
        """The metadata of a node that holds `start:end`: its pages, and where they are turned."""
        first, last = self.page_of(start), self.page_of(max(start, end - 1))
        facts: dict[str, Any] = {keys.PAGE_START: first, keys.PAGE_END: last}
        if last > first:
            facts[keys.PAGE_BREAKS] = self.breaks_within(start, end)
        return facts


def with_line_feeds(text: str) -> str:
    """Return a text with a line feed for each line end; every offset stays as it is."""
    return text.replace("\r\n", " \n").replace("\r", "\n") if "\r" in text else text
