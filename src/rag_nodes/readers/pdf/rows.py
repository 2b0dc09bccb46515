"""Lines that stand side by side out as one line: numbers before headings, cells of a table."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rag_nodes.readers.pdf.layout import Line

SAME_BASELINE = 0.35
"""Font sizes within which two baselines are one row."""
CELL_GAP = 2.0
"""Font sizes between two pieces from which they are cells of a table, not justified text."""
CELL_SEPARATOR = "  "
"""What stands between two cells."""

_MARKER = re.compile(r"[\[(]?\w{1,3}[.)\]]|[^\w\s]")
"""A number, letter or bullet before a list item, however wide the gap after it."""


def merge_rows(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Join neighbours in reading order that share a baseline and run from left to right.

    Pieces of one block are joined, and pieces of different blocks where each block is a single
    row, as PDF libraries make of tables. The last line of one column and the first line of the
    next are never joined, even at equal height.

    Args:
        lines: lines of one page in reading order.

    Returns:
        The lines; joined ones carry the block of their first piece, and `row` where a gap
        between pieces is wide.
    """
    single = _single_row_blocks(lines)
    merged: list[Line] = []
    last_block = -1
    for line in lines:
        previous = merged[-1] if merged else None
        blocks = {last_block, line.block}
        together = len(blocks) == 1 or blocks <= single
        if previous is not None and together and _side_by_side(previous, line):
            merged[-1] = _joined(previous, line)
        else:
            merged.append(line)
        last_block = line.block
    return tuple(merged)


def _single_row_blocks(lines: Iterable[Line]) -> set[int]:
    baselines: dict[int, list[float]] = defaultdict(list)
    for line in lines:
        baselines[line.block].append(line.baseline)
    return {block for block, values in baselines.items() if max(values) - min(values) < 1}


def _side_by_side(left: Line, right: Line) -> bool:
    size = min(left.size, right.size)
    return (
        not (left.cells or right.cells)
        and left.upright
        and right.upright
        and abs(left.baseline - right.baseline) <= SAME_BASELINE * size
        and right.left >= left.right - size / 2
    )


def _joined(left: Line, right: Line) -> Line:
    wide = right.left - left.right > CELL_GAP * max(left.size, right.size)
    wide = wide and _MARKER.fullmatch(left.text) is None
    text = left.text + (CELL_SEPARATOR if wide else " ")
    shifted = ((start + len(text), stop + len(text), to) for start, stop, to in right.links)
    major, minor = (left, right) if len(left.text) > len(right.text) else (right, left)
    return replace(
        left,
        text=text + right.text,
        top=min(left.top, right.top),
        right=max(left.right, right.right),
        bottom=max(left.bottom, right.bottom),
        size=major.size,
        bold=major.bold if minor.text[:1].isdigit() else left.bold and right.bold,
        mono=left.mono and right.mono,
        row=wide or left.row,
        links=(*left.links, *shifted),
    )
