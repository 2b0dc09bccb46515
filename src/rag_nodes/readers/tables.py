"""Rows of cells in, a Markdown table out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def table_cell(text: str) -> str:
    """Fit text into a cell of a Markdown table: one line, every pipe escaped."""
    lines = (line.strip() for line in text.replace("|", "\\|").splitlines())
    return "<br>".join(line for line in lines if line)


def markdown_table(rows: Sequence[list[str]], *, part: int = 0) -> str:
    """Write rows as a Markdown table; the first becomes its header, as Markdown has no other.

    Rows and columns without any text are left out. Rows that are too short stay so, which
    Markdown fills up: a table as wide as its widest row and as long as it is long would let a
    small file grow without bounds.

    Args:
        rows: texts that went through `table_cell`.
        part: number of this part of a longer table, from 1: all its columns stay, and further
            parts have no header; 0 for a whole table.

    Returns:
        The lines of the table; "" where no cell holds anything.
    """
    used = sorted({at for row in rows for at, cell in enumerate(row) if cell or part})
    if not used:
        return ""
    kept = [[row[at] for at in used if at < len(row)] for row in rows if any(row)]
    if part > 1:
        return "\n".join(map(_line, kept))
    head, *body = kept
    head += [""] * (len(used) - len(head))
    return "\n".join(map(_line, [head, ["---"] * len(used), *body]))


def flat_table(rows: Sequence[list[str]]) -> str:
    """Write rows as text, for a table within a cell: commas part cells, semicolons rows."""
    lines = (", ".join(filter(None, row)) for row in rows)
    return "; ".join(filter(None, lines))


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
