"""The grammar of Markdown lines, and where blocks end.

Patterns of lines match at the first character of a line that is not a space or tab, in a text whose
lines end with a line feed or with the text, and never look beyond that line.

In CommonMark a fence or an HTML comment that is never closed is all of the rest, whatever that is.
Here it ends at the first blank line if it would hold more than `PLAUSIBLE` characters, and there
is prose in these. So does a fence without an info string whose end is that far away: most likely
the fence that closes it stood elsewhere, and all further ones would open what they should close.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import islice

from rag_nodes.text.patterns import compiled

CODE_INDENT = 4
"""Columns of indentation from which on a line is code or continues a paragraph."""

TEXT_START = r"[^\s#`~><=*_+|:{0-9-]"
"""A first character of a line that can only be text."""
_END = r"(?=\n|\Z)"
ATX = compiled(rf"(#{{1,6}}+)(?:([ \t]++)[^\n]*+|{_END})")
SETEXT = compiled(rf"(?:=+|-+)[ \t]*+{_END}")
RULE = compiled(rf"(?:(?:\*[ \t]*+){{3,}}+|(?:-[ \t]*+){{3,}}+|(?:_[ \t]*+){{3,}}+){_END}")
FENCE = compiled(rf"(`{{3,}}+)([^`\n]*+){_END}|(~{{3,}}+)([^\n]*)")
ITEM = compiled(
    r"(?:[0-9]{1,9}+)?(?P<kind>(?<=[0-9])[.)]|(?<![0-9])[-+*])"
    rf"(?:(?P<gap>[ \t]++)(?!\n|\Z)|[ \t]*+{_END})"
)
DELIMITER_ROW = compiled(
    rf"(?!-[ \t]|.{_END})\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+{_END}"
)
_PIPE = compiled(r"(?<!\\)\|")

_VERBATIM = "script|pre|style|textarea"
_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
    "dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|"
    "hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|"
    "search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_HTML = compiled(
    rf"<(?:(?P<verbatim>(?:{_VERBATIM})(?=[\s>]|\Z))|(?P<comment>!--)|(?P<instruction>\?)"
    rf"|(?P<cdata>!\[CDATA\[)|(?P<declaration>![A-Za-z])|(?P<block>/?(?:{_TAGS})(?=[\s>]|/>|\Z)))",
    re.IGNORECASE,
)
_MDX = compiled(
    r"(?P<comment>\{/\*)"
    r"|(?P<template>(?:<[A-Z][^`>]{0,500}+(?:>\s{0,100}+\{)?+|\{)(?<=\{)`[^`\n]*+(?=\n))"
)
"""A comment of MDX, and a string of several lines, alone or in an element or its attributes."""
_MDX_ENDS = {"comment": compiled(r"\*/\}"), "template": compiled(r"`[ \t]*+\}")}
HEADING_ATTRIBUTES = compiled(r"[ \t]++\{(?::?[ \t]*+[#.][^{}\n]*+|/\*[^{}\n]*+)\}\Z")
"""Attributes or a comment at the end of a heading, as `{#id}`, `{: .class}` and `{/* #id */}`."""
BLANK_LINE = compiled(r"\n[^\S\n]*+(?=\n|\Z)")
"""Ends a paragraph, and the HTML blocks that have no end mark of their own."""
_HTML_ENDS = {
    "verbatim": compiled(rf"</(?:{_VERBATIM})>", re.IGNORECASE),
    "comment": compiled(r"-->"),
    "instruction": compiled(r"\?>"),
    "cdata": compiled(r"\]\]>"),
    "declaration": compiled(r">"),
    "block": BLANK_LINE,
}
_ATTRIBUTE = (
    r"[ \t\f\v]++[A-Za-z_:][\w.:-]*+"
    r"(?:[ \t\f\v]*+=[ \t\f\v]*+(?:[^\s\"'=<>`]++|'[^'\n]*+'|\"[^\"\n]*+\"))?+"
)
_NAME = "[A-Za-z][A-Za-z0-9-]*+"
_LONE_TAG = compiled(
    rf"<(?:{_NAME}(?:{_ATTRIBUTE})*+[ \t\f\v]*+/?|/{_NAME}[ \t\f\v]*+)>[ \t\f\v]*+{_END}"
)


def html_end(text: str, at: int, *, in_paragraph: bool) -> re.Pattern[str] | None:
    """Return the pattern that ends the HTML block starting at `at`; None if none starts there.

    A line with nothing but one unknown tag starts a block unless it continues a paragraph. Comments
    of MDX, and its elements that hold a string of several lines, are such blocks, too.
    """
    if (start := _MDX.match(text, at)) and start.lastgroup:
        return _MDX_ENDS[start.lastgroup]
    if (start := _HTML.match(text, at)) and start.lastgroup:
        return _HTML_ENDS[start.lastgroup]
    return BLANK_LINE if not in_paragraph and _LONE_TAG.match(text, at) else None


def interrupts(text: str, at: int, *, paragraph: bool = True) -> bool:
    """Return True if the line whose first visible character is at `at` ends the block above it.

    That is indented by fewer than 4 columns. An empty list item, or one with a number other than 1,
    interrupts no paragraph; anything else it does.
    """
    mark = text[at]
    if mark == "#":
        return ATX.match(text, at) is not None
    if mark in "`~":
        return FENCE.match(text, at) is not None
    if mark in "<{":
        return html_end(text, at, in_paragraph=True) is not None
    if mark in "-*_+0123456789":
        if RULE.match(text, at):
            return True
        item = ITEM.match(text, at)
        return item is not None and (not paragraph or may_interrupt(item))
    return mark == ">"


def may_interrupt(item: re.Match[str]) -> bool:
    """Return True if an item may interrupt a paragraph: not if empty, or numbered other than 1."""
    return item["gap"] is not None and item.string[item.start() : item.start("kind")] in {"", "1"}


def starts_table(header: str, text: str, at: int) -> bool:
    """Return True if the line at `at` is the delimiter row of a table below the line `header`."""
    if "|" not in header or not (row := DELIMITER_ROW.match(text, at)):
        return False
    return len(cells(header)) == len(cells(row.group()))


def cells(row: str) -> list[str]:
    """Cells of a table row; pipes at its edges and escaped ones part nothing."""
    body = row.strip().removeprefix("|")
    if body.endswith("|") and not body.endswith("\\|"):
        body = body[:-1]
    elif not body:
        return []
    return _PIPE.split(body)


_FENCE_ENDS = {mark: compiled(rf"({mark}*+)([ \t]*+{_END})?+") for mark in "`~"}
"""The rest of a run of fence characters, and that of the line if it is blank."""


def closing_fence(text: str, mark: str, at: int, stop: int) -> int:
    """Offset after the line in `at:stop` that closes the fence `mark`; 0 without one."""
    rest_of_run = _FENCE_ENDS[mark[0]]
    while (start := text.find(mark, at, stop)) >= 0:
        before = text[max(0, start - CODE_INDENT) : start].rstrip(" ")
        at = start + len(mark)
        if rest := rest_of_run.match(text, at):
            if before.endswith("\n") and rest.group(2) is not None:
                return rest.end()
            at = rest.end(1)
    return 0


_FRONT_MATTER = compiled(r"---[^\S\n]*+(?=\n)")
_FRONT_MATTER_END = compiled(r"\n(?:(---|\.\.\.)[^\S\n]*+(?=\n|\Z)|[^\S\n]*+\n[^\S\n]*+(?=\n|\Z))")
"""A line that closes front matter, or two blank lines, which show that it was none."""
_YAML_KEY = compiled(r"^[ \t]*+[\w\"'][\w .\"'-]*+:(?:\s|\Z)", re.MULTILINE)


def front_matter_end(text: str) -> int:
    """Offset after the YAML front matter a text starts with; 0 without one."""
    opening = _FRONT_MATTER.match(text)
    closing = _FRONT_MATTER_END.search(text, opening.end()) if opening else None
    if not opening or not closing or not closing.group(1):
        return 0
    return closing.end() if _YAML_KEY.search(text, opening.end() + 1, closing.start() + 1) else 0


def columns(text: str, start: int, first: int) -> int:
    """Columns of the blank space `start:first` at the start of a line, tabs to multiples of 4."""
    width = first - start
    return len(text[start:first].expandtabs(4)) if "\t" in text[start:first] else width


def visible_end(text: str, end: int) -> int:
    """Offset after the last visible character before `end`; there must be one."""
    while text[end - 1].isspace():
        end -= 1
    return end


def line_end(text: str, at: int) -> int:
    """Offset of the line feed at or after `at`; the end of the text without one."""
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


_BACKTICKS = compiled(r"`+")
_ESCAPE_OR_BACKTICKS = compiled(r"\\[^\n]|`+")
_LONE = compiled(r"(``?)[^\S\n]*(?=\n)")
_LONE_STOP = compiled(r"\n[ \t]*+(``?)[^\S\n]*+(?=\n|\Z)|\n[^\S\n]*+\n[ \t]*+#")
_TITLE = r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)"
_DEFINITION = compiled(
    r" {0,3}\[(?=[^\]]*[^\s\]])(?:[^\[\]\\]|\\.){1,999}+\]:[ \t]*+(?:\n[ \t]*+)?+"
    r"(?:<(?:[^<>\n\\]|\\.)*+>|[^\s<]\S*+)"
    rf"(?:(?:[ \t]++|[ \t]*+\n[ \t]*+)(?:{_TITLE})[ \t]*+(?:\n|\Z)|[ \t]*+(?:\n|\Z))",
    re.DOTALL,
)


def definitions_end(text: str, start: int, end: int) -> int:
    """Offset after the link reference definitions that a paragraph starts with."""
    while start < end and (definition := _DEFINITION.match(text, start, end)):
        start = definition.end()
    return start


def has_long_code_span(text: str, start: int, end: int) -> bool:
    """Return True if a code span opens on one line of a paragraph and closes on another."""
    closings: dict[int, list[int]] = {}
    for run in _BACKTICKS.finditer(text, start, end):
        closings.setdefault(run.end() - run.start(), []).append(run.start())
    at = start
    while opening := _ESCAPE_OR_BACKTICKS.search(text, at, end):
        at = opening.end()
        if text[opening.start()] == "\\":
            continue
        same = closings.get(at - opening.start(), [])
        later = bisect_left(same, at)
        if later < len(same):
            if text.find("\n", at, same[later]) >= 0:
                return True
            at = same[later] + at - opening.start()
    return False


PLAUSIBLE = 20_000
"""Characters up to which a block is believed whatever is in it: some five hundred lines of code."""
_LONGEST_MARK = 64
"""Longer fences are always believed, so that no text is searched more often than that."""
_LEAST = 3
"""So many paragraphs of prose are no comment in code."""
_PROSE = compiled(r"\n[^\S\n]*+\n(?:[^\W\d_]++(?:['\u2019-][^\W\d_]++)*+[,;:]?+ ){6}")
"""A blank line, and below it, not indented, a line that begins with six words."""


class EndMarks:
    """Finds the ends of fences, HTML blocks and code spans of a text, from its start on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._unclosed: dict[str, int] = {}
        self._missing: set[re.Pattern[str]] = set()
        self._prose = -1

    def fence_end(self, mark: str, at: int, *, has_info: bool) -> int:
        """Offset after the code whose fence `mark` stands on the line that ends at `at`."""
        text, stop = self._text, at + PLAUSIBLE
        is_unclosed = len(mark) >= self._unclosed.get(mark[0], _LONGEST_MARK + 1)
        near = 0 if is_unclosed else closing_fence(text, mark, at, stop)
        if near or stop >= len(text):
            return near or len(text)
        doubtful = len(mark) <= _LONGEST_MARK and self._holds_prose(at)
        if not is_unclosed and (has_info or not doubtful):
            if far := closing_fence(text, mark, at, len(text)):
                return far
            if doubtful:
                self._unclosed[mark[0]] = len(mark)
        return self._blank_line(at) if doubtful else len(text)

    def html_end(self, mark: re.Pattern[str], at: int) -> int:
        """End of the last line of the HTML block at `at`, which ends with `mark`."""
        text = self._text
        match = None if mark in self._missing else mark.search(text, at)
        if match:
            return match.start() if mark is BLANK_LINE else line_end(text, match.end())
        self._missing.add(mark)
        doubtful = at + PLAUSIBLE < len(text) and self._holds_prose(at)
        return self._blank_line(at) if doubtful else len(text)

    def code_span_end(self, at: int) -> int:
        """Offset after a code span whose backticks stand on lines of their own; 0 without one.

        Crawlers write code so. Blank lines inside would end a CommonMark code span; here they
        belong to it, because the closing line shows that it was code. A heading below a blank line
        shows that it was not.
        """
        opening = _LONE.match(self._text, at)
        end = opening.end() if opening else -1
        while opening and (stop := _LONE_STOP.search(self._text, end)):
            end = stop.end()
            if stop.group(1) == opening.group(1):
                return 0 if end > at + PLAUSIBLE and self._holds_prose(at) else end
            if stop.group(1) is None:
                break
        return 0

    def _holds_prose(self, at: int) -> bool:
        """Return True if a block may hold prose after `at`."""
        if at <= self._prose:
            return True
        matches = list(islice(_PROSE.finditer(self._text, at, at + PLAUSIBLE), _LEAST))
        if len(matches) < _LEAST:
            return False
        self._prose = matches[0].start()
        return True

    def _blank_line(self, at: int) -> int:
        """End of the last line before the first blank one, which is there where prose is."""
        match = BLANK_LINE.search(self._text, at)
        return match.start() if match else len(self._text)
