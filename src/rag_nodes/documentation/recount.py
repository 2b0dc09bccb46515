"""Headings and code of a Markdown text, line by line: a second opinion on what the parser saw.

Shares nothing with the scanner the parsers use, so that what one of them overlooks the other
reports. What stands inside quotes and list items is left to them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)?")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,})[^`]*$| {0,3}(~{3,})")
_LONE = re.compile(r" {0,3}(``?)[ \t]*$")
_RAW = re.compile(r" {0,3}<(!--|pre\b|script\b|style\b)", re.IGNORECASE)
_RAW_ENDS = {"!--": "-->", "pre": "</pre>", "script": "</script>", "style": "</style>"}
_NO_PROSE = re.compile(
    r" {4}| {0,3}\t"  # indented code
    r"| {0,3}(?:[|<]|[-+*][ \t]|\d{1,9}[.)][ \t])"  # table, list
)
_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)")
_QUOTE = re.compile(r" {0,3}>")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_INDENTED = re.compile(r" {2,}|\t")


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
    """Find the headings H1 to H6 (ATX and setext) and the fenced and backticked code of a text.

    Time is linear in the length of the text.
    """
    return _Lines(text).run()


class _Lines:
    """The lines of a text, and the walk over them."""

    def __init__(self, text: str) -> None:
        self.lines: list[str] = []
        self.starts: list[int] = []
        for match in _LINE.finditer(text):
            self.lines.append(match[0].rstrip())
            self.starts.append(match.start())
        self.found = Recount([], [])
        self.in_list = self.in_quote = False
        self.prose = False
        """Whether the line above is one that an underline turns into a heading."""
        self.after_blank = True

    def run(self) -> Recount:
        at = _front_matter_end(self.lines)
        while at < len(self.lines):
            last = self._code_end(at)
            if last is not None:
                self.prose = self.in_quote = False
                at = last + 1
                continue
            if not self._heading(at):
                self._follow(self.lines[at])
            at += 1
        return self.found

    def _code_end(self, at: int) -> int | None:
        """Last line of the code or raw HTML that starts here; None where none does."""
        line = self.lines[at]
        last: int | None
        if fence := _FENCE.match(line):
            last = _closing_fence(self.lines, at, fence[1] or fence[2])
        elif lone := _LONE.match(line):
            last = _closing_tick(self.lines, at, lone[1])
        elif raw := _RAW.match(line):
            return _closing_tag(self.lines, at, _RAW_ENDS[raw[1].lower()])
        else:
            return None
        if last is not None:
            self.found.code.append(FoundCode(self._first(at), self._end(last)))
        return last

    def _heading(self, at: int) -> bool:
        line = self.lines[at]
        if atx := _ATX.match(line):
            title = " ".join((atx[2] or "").split())
            self._add(len(atx[1]), title, at, at)
            return True
        if self.prose and (underline := _UNDERLINE.match(line)):
            title = " ".join(self.lines[at - 1].split())
            self._add(1 if underline[1][0] == "=" else 2, title, at - 1, at)
            return True
        return False

    def _add(self, level: int, title: str, first: int, last: int) -> None:
        self.found.headings.append(FoundHeading(level, title, self._first(first), self._end(last)))
        self.prose = self.in_list = self.in_quote = False

    def _follow(self, line: str) -> None:
        """Note what a line that is no heading means for the one below."""
        if not line:
            self.prose = self.in_quote = False
        elif _RULE.match(line):
            self.prose = self.in_list = self.in_quote = False
        elif _QUOTE.match(line) or self.in_quote:
            self.prose, self.in_quote = False, True
        elif _ITEM.match(line):
            self.in_list, self.prose = True, False
        elif self.in_list and (_INDENTED.match(line) or not self.after_blank):
            self.prose = False
        else:
            self.in_list = False
            self.prose = self.prose or not _NO_PROSE.match(line)
        self.after_blank = not line

    def _first(self, at: int) -> int:
        line = self.lines[at]
        return self.starts[at] + len(line) - len(line.lstrip())

    def _end(self, at: int) -> int:
        return self.starts[at] + len(self.lines[at])


def _front_matter_end(lines: Sequence[str]) -> int:
    """Number of the line after YAML front matter; 0 without."""
    if lines[0] != "---":
        return 0
    return next((at + 1 for at in range(1, len(lines)) if lines[at] in ("---", "...")), 0)


def _closing_fence(lines: Sequence[str], at: int, fence: str) -> int:
    """A fence that nobody closes runs to the end of the text."""
    for number in range(at + 1, len(lines)):
        line = lines[number].strip()
        if line.startswith(fence) and not line.strip(fence[0]):
            return number
    return len(lines) - 1


def _closing_tick(lines: Sequence[str], at: int, tick: str) -> int | None:
    """The next line of the same backticks, unless a heading after a blank line comes first."""
    for number in range(at + 1, len(lines)):
        if lines[number].strip() == tick:
            return number
        if not lines[number - 1] and _ATX.match(lines[number]):
            return None
    return None


def _closing_tag(lines: Sequence[str], at: int, tag: str) -> int:
    for number in range(at, len(lines)):
        if tag in lines[number].lower():
            return number
    return len(lines) - 1
