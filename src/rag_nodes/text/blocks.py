"""Top-level Markdown blocks with exact offsets, found in one pass over the lines.

Follows CommonMark for what can be seen from outside a block: ATX and setext headings, fenced and
indented code, HTML blocks and comments, block quotes, lists (with everything nested in them),
thematic breaks, paragraphs; GFM tables; YAML front matter at the very top. What crawlers make of
code, a code span that runs over several lines, counts as a code block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from rag_nodes.text.markdown_lines import (
    ATX,
    BLANK_LINE,
    CODE_INDENT,
    DELIMITER_ROW,
    FENCE,
    ITEM,
    RULE,
    SETEXT,
    YAML_KEY,
    Line,
    cells,
    closes,
    content_column,
    fence_after,
    has_long_code_span,
    html_end,
    interrupts,
    lines_of,
)
from rag_nodes.text.spans import Span


class Kind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    CODE = "code"
    LIST = "list"
    TABLE = "table"
    QUOTE = "quote"
    HTML = "html"
    RULE = "rule"
    FRONT_MATTER = "front_matter"


_NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Block:
    """One block.

    Attributes:
        kind: what it is.
        start: offset of the first character of its first line.
        end: offset after its last visible character.
        level: 1 to 6 for headings, else 0.
        title: offsets of a heading's text, markers and closing hashes stripped.
        info: info string of fenced code.
        header_end: for tables, offset after the delimiter row.
    """

    kind: Kind
    start: int
    end: int
    level: int = 0
    title: Span = _NOWHERE
    info: str = ""
    header_end: int = 0


def scan_blocks(text: str) -> list[Block]:
    """The top-level blocks of a Markdown text, in order, disjoint.

    Together they hold every visible character. Time is linear in the length of the text.
    """
    return _Scanner(text).run()


class _Scanner:
    """The state of the pass: the block that is open, and what closes it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = list(lines_of(text))
        self.blocks: list[Block] = []
        self.at = 0

    def run(self) -> list[Block]:
        self._front_matter()
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.text:
                self.at += 1
            elif line.indent >= CODE_INDENT:
                self._indented_code()
            else:
                self._block(line)
        return self.blocks

    def _add(self, kind: Kind, first: int, after: int) -> None:
        """Close a block over lines `first` to `after` (excluded), trailing blank lines left out."""
        while after > first + 1 and not self.lines[after - 1].text:
            after -= 1
        block = Block(kind, self.lines[first].start, self.lines[after - 1].end)
        self.blocks.append(block)

    def _refine(self, **facts: Any) -> None:
        """Say more of the block that was just closed."""
        self.blocks[-1] = replace(self.blocks[-1], **facts)

    def _front_matter(self) -> None:
        if not self.lines or self.lines[0].text != "---" or self.lines[0].indent:
            return
        for number, line in enumerate(self.lines[1:], 1):
            if line.text in {"---", "..."} and not line.indent:
                if any(YAML_KEY.match(inner.text) for inner in self.lines[1:number]):
                    self._add(Kind.FRONT_MATTER, 0, number + 1)
                    self.at = number + 1
                return
            if number > 1 and not line.text and not self.lines[number - 1].text:
                return

    def _block(self, line: Line) -> None:
        """Open the block that `line` starts."""
        mark = line.text[0]
        if mark == "#" and (heading := ATX.match(line.text)):
            self._atx(line, heading)
        elif mark in "`~" and (fence := FENCE.match(line.text)):
            self._fenced_code(fence)
        elif mark == ">":
            self._quote()
        elif mark == "<" and (end := html_end(line.text, in_paragraph=False)):
            self._html(end)
        elif mark in "-*_" and RULE.match(line.text):
            self._add(Kind.RULE, self.at, self.at + 1)
            self.at += 1
        elif mark in "-+*0123456789" and (item := ITEM.match(line.text)):
            self._list(line, item)
        elif self._starts_table(self.at):
            self._table(self.at)
        else:
            self._paragraph()

    def _atx(self, line: Line, heading: re.Match[str]) -> None:
        title = Span(line.end, line.end)
        if heading.group(2):
            title = Span(line.first + heading.start(2), line.first + heading.end(2))
        level = len(heading.group(1))
        self._add(Kind.HEADING, self.at, self.at + 1)
        self._refine(level=level, title=title)
        self.at += 1

    def _fenced_code(self, fence: re.Match[str]) -> None:
        first = self.at
        mark = fence.group(1) or fence.group(3)
        info = (fence.group(2) or fence.group(4) or "").strip()
        self.at += 1
        while self.at < len(self.lines):
            closing = self.lines[self.at]
            self.at += 1
            if closing.indent < CODE_INDENT and closes(closing.text, mark):
                break
        self._add(Kind.CODE, first, self.at)
        self._refine(info=info)

    def _indented_code(self) -> None:
        first = self.at
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.text and line.indent < CODE_INDENT:
                break
            self.at += 1
        self._add(Kind.CODE, first, self.at)

    def _html(self, end: re.Pattern[str] | None) -> None:
        first = self.at
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if end is BLANK_LINE and not line.text:
                break
            self.at += 1
            if end is not BLANK_LINE and end is not None and end.search(line.text):
                break
        self._add(Kind.HTML, first, self.at)

    def _quote(self) -> None:
        first = self.at
        lazy = False
        fenced = ""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.text.startswith(">") and line.indent < CODE_INDENT:
                inner = line.text.lstrip("> \t")
                fenced = fence_after(inner, fenced)
                lazy = bool(inner) and not fenced and not interrupts(inner, 0)
            elif not (lazy and line.text and not self._interrupted_by(line)):
                break
            self.at += 1
        self._add(Kind.QUOTE, first, self.at)

    def _list(self, line: Line, item: re.Match[str]) -> None:
        """A list ends at a line that is neither inside an item nor continues a paragraph of it."""
        first = self.at
        marker = item.group(1)[-1]
        content = content_column(line, item)
        lazy, fenced, blank = True, "", False
        self.at += 1
        fenced = fence_after(line.text[item.end() :], fenced)
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.text:
                lazy, blank = False, True
                self.at += 1
                continue
            if line.indent >= content:
                fenced = fence_after(line.text, fenced)
            else:
                following = self._next_item(line, marker)
                if following:
                    content, fenced = content_column(line, following), ""
                    fenced = fence_after(line.text[following.end() :], fenced)
                elif blank or fenced or not lazy or self._interrupted_by(line):
                    break
            lazy = not fenced
            blank = False
            self.at += 1
        self._add(Kind.LIST, first, self.at)

    def _next_item(self, line: Line, marker: str) -> re.Match[str] | None:
        """The match of a line that starts another item of the same list."""
        if line.indent >= CODE_INDENT or RULE.match(line.text):
            return None
        item = ITEM.match(line.text)
        return item if item and item.group(1)[-1] == marker else None

    def _starts_table(self, at: int) -> bool:
        """Whether the line at `at` is a table's header: the next one is its delimiter row."""
        if at + 1 >= len(self.lines):
            return False
        below = self.lines[at + 1]
        if not below.text or below.text[0] not in "|-:" or below.indent >= CODE_INDENT:
            return False
        if not DELIMITER_ROW.match(below.text):
            return False
        header = self.lines[at].text
        if "|" not in header and "|" not in below.text:
            return False
        return cells(header) == cells(below.text)

    def _table(self, first: int) -> None:
        header_end = self.lines[first + 1].end
        self.at = first + 2
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.text or line.indent >= CODE_INDENT or self._interrupted_by(line):
                break
            self.at += 1
        self._add(Kind.TABLE, first, self.at)
        self._refine(header_end=header_end)

    def _paragraph(self) -> None:
        first = self.at
        code = self._lone_code_span()
        if code:
            self._add(Kind.CODE, first, code)
            self.at = code
            return
        self.at += 1
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.text:
                break
            if line.indent < CODE_INDENT:
                if line.text[0] in "=-" and SETEXT.match(line.text):
                    self._setext(first, line)
                    return
                if self._interrupted_by(line):
                    break
                if self._starts_table(self.at):
                    break
            self.at += 1
        self._add(self._paragraph_kind(first), first, self.at)

    def _paragraph_kind(self, first: int) -> Kind:
        lines = self.lines[first : self.at]
        return Kind.CODE if len(lines) > 1 and has_long_code_span(lines) else Kind.PARAGRAPH

    def _lone_code_span(self) -> int:
        """Line after a code span whose backticks stand on lines of their own; 0 if there is none.

        Crawlers write code so. Blank lines inside would end a CommonMark code span; here they
        belong to it, because the closing line shows that it was code.
        """
        opening = self.lines[self.at].text
        if opening not in {"`", "``"}:
            return 0
        for number in range(self.at + 1, len(self.lines)):
            line = self.lines[number]
            if line.text == opening:
                return number + 1
            if line.text.startswith("#") and not self.lines[number - 1].text:
                return 0
        return 0

    def _setext(self, first: int, underline: Line) -> None:
        start, end = self.lines[first].first, self.lines[self.at - 1].end
        level = 1 if underline.text[0] == "=" else 2
        self.at += 1
        self._add(Kind.HEADING, first, self.at)
        self._refine(level=level, title=Span(start, end))

    def _interrupted_by(self, line: Line) -> bool:
        return line.indent < CODE_INDENT and interrupts(line.text, line.indent)
