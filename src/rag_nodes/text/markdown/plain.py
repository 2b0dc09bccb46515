"""Headings and paragraphs of the plainest kind, found with hardly a look at their characters."""

from __future__ import annotations

_LEVELS = 6
_LONGEST = 200
"""Characters of a line that is not looked at more closely; longer ones may be no heading."""
_MARKS = frozenset("#`~><=*_+|:-0123456789")
"""First characters of lines that may be more than text; `TEXT_START` is all others but blanks."""


def plain_heading(text: str, at: int, end: int) -> tuple[int, int] | None:
    """Level and start of the title of the heading on the line `at:end`.

    Returns:
        None where the line is anything but hashes, blanks and a title without a closing hash.
    """
    line = text[at:end] if end > 0 else ""
    rest = line.lstrip("#")
    level = len(line) - len(rest)
    if (
        level > _LEVELS
        or len(line) > _LONGEST
        or rest[:1] != " "
        or line[-1] == "#"
        or line[-1].isspace()
    ):
        return None
    return level, end - len(rest.lstrip(" \t"))


def plain_paragraph_end(text: str, at: int) -> int:
    """End of the paragraph at `at` if all its lines are plain and an empty line follows; else 0."""
    while at < len(text) and _is_text(text, at):
        end = text.find("\n", at)
        if end < 0:
            break
        if text.startswith("\n", end + 1):
            return end
        at = end + 1
    return 0


def _is_text(text: str, at: int) -> bool:
    """Whether the line at `at` can be nothing but text; a colon alone begins no row of a table."""
    mark = text[at]
    if mark in _MARKS:
        return mark == ":" and not text.startswith("-", at + 1)
    return not mark.isspace()
