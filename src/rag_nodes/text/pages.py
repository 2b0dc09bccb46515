"""Which page an offset lies on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise


class PageMap:
    """Pages of a text, from the offsets at which they start.

    Args:
        starts: sorted offsets, one per page; an empty page repeats the offset of the next one.

    Raises:
        ValueError: `starts` is not sorted.
    """

    __slots__ = ("starts",)

    def __init__(self, starts: Sequence[int]) -> None:
        self.starts: list[int] = list(starts)
        if any(left > right for left, right in pairwise(self.starts)):
            raise ValueError("page starts must be sorted")

    def __len__(self) -> int:
        return len(self.starts)

    def page_of(self, offset: int) -> int:
        """Page that holds the character at `offset`, counted from 1."""
        return max(1, bisect_right(self.starts, offset))

    def breaks_within(self, start: int, end: int) -> list[int]:
        """Offsets inside `start:end`, the first character apart, at which another page starts.

        A page without text repeats the offset of the next page, and so does this list: the number
        of entries up to an offset is always how many pages were turned.
        """
        return self.starts[bisect_right(self.starts, start) : bisect_left(self.starts, end)]
