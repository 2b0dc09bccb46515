"""Headings and code of a Markdown text by markdown-it: a second opinion on what the parser saw.

Shares nothing with the scanner the parsers use, so that what one of them overlooks the other
reports. What stands inside quotes and list items is left to them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.rules_block import StateBlock

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)?")
_LONE = re.compile(r" {0,3}(``?)$")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")


class FoundHeading(NamedTuple):
    """One heading, with the offsets of its line or lines."""

    level: int
    title: str
    start: int
    end: int


class FoundCode(NamedTuple):
    """One block of code, with the offsets of its first and last visible character."""

    start: int
    end: int


class Recount(NamedTuple):
    """What stands in a text, in order."""

    headings: list[FoundHeading]
    code: list[FoundCode]


def recount(text: str) -> Recount:
    """Find the headings H1 to H6 (ATX and setext) and the fenced and backticked code of a text."""
    matches = list(_LINE.finditer(text))
    lines = [match[0].rstrip() for match in matches]
    shown = [*[""] * (body := _front_matter_end(lines)), *lines[body:]]
    found = Recount([], [])
    tokens = _markdown().parse("\n".join(shown))
    for number, token in enumerate(tokens):
        if token.level or not token.map or token.type not in {"heading_open", "fence"}:
            continue
        first, last = token.map[0], token.map[1] - 1
        while not lines[last] and last > first:  # of a fence that nobody closes
            last -= 1
        indent = len(lines[first]) - len(lines[first].lstrip())
        span = matches[first].start() + indent, matches[last].start() + len(lines[last])
        if token.type == "fence":
            found.code.append(FoundCode(*span))
        else:
            title = " ".join(tokens[number + 1].content.split())
            found.headings.append(FoundHeading(int(token.tag[1]), title, *span))
    return found


@cache
def _markdown() -> MarkdownIt:
    """Blocks of CommonMark, tables, and the code that crawlers leave between lone backticks."""
    markdown = MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"])
    markdown.block.ruler.before("fence", "lone", _lone_backticks, {"alt": ["paragraph"]})
    return markdown


def _lone_backticks(state: StateBlock, first: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """A block rule: from a line of backticks to the next, unless a heading begins in between."""
    opening = _LONE.match(state.src[state.bMarks[first] : state.eMarks[first]])
    if opening is None:
        return False
    blank = False
    for at in range(first + 1, end):
        line = state.src[state.bMarks[at] : state.eMarks[at]]
        if line.strip() == opening[1]:
            if not silent:
                state.line = at + 1
                state.push("fence", "code", 0).map = [first, at + 1]
            return True
        if blank and _HEADING.match(line):
            return False
        blank = not line
    return False


def _front_matter_end(lines: Sequence[str]) -> int:
    """Number of the line after YAML front matter; 0 without."""
    if lines[0] != "---":
        return 0
    return next((at + 1 for at in range(1, len(lines)) if lines[at] in ("---", "...")), 0)
