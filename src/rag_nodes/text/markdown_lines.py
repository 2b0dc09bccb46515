"""The grammar of single Markdown lines: what each one opens, closes or continues."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LINE = re.compile(r"([ \t]*)([^\r\n]*)(?:\r\n|\n|\r|\Z)")
ATX = re.compile(r"(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*\Z")
SETEXT = re.compile(r"(?:=+|-+)[ \t]*\Z")
RULE = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})\Z")
FENCE = re.compile(r"(`{3,})([^`]*)\Z|(~{3,})(.*)\Z")
ITEM = re.compile(r"([-+*]|\d{1,9}[.)])(?:([ \t]+)(?=\S)|[ \t]*\Z)")
DELIMITER_ROW = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")
_PIPE = re.compile(r"(?<!\\)\|")
YAML_KEY = re.compile(r"[\w\"'][\w .\"'-]*:(?:\s|\Z)")
_RAW_HTML = re.compile(r"<(script|pre|style|textarea)(?=[\s>]|\Z)", re.IGNORECASE)
_HTML_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
    "dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|"
    "hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|"
    "search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_HTML_BLOCK = re.compile(rf"</?(?:{_HTML_TAGS})(?=[\s>]|/>|\Z)", re.IGNORECASE)
_ATTRIBUTE = r"\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?"
_HTML_LINE = re.compile(
    rf"(?:<[A-Za-z][A-Za-z0-9-]*(?:{_ATTRIBUTE})*\s*/?>|</[A-Za-z][\w-]*\s*>)\s*\Z"
)
_BACKTICKS = re.compile(r"`+")
CODE_INDENT = 4


@dataclass(slots=True)
class Line:
    """One line of a text, without its line end."""

    start: int
    end: int
    """End of the visible characters."""
    indent: int
    """Columns of leading blank space, tabs to the next multiple of 4."""
    text: str
    """Without indentation and trailing blank space."""

    @property
    def first(self) -> int:
        """Offset of the first visible character."""
        return self.end - len(self.text)


def lines_of(text: str) -> Iterator[Line]:
    """All lines in order, whatever ends them; none for what follows the last line end."""
    for match in LINE.finditer(text):
        start = match.start()
        if start == len(text):
            return
        blank, body = match.group(1), match.group(2).rstrip()
        indent = len(blank) if "\t" not in blank else len(blank.expandtabs(4))
        yield Line(start, match.start(2) + len(body), indent, body)


BLANK_LINE = re.compile(r"\A\Z")
"""Stands for "this HTML block ends at a blank line"."""
_HTML_ENDS = (
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (_HTML_BLOCK, BLANK_LINE),
)


def html_end(text: str, *, in_paragraph: bool) -> re.Pattern[str] | None:
    """What ends the HTML block that a line starts; None where it starts none."""
    if raw := _RAW_HTML.match(text):
        return re.compile(rf"</{raw.group(1)}>", re.IGNORECASE)
    for start, end in _HTML_ENDS:
        if start.match(text):
            return end
    return BLANK_LINE if not in_paragraph and _HTML_LINE.match(text) else None


def interrupts(text: str, indent: int) -> bool:
    """Whether a visible line starts a block even right below a paragraph."""
    if indent >= CODE_INDENT:
        return False
    match text[0]:
        case "#":
            return ATX.match(text) is not None
        case "`" | "~":
            return FENCE.match(text) is not None
        case "<":
            return html_end(text, in_paragraph=True) is not None
        case "-" | "*" | "_" | "+" | "1":
            return RULE.match(text) is not None or _interrupting_item(text)
        case mark:
            return mark == ">"


def _interrupting_item(text: str) -> bool:
    """An empty item, or a number other than 1, does not interrupt a paragraph."""
    item = ITEM.match(text)
    return bool(item and item.group(2) and item.group(1)[:-1] in {"", "1"})


def closes(text: str, mark: str) -> bool:
    """Whether a line closes the fence that `mark` opened."""
    return text.startswith(mark) and not text.strip(mark[0])


def fence_after(text: str, fenced: str) -> str:
    """The open fence after a line inside a container; "" where none is open."""
    if fenced:
        return "" if closes(text, fenced) else fenced
    fence = FENCE.match(text)
    return (fence.group(1) or fence.group(3)) if fence else ""


def content_column(line: Line, item: re.Match[str]) -> int:
    """Column at which the content of a list item starts; lines indented so far belong to it."""
    width = len(item.group(1))
    gap = len((item.group(2) or " ").expandtabs(4))
    return line.indent + width + (gap if gap <= CODE_INDENT else 1)


def cells(row: str) -> int:
    """Columns of a table row."""
    body = row.strip().removeprefix("|")
    if body.endswith("|") and not body.endswith("\\|"):
        body = body[:-1]
    return len(_PIPE.findall(body)) + 1


def has_long_code_span(lines: Sequence[Line]) -> bool:
    """Whether a code span opens on one line of a paragraph and closes on another."""
    runs = [
        (len(run.group()), number)
        for number, line in enumerate(lines)
        for run in _BACKTICKS.finditer(line.text)
    ]
    positions: dict[int, list[int]] = {}
    for position, (length, _) in enumerate(runs):
        positions.setdefault(length, []).append(position)
    at = 0
    while at < len(runs):
        length, number = runs[at]
        same = positions[length]
        later = bisect_right(same, at)
        if later < len(same):
            at = same[later]
            if runs[at][1] != number:
                return True
        at += 1
    return False
