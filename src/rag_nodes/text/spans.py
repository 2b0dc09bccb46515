"""Half-open character ranges of a text, the one currency of this package."""

from __future__ import annotations

from typing import NamedTuple


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
