"""Top-level Markdown blocks with exact offsets, found in one pass.

Follows CommonMark for what can be seen from outside a block: ATX and setext headings, fenced and
indented code, HTML blocks and comments, block quotes, lists (with everything nested in them),
thematic breaks, paragraphs; GFM tables; comments and strings of MDX; YAML front matter at the very
top. What crawlers make of code, a code span that runs over several lines, counts as a code block. A
line of nothing but Unicode spaces is blank. Two things are bounded that are not in CommonMark: what
a block without an end mark may swallow (see `markdown_bounds`), and how long a heading may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import ClassVar, NamedTuple

from rag_nodes.text.markdown.containers import container_end
from rag_nodes.text.markdown.lines import (
    ATX,
    CODE_INDENT,
    FENCE,
    HEADING_ATTRIBUTES,
    ITEM,
    RULE,
    SETEXT,
    TEXT_START,
    EndMarks,
    columns,
    definitions_end,
    front_matter_end,
    has_long_code_span,
    html_end,
    interrupts,
    line_end,
    starts_table,
    visible_end,
)
from rag_nodes.text.patterns import compiled
from rag_nodes.text.spans import Span, trimmed, with_line_feeds


class Kind(StrEnum):
    """Kind of a block."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    CODE = "code"
    LIST = "list"
    TABLE = "table"
    QUOTE = "quote"
    HTML = "html"
    RULE = "rule"
    FRONT_MATTER = "front_matter"


LONGEST_HEADING = 250
"""Characters; what is longer heads nothing, whatever stands below it or in front of it."""

_NOWHERE = Span(0, 0)


class Block(NamedTuple):
    """One block, from its first line to its last visible character.

    `level` is 1 to 6 for headings, else 0, and `title` the heading's text without its marks. `info`
    is the info string of fenced code, `header_end` the offset after a table's delimiter row.
    """

    kind: Kind
    start: int
    end: int
    level: int = 0
    title: Span = _NOWHERE
    info: str = ""
    header_end: int = 0


def scan_blocks(text: str) -> Iterator[Block]:
    """The top-level blocks of a Markdown text, in order, disjoint, found as they are asked for.

    Together they hold every visible character. Time is linear in the length of the text.
    """
    return _Scanner(text).run()


_GAP = compiled(r"(?:[^\S\n]*+\n)*+([ \t]*+)")
"""Blank lines, and the indentation of the line below them."""
_PROSE = compiled(rf"[^\n]*+(?:\n[ \t]*+{TEXT_START}[^\n]*+)*+")
"""A line, and all below it that can do nothing but continue a paragraph."""
_BELOW = compiled(r"\n([ \t]*+)(?=[^\S\n]*+\S)")
"""The indentation of the line below, unless that is blank."""
_INDENTED_CODE = compiled(r"(?:(?: {4}| {0,3}\t)[^\n]*+(?:\n|\Z)|[^\S\n]*+\n)*+")
_PLAIN = compiled(
    r"(?:(#{1,6}+) [ \t]*+([^\n]*+)(?<![\s#])\n"  # a heading without hashes at its end
    rf"|((?:(?:{TEXT_START}|:(?!-))[^\n]*+\n)++)\n)\n*+"  # lines of text, an empty one below
).match
_BAR_ROWS = compiled(r"(?:\n {0,3}\|[^\n]*+)*+")


