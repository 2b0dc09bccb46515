"""Lines of all pages in, one Markdown text out: headings, paragraphs, list items, rows."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from rag_nodes.readers.markup import heading, markdown_table, table_cell
from rag_nodes.readers.pdf.joints import Joint, Vocabulary, joint
from rag_nodes.readers.pdf.links import linked, without_seam
from rag_nodes.text.superscripts import lowered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rag_nodes.readers.pdf.layout import Line, Measures, PageHeading

PageBlockKind = Literal["heading", "text", "item", "rows", "table"]
LineRelation = Literal["join", "newline", "break"]

LOOSE = 1.45
"""Multiple of the line pitch of the document above which a gap parts two paragraphs."""
ROW_LOOSE = 2.2
"""The same between two rows of a table or two lines of code."""
DEEPEST_INDENT = 40
"""Blanks an indented line of code may get."""
FIRST_ORDINALS = 2
"""Numbers up to which an ordinal alone proves no list item: "in chapter\n2. " is a sentence."""
INDENT = 0.8
"""Font sizes a first line must stand right of its block to be indented."""
SPARE = 2.0
"""Characters of room beyond the next word before a line break counts as meant."""

_BULLET = re.compile("[•‣▪◦●○■□∙➢✓\u2043]\\s*(?=\\S)")
_DASH = re.compile("[-\u2013\u2014*\u00b7]\\s+(?=\\S)")
_ORDINAL = re.compile(r"(?:\(?(?=\d+[.)])|\[(?=\d+\]))(\d{1,4})[.)\]]\s+\S")
_LETTERED = re.compile(r"\((?:[a-z]|[ivx]{1,4})\)\s+\S")
_SENTENCE_END = re.compile(
    "[.!?:;…。\uff01\uff1f\uff1a\uff1b」』\uff09][\"'”\u2019»)\\]\\d]*$"  # fullwidth ! ? : ; )
)
_CONTENTS = re.compile(r"\S \.\.\. \w+$")
_CJK_START = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff、。]")


@dataclass(slots=True, kw_only=True)
class PageBlock:
    """Text between two blank lines, or one list item, its bullet included.

    "rows" are lines that keep their ends. A block is `full` where its last line runs to the right
    edge, so that it may continue.
    """

    kind: PageBlockKind
    text: str
    left: float
    last: Line
    level: int = 0
    full: bool = False


def ends_sentence(text: str) -> bool:
    """Return True if a text ends as sentences do, footnote marks and quotes after it included."""
    return _SENTENCE_END.search(lowered(text[-8:])) is not None


def may_follow(block: PageBlock, text: str) -> bool:
    """Return True if `text`, first on its page, column or block, clearly continues `block`."""
    if block.kind not in {"text", "item"} or ends_sentence(block.text):
        return False
    return text[0].islower() or (block.full and _CJK_START.match(text) is not None)


@dataclass(slots=True)
class Composer:
    """Makes blocks of the lines of one page after another; numbering of lists goes on."""

    measures: Measures
    vocabulary: Vocabulary
    _ordinal: int = field(default=0, init=False)
    _edges: dict[int, tuple[float, float]] = field(default_factory=dict, init=False)

    def compose(self, lines: Sequence[Line], headings: Sequence[PageHeading]) -> list[PageBlock]:
        """Make the blocks of one page, of lines in reading order."""
        self._edges = _block_edges(lines)
        starts = {heading.start: heading for heading in headings}
        blocks: list[PageBlock] = []
        index = 0
        while index < len(lines):
            if heading := starts.get(index):
                blocks.append(self._heading(lines[index : heading.stop], heading.level))
                index = heading.stop
            else:
                self._add(blocks, lines[index])
                index += 1
        return blocks

    def _heading(self, lines: Sequence[Line], level: int) -> PageBlock:
        text = lines[0].text
        for above, line in pairwise(lines):
            # "Chapter 1" above a larger title is no line that runs on, whatever the script.
            runs_on = abs(above.size - line.size) < above.size / 10
            text = self._glued(text, line.text) if runs_on else f"{text} {line.text}"
        return PageBlock(kind="heading", text=text, level=level, left=lines[0].left, last=lines[-1])

    def _add(self, blocks: list[PageBlock], line: Line) -> None:
        if line.cells:
            blocks.append(self._block("table", self._table(line), line))
            return
        previous = blocks[-1] if blocks else None
        text = linked(line)
        marker = self._item_text(line, text, previous)
        if marker is not None:
            blocks.append(self._block("item", marker, line))
            return
        relation = self._relation(previous, line)
        if previous is None or relation == "break":
            kind: PageBlockKind = "rows" if self._keeps_lines(line) else "text"
            blocks.append(self._block(kind, text, line))
            return
        if relation == "newline":
            previous.text += "\n" + _indent(line, previous.left) + text
        else:
            previous.text = self._glued(previous.text, text)
        previous.last, previous.full = line, self._is_full(line)

    def _block(self, kind: PageBlockKind, text: str, line: Line) -> PageBlock:
        return PageBlock(kind=kind, text=text, left=line.left, last=line, full=self._is_full(line))

    def _glued(self, before: str, after: str) -> str:
        before, after = without_seam(before, after)
        drop, glue = joint(before, after, self.vocabulary)
        return before[: len(before) - drop] + glue + after

    def _table(self, line: Line) -> str:
        """Return a table in Markdown, words that were broken in its cells rejoined."""
        rows = ((reduce(self._glued, cell.split("\n")) for cell in row) for row in line.cells)
        cells = [[table_cell(cell) for cell in row] for row in rows]
        return markdown_table(cells, part=line.part)

    def _item_text(self, line: Line, text: str, previous: PageBlock | None) -> str | None:
        """Return the text of a list item with a Markdown bullet; None if it is no item."""
        if match := _BULLET.match(text):
            return "- " + text[match.end() :]
        starts_anew = (
            previous is None
            or previous.last.block != line.block
            or previous.kind in {"item", "heading"}
            or ends_sentence(previous.text)
        )
        if match := _DASH.match(text):
            return "- " + text[match.end() :] if starts_anew else None
        if match := _ORDINAL.match(line.text):
            number = int(match.group(1))
            starts_anew = starts_anew or number == self._ordinal + 1 > FIRST_ORDINALS
            if starts_anew and number in {1, self._ordinal + 1}:
                self._ordinal = number
                return text
        return text if starts_anew and _LETTERED.match(line.text) else None

    def _relation(self, previous: PageBlock | None, line: Line) -> LineRelation:
        if previous is None or previous.kind in {"heading", "table"}:
            return "break"
        above = previous.last
        if previous.kind == "rows" or self._keeps_lines(line):
            both = previous.kind == "rows" and self._keeps_lines(line)
            return "newline" if both and self._is_near(above, line, loose=ROW_LOOSE) else "break"
        if above.block != line.block or above.upright != line.upright:
            return "join" if self._flows_on(previous, line) else "break"
        return self._within_block(previous, line)

    def _within_block(self, previous: PageBlock, line: Line) -> LineRelation:
        above = previous.last
        if line.baseline > above.baseline and not self._is_near(above, line):
            return "break"
        if previous.kind == "item" and line.left > previous.left + 1:
            return "join"  # the lines of an item hang below its text, not below its number
        ended = ends_sentence(previous.text)
        if ended and self._is_indented(line) and not self._is_indented(above):
            return "break"
        if line.text[0].islower() or not self._broke_on_purpose(above, line):
            return "join"
        return "break" if ended else "newline"

    def _flows_on(self, previous: PageBlock, line: Line) -> bool:
        above = previous.last
        if abs(above.size - line.size) > above.size / 10 or above.bold != line.bold:
            return False
        return may_follow(previous, line.text) or self._runs_on_below(previous, line)

    def _runs_on_below(self, previous: PageBlock, line: Line) -> bool:
        """Return True for lines of one paragraph that the PDF library put into two blocks."""
        above = previous.last
        reaches_edge = above.right > self._edges[line.block][1] - SPARE * line.size
        beneath = reaches_edge and above.left < self._edges[line.block][1]
        return beneath and self._is_near(above, line) and not ends_sentence(previous.text)

    def _keeps_lines(self, line: Line) -> bool:
        contents = _CONTENTS.search(line.text) is not None
        return line.row or contents or (line.mono and not self.measures.mono)

    def _is_near(self, above: Line, below: Line, *, loose: float = LOOSE) -> bool:
        step = below.baseline - above.baseline
        usual = self.measures.pitch * max(above.size, below.size)
        return 0 < step <= loose * usual

    def _is_indented(self, line: Line) -> bool:
        return line.left - self._edges[line.block][0] > INDENT * line.size

    def _is_full(self, line: Line) -> bool:
        left, right = self._edges[line.block]
        return line.right > right - 0.05 * (right - left) - line.size

    def _broke_on_purpose(self, above: Line, below: Line) -> bool:
        """Return True if the first word of the next line would have fitted on this line."""
        character = (below.right - below.left) / max(1, len(below.text))
        word = len(below.text.split(maxsplit=1)[0]) * character
        room = self._edges[above.block][1] - above.right
        return above.text[-1] != "-" and room > word + SPARE * character


def _indent(line: Line, left: float) -> str:
    """Rebuild the indentation of code from where its line starts."""
    if not line.mono:
        return ""
    character = (line.right - line.left) / max(1, len(line.text))
    return " " * min(DEEPEST_INDENT, max(0, round((line.left - left) / max(character, 1.0))))


def _block_edges(lines: Sequence[Line]) -> dict[int, tuple[float, float]]:
    lefts: dict[int, list[float]] = defaultdict(list)
    rights: dict[int, list[float]] = defaultdict(list)
    for line in lines:
        lefts[line.block].append(line.left)
        rights[line.block].append(line.right)
    return {block: (min(lefts[block]), max(rights[block])) for block in lefts}


_MARKUP = re.compile(
    r"^((?: {0,3}(?:[-*+] |>|\d{1,9}[.)] ))* {0,3})(?=#{1,6}(?:\s|$)|`{3}|~{3}|(?:=+|-+)[ \t]*$"
    r"|<(?:!--|\?|![A-Z\[]|(?:script|pre|style|textarea)\b))",
    re.MULTILINE | re.IGNORECASE,
)
"""Line starts that would make a heading, or hide the headings after them."""


def assemble(
    pages: Iterable[Sequence[PageBlock]], vocabulary: Vocabulary
) -> tuple[str, tuple[int, ...]]:
    """Join the blocks of the pages into one text, and say at which offset each page starts.

    Headings become ATX headings between blank lines. Other lines that Markdown would take for a
    heading, a heading's underline, a fence or an HTML block get a backslash, as Markdown has it:
    the one character that the text has and the page has not. A paragraph that clearly runs across a
    page break is joined there, even inside a word.

    `text[starts[i]:starts[i + 1]]` is what page i + 1 says. A page without text repeats the start
    of the next one.
    """
    parts: list[str] = []
    length = 0
    starts: list[int] = []
    waiting = 0
    previous: PageBlock | None = None
    for blocks in pages:
        waiting += 1
        for index, block in enumerate(blocks):
            (drop, glue), text = _attach(previous, block, vocabulary, first=index == 0)
            if drop:
                parts[-1] = parts[-1][:-drop]
            parts += (glue, text)
            length += len(glue) - drop
            if index == 0:
                starts += [length] * waiting
                waiting = 0
            length += len(text)
            previous = block
    starts += [length] * waiting
    return "".join(parts), tuple(starts)


def _attach(
    previous: PageBlock | None, block: PageBlock, vocabulary: Vocabulary, *, first: bool
) -> tuple[Joint, str]:
    """Return the characters between two blocks, and the text of the second."""
    if previous is None:
        return Joint(0, ""), _rendered(block)
    if first and block.kind == "text" and may_follow(previous, block.text):
        return joint(previous.text, block.text, vocabulary), _escaped(block.text, start=1)
    items = previous.kind == block.kind == "item"
    goes_on = items or block.last.part > 1
    return Joint(0, "\n" if goes_on else "\n\n"), _rendered(block)


def _rendered(block: PageBlock) -> str:
    if block.kind == "heading":
        return heading(block.level, block.text)
    return block.text if block.kind == "table" else _escaped(block.text)


def _escaped(text: str, *, start: int = 0) -> str:
    """Put a backslash before what would be markup; `start` skips the middle of a line."""
    escaped = _MARKUP.sub(r"\1\\", text)
    if start and escaped[:1] != text[:1]:
        return text[0] + _MARKUP.sub(r"\1\\", text[1:])
    return escaped
