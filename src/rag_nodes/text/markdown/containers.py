"""Ends of block quotes and lists, whatever is nested in them."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

from rag_nodes.text.markdown.lines import (
    ATX,
    BLANK_LINE,
    CODE_INDENT,
    FENCE,
    ITEM,
    RULE,
    SETEXT,
    TEXT_START,
    html_end,
    may_interrupt,
    starts_table,
)
from rag_nodes.text.patterns import compiled

_QUOTE = -1
"""Stands for a quote among the widths of open containers."""
_CLOSED = 1 << 60
"""Width of an item to which no further line can belong."""
_DEEPEST = 32
"""Containers deeper than this are text, so that no line costs more than its length."""
_MARKS = frozenset("#`~<-*_=|:")
"""First characters of lines that may be more than text."""
_OPENERS = frozenset(">-*+0123456789")
"""First characters of marks that open a container."""
_TEXT = rf"[ \t]*+{TEXT_START}[^\n]*+"
_TEXT_LINES = {
    ">": compiled(rf"(?:\n(?:> ?+)?+{_TEXT})*+"),
    **{mark: compiled(rf"(?:\n(?:{re.escape(mark)} (?![ \t]))?+{_TEXT})*+") for mark in "-*+"},
    **{
        mark: compiled(rf"(?:\n(?:[0-9]{{1,9}}+{re.escape(mark)} (?![ \t]))?+{_TEXT})*+")
        for mark in ".)"
    },
}
"""Lines that go on with a paragraph in a container, or are one-line items of the same list."""
_ITEM_ABOVE = compiled(r"\n(?:[-+*]|([0-9]++)[.)]) ")
_BLANK_LINES = compiled(r"(?:\n[^\S\n]*+(?=\n))*+")
_CLOSES = compiled(r"(`+|~+) *+\Z")


class _Leaf(Enum):
    """The open block that holds text."""

    NONE = auto()
    PARAGRAPH = auto()
    TABLE = auto()
    FENCE = auto()
    HTML = auto()


_VERBATIM = frozenset({_Leaf.FENCE, _Leaf.HTML})


def container_end(text: str, start: int) -> int:
    """End of the last line of the quote or list whose first line starts at `start`.

    Blank lines at the end may be included.
    """
    return _Container(text, start).end()


class _Container:
    """The quotes and items that are open, outermost first, and the leaf inside the innermost."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start
        self.open: list[int] = []
        self.leaf = _Leaf.NONE
        self.fence = ""
        self.html_end = BLANK_LINE
        self.above = ""
        self.kind = ""
        self.item_is_empty = False

    def end(self) -> int:
        """End of the last line that belongs to the container."""
        text, at = self.text, self.start
        last = at
        while at < len(text):
            end = text.find("\n", at)
            if end < 0:
                end = len(text)
            line = text[at:end].rstrip()
            if "\t" in line:
                line = line.expandtabs(4)
            if not self._take(line):
                break
            last = self._skip(end) if self.leaf is _Leaf.PARAGRAPH or not line else end
            at = last + 1
        return last

    def _skip(self, end: int) -> int:
        """End of the lines below the one that ends at `end` that are of no interest.

        Below a paragraph: its further lines and one-line items; below a blank line: blank lines.
        """
        if self.leaf is not _Leaf.PARAGRAPH:
            blank = _BLANK_LINES.match(self.text, end)
            return blank.end() if blank else end
        lines = _TEXT_LINES[self.kind].match(self.text, end)
        if not lines or lines.end() == end:
            return end
        if self.kind != ">" and (numbers := _ITEM_ABOVE.findall(self.text, *lines.span())):
            self.open = [len(numbers[-1]) + 2]
        last = self.text.rfind("\n", *lines.span())
        self.above = self.text[last : lines.end()].strip("->*+ \t\n")
        return lines.end()

    def _take(self, line: str) -> bool:
        """Add a line; whether it belongs to the container."""
        column, depth = self._matched(line)
        if depth == len(self.open) and self.leaf in _VERBATIM:
            self._continue_verbatim(line, column)
            return True
        first = _first(line, column)
        if first == len(line):
            return self._take_blank(depth)
        opened, column, first = self._open_containers(line, column, first, depth)
        if opened < 0:
            return False
        return self._take_text(line, column, first, opened)

    def _matched(self, line: str) -> tuple[int, int]:
        """Column after the marks and indentation of the open containers, and how many matched."""
        column = 0
        first = _first(line, 0)
        for depth, width in enumerate(self.open):
            if width != _QUOTE:
                if first - column >= width:
                    column += width
                elif first < len(line) or width == _CLOSED:
                    return column, depth
            elif first - column < CODE_INDENT and line.startswith(">", first):
                column = first + 1 + line.startswith(" ", first + 1)
                first = _first(line, column)
            else:
                return column, depth
        return min(column, len(line)), len(self.open)

    def _continue_verbatim(self, line: str, column: int) -> None:
        if self.leaf is _Leaf.FENCE:
            first = _first(line, column)
            closing = _CLOSES.match(line, first)
            if closing and first - column < CODE_INDENT and closing[1].startswith(self.fence):
                self.leaf = _Leaf.NONE
        elif self.html_end is BLANK_LINE:
            if not line[column:].strip():
                self.leaf = _Leaf.NONE
        elif self.html_end.search(line, column):
            self.leaf = _Leaf.NONE

    def _take_blank(self, depth: int) -> bool:
        """A blank line closes the leaf, quotes it does not mark, and an item without content."""
        self.leaf = _Leaf.NONE
        if depth < len(self.open) and self.open[depth] == _QUOTE:
            del self.open[depth:]
        if self.item_is_empty and 0 < depth == len(self.open):
            self.open[-1] = _CLOSED
        self.item_is_empty = False
        return bool(self.open)

    def _open_containers(
        self, line: str, column: int, first: int, depth: int
    ) -> tuple[int, int, int]:
        """Open the quotes and items that a line starts.

        How many containers the line is in then (-1 if it belongs to none of them), the column after
        their marks, and that of the first character there.
        """
        while first - column < CODE_INDENT and depth < _DEEPEST and line[first] in _OPENERS:
            in_paragraph = self.leaf is _Leaf.PARAGRAPH and depth == len(self.open)
            mark = _mark(line, column, first, in_paragraph=in_paragraph)
            if not mark:
                break
            if depth == 0:
                if self.open and mark.kind != self.kind:
                    return -1, column, first
                self.kind = mark.kind
            self.open[depth:] = [mark.width]
            depth += 1
            self.leaf = _Leaf.NONE
            column = mark.after
            first = _first(line, column)
            if first >= len(line):
                break
        return depth, column, first

    def _take_text(self, line: str, column: int, first: int, depth: int) -> bool:
        """Add what follows the marks of the first `depth` containers; whether it belongs here."""
        if first >= len(line):
            self.item_is_empty = self.open[-1] != _QUOTE
            return True
        self.item_is_empty = False
        whole = depth == len(self.open)
        leaf = self._leaf_after(line, column, first, whole=whole)
        if not whole:
            if leaf is _Leaf.PARAGRAPH and self.leaf is _Leaf.PARAGRAPH:
                return True
            if depth == 0:
                return False
            del self.open[depth:]
        self.leaf = leaf
        self.above = line[first:]
        return True

    def _leaf_after(self, line: str, column: int, first: int, *, whole: bool) -> _Leaf:
        """The leaf that is open after a line; `whole` if all containers go on."""
        in_paragraph = self.leaf is _Leaf.PARAGRAPH
        if first - column >= CODE_INDENT:
            return _Leaf.PARAGRAPH if in_paragraph else _Leaf.NONE
        text = _Leaf.TABLE if whole and self.leaf is _Leaf.TABLE else _Leaf.PARAGRAPH
        if line[first] not in _MARKS:
            return text
        if whole and in_paragraph:
            if starts_table(self.above, line, first):
                return _Leaf.TABLE
            if SETEXT.match(line, first):
                return _Leaf.NONE
        if ATX.match(line, first) or RULE.match(line, first):
            return _Leaf.NONE
        return self._verbatim_after(line, first) or text

    def _verbatim_after(self, line: str, first: int) -> _Leaf | None:
        """The fence or HTML block that is open after the line that starts it; None without one."""
        if fence := FENCE.match(line, first):
            self.fence = fence[1] or fence[3]
            return _Leaf.FENCE
        in_paragraph = self.leaf is _Leaf.PARAGRAPH
        if end := html_end(line, first, in_paragraph=in_paragraph):
            self.html_end = end
            ends_here = end is not BLANK_LINE and end.search(line, first)
            return _Leaf.NONE if ends_here else _Leaf.HTML
        return None


def _first(line: str, column: int) -> int:
    """Column of the first character at or after `column` that is no space; the end without one."""
    if not line.startswith(" ", column):  # most often
        return column
    return len(line) - len(line[column:].lstrip(" "))


class _ContainerMark(NamedTuple):
    """Marker that opens a container: its kind, its width with white space, the column after it."""

    kind: str
    width: int
    after: int


def _mark(line: str, column: int, first: int, *, in_paragraph: bool) -> _ContainerMark | None:
    """The mark of a quote or item at `first`, in a container whose content starts at `column`."""
    if line[first] == ">":
        return _ContainerMark(">", _QUOTE, first + 1 + line.startswith(" ", first + 1))
    if line[first] == line[-1] and RULE.match(line, first):
        return None
    item = ITEM.match(line, first)
    if not item or (in_paragraph and not may_interrupt(item)):
        return None
    kind, gap = item.group("kind", "gap")
    after = item.end("kind") + (len(gap) if gap and len(gap) <= CODE_INDENT else 1)
    return _ContainerMark(kind, after - column, min(after, len(line)))