class _Scanner:
    """The state of the pass: everything before `at` was found, and what is in `blocks` last.

    Each method takes the offset at which a block's first line starts and that of its first visible
    character, and leaves `at` behind the block.
    """

    def __init__(self, text: str) -> None:
        self.text = text = with_line_feeds(text)
        self.blocks: list[Block] = []
        self.at = 0
        self._ends = EndMarks(text)
        self._no_title = -1

    def run(self) -> Iterator[Block]:
        text, openers, gap = self.text, self._openers, _GAP.match
        end = len(text.rstrip())
        if front_matter := front_matter_end(text):
            self._add(Kind.FRONT_MATTER, 0, front_matter)
        while match := gap(text, self.at):
            yield from self.blocks
            self.blocks.clear()
            start, first = match.span(1)
            if first >= end:
                break
            if first == start:
                if self._plain_run(start):
                    continue
            elif columns(text, start, first) >= CODE_INDENT:
                self._indented_code(start)
                continue
            opener = openers.get(text[first])
            if opener is None or not opener(self, start, first):
                self._paragraph(start, first)
        yield from self.blocks

    def _plain_run(self, start: int) -> bool:
        """Plain headings and paragraphs from `start` on, empty lines apart; whether there is any.

        Finds nothing that `_atx` and `_paragraph` do not, only several times as fast.
        """
        text, add, at = self.text, self.blocks.append, start
        while match := _PLAIN(text, at):
            if (mark := match.end(1)) < 0:
                end = match.end(3) - 1
                if text.find("`", at, end) >= 0 and text.find("\n", at, end) >= 0:
                    break
                visible = visible_end(text, end) if text[end - 1].isspace() else end
                add(Block(Kind.PARAGRAPH, at, visible))
            else:
                title = Span(*match.span(2))
                if title.length > LONGEST_HEADING:
                    break
                add(Block(Kind.HEADING, at, title.end, mark - at, self._without_attributes(title)))
            at = self.at = match.end()
        return at > start

    def _add(self, kind: Kind, start: int, end: int) -> None:
        """Close a block at the line end `end`."""
        self.at = end
        self.blocks.append(Block(kind, start, visible_end(self.text, end)))

    def _atx(self, start: int, first: int) -> bool:
        text = self.text
        heading = ATX.match(text, first)
        if not heading:
            return False
        high = visible = visible_end(text, heading.end())
        low = min(heading.end(2), visible) if heading.end(2) > 0 else visible
        if text[high - 1] == "#":
            bare = text[low:high].rstrip("#")
            if not bare or bare[-1] in " \t":
                high = low + len(bare.rstrip())
        if high - low > LONGEST_HEADING:
            return False
        self.at = heading.end()
        level = heading.end(1) - first
        title = self._without_attributes(Span(low, high))
        self.blocks.append(Block(Kind.HEADING, start, visible, level, title))
        return True

    def _without_attributes(self, title: Span) -> Span:
        """Return the title of a heading without attributes at its end, such as `{#id}`."""
        attributes = None
        if title.length and self.text[title.end - 1] == "}":
            attributes = HEADING_ATTRIBUTES.search(self.text, *title)
        return Span(title.start, attributes.start()) if attributes else title

    def _backticks(self, start: int, first: int) -> bool:
        if self._fenced_code(start, first):
            return True
        end = self._ends.code_span_end(first)
        if end:
            self._add(Kind.CODE, start, end)
        return end > 0

    def _fenced_code(self, start: int, first: int) -> bool:
        fence = FENCE.match(self.text, first)
        if not fence:
            return False
        mark, info = fence.group(1, 2) if fence.group(1) else fence.group(3, 4)
        self.at = self._ends.fence_end(mark, fence.end(), has_info=bool(info.strip()))
        end = visible_end(self.text, self.at)
        self.blocks.append(Block(Kind.CODE, start, end, info=info.strip()))
        return True

    def _indented_code(self, start: int) -> None:
        code = _INDENTED_CODE.match(self.text, start)
        self._add(Kind.CODE, start, code.end() if code else start)

    def _html(self, start: int, first: int) -> bool:
        mark = html_end(self.text, first, in_paragraph=False)
        if not mark:
            return False
        self._add(Kind.HTML, start, self._ends.html_end(mark, first))
        return True

    def _rule_or_list(self, start: int, first: int) -> bool:
        rule = RULE.match(self.text, first)
        if not rule:
            return self._list(start, first)
        self._add(Kind.RULE, start, rule.end())
        return True

    def _list(self, start: int, first: int) -> bool:
        if not ITEM.match(self.text, first):
            return False
        self._add(Kind.LIST, start, container_end(self.text, start))
        return True

    def _quote(self, start: int, _first: int) -> bool:
        self._add(Kind.QUOTE, start, container_end(self.text, start))
        return True

    def _paragraph(self, start: int, first: int) -> None:
        """A paragraph, or what its later lines show it to be: a setext heading or a table."""
        text = self.text
        at = end = first
        while prose := _PROSE.match(text, at):
            end = prose.end()
            below = _BELOW.match(text, end)
            if not below:
                break
            at = below.end()
            if columns(text, end + 1, at) >= CODE_INDENT:
                continue
            if text[at] in "|:-" and self._table(start, first, end, at):
                return
            if text[at] in "=-" and self._setext(start, first, end, at):
                return
            if interrupts(text, at):
                break
        self._add_paragraph(start, first, end)

    def _add_paragraph(self, start: int, first: int, end: int) -> None:
        text = self.text
        tick = text.find("`", first, end)
        may_be_code = tick >= 0 and text.find("\n", tick, end) >= 0
        is_code = may_be_code and has_long_code_span(text, first, end)
        self._add(Kind.CODE if is_code else Kind.PARAGRAPH, start, end)

    def _table(self, start: int, first: int, end: int, below: int) -> bool:
        """A table whose header is the line that ends at `end`, the last of the paragraph so far."""
        text = self.text
        line = text.rfind("\n", first, end) + 1 or first
        header = text[line:end]
        if not starts_table(header, text, below):
            return False
        if line > first:
            if columns(text, line, line + len(header) - len(header.lstrip(" \t"))) >= CODE_INDENT:
                return False
            self._add_paragraph(start, first, line - 1)
            start = line
        self.at = self._table_end(line_end(text, below))
        header_end = visible_end(text, line_end(text, below))
        end = visible_end(text, self.at)
        self.blocks.append(Block(Kind.TABLE, start, end, header_end=header_end))
        return True

    def _table_end(self, end: int) -> int:
        """The end of the last row of the table whose delimiter row ends at `end`."""
        text = self.text
        while rows := _BAR_ROWS.match(text, end):
            end = rows.end()
            below = _BELOW.match(text, end)
            if not below or columns(text, end + 1, below.end()) >= CODE_INDENT:
                break
            if interrupts(text, below.end(), paragraph=False):
                break
            end = line_end(text, below.end())
        return end

    def _setext(self, start: int, first: int, end: int, below: int) -> bool:
        text = self.text
        underline = SETEXT.match(text, below)
        if not underline or first == self._no_title:
            return False
        body = definitions_end(text, first, end) if text[first] == "[" else first
        if body >= end:
            return False
        title = trimmed(text, body, end)
        if title.length > LONGEST_HEADING:
            self._no_title = first  # nor is it with what follows
            return False
        if body > first:
            self._add_paragraph(start, first, body - 1)
            start = body
        self.at = underline.end()
        level = 1 if text[below] == "=" else 2
        self.blocks.append(Block(Kind.HEADING, start, visible_end(text, self.at), level, title))
        return True

    # Bound methods would tie each scanner to itself, and keep its text until a garbage collection.
    _openers: ClassVar[dict[str, Callable[[_Scanner, int, int], bool]]] = {
        "#": _atx,
        "`": _backticks,
        "~": _fenced_code,
        ">": _quote,
        **dict.fromkeys("<{", _html),
        **dict.fromkeys("-*_", _rule_or_list),
        **dict.fromkeys("+0123456789", _list),
    }
