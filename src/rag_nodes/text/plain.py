"""Blocks of plain text: paragraphs, and titles as reStructuredText underlines them.

A title is one line that begins a paragraph, with a line of one repeated mark below it that is at
least as long; with the same line above it too, it is another style. The first style a text uses is
its highest level, the next one the level below, and so on:
https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html#sections
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rag_nodes.text.markdown.blocks import LONGEST_HEADING, Block, Kind
from rag_nodes.text.markdown.lines import line_end, visible_end
from rag_nodes.text.patterns import compiled
from rag_nodes.text.spans import Span, trimmed

_DEEPEST = 6
_SHORTEST = 3
"""Marks of an underline; two are the mark of a signature, or an ellipsis."""
_GAP = compiled(r"\n(?:[^\S\n]*+\n)++")
"""The end of a paragraph and the blank lines below it."""
_RULER = compiled(r"([!-/:-@\[-`{-~])\1*+[ \t]*+(?=\n|\Z)")


class _Title(NamedTuple):
    """A title with its lines.

    Attributes:
        style: its mark, twice where it is above the title too.
        title: its words.
        end: offset after the underline.
    """

    style: str
    title: Span
    end: int


def scan_plain_blocks(text: str) -> list[Block]:
    """The headings and paragraphs of a plain text, in order, disjoint.

    Together they hold every visible character. Time is linear in the length of the text.
    """
    if "\r" in text:  # every offset stays as it is
        text = text.replace("\r\n", " \n").replace("\r", "\n")
    styles: list[str] = []
    blocks: list[Block] = []
    for start, end in _paragraphs(text):
        at = start
        while title := _title(text, at, end):
            if title.style not in styles:
                styles.append(title.style)
            level = min(styles.index(title.style) + 1, _DEEPEST)
            stop = visible_end(text, title.end)
            blocks.append(Block(Kind.HEADING, at, stop, level, title.title))
            at = title.end + 1
        if at < end:
            blocks.append(Block(Kind.PARAGRAPH, at, end))
    return blocks


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Start of the first line and end of the last visible character of each paragraph."""
    stop = len(text.rstrip())
    first = len(text) - len(text.lstrip())
    at = text.rfind("\n", 0, first) + 1
    for gap in _GAP.finditer(text, first, stop):
        yield at, visible_end(text, gap.start())
        at = gap.end()
    if at < stop:
        yield at, stop


def _title(text: str, at: int, end: int) -> _Title | None:
    """The title that the paragraph `at:end` begins with."""
    above = _RULER.match(text, at, end)
    line = above.end() + 1 if above else at
    first_end = line_end(text, line)
    below = _RULER.match(text, first_end + 1, end)
    if not below or (above and below.group().rstrip() != above.group().rstrip()):
        return None
    if not above and text[line].isspace():
        return None  # an example of a title, inside of what is indented
    title = Span(line, visible_end(text, first_end))
    run = len(below.group().rstrip())
    if not _SHORTEST <= run >= title.length or title.length > LONGEST_HEADING:
        return None
    words = trimmed(text, *title)
    if not any(map(str.isalnum, words.of(text))):
        return None
    return _Title(below.group(1) * (2 if above else 1), words, below.end())
