"""Blocks of all pages in, one Markdown text and the start of each page out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.joints import Joint, Vocabulary, joint
from rag_nodes.readers.pdf.paragraphs import may_follow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rag_nodes.readers.pdf.paragraphs import Block

_MARKUP = re.compile(
    r"^((?: {0,3}(?:[-*+] |>|\d{1,9}[.)] ))* {0,3})(?=#{1,6}(?:\s|$)|`{3}|~{3}|(?:=+|-+)[ \t]*$"
    r"|<(?:!--|\?|![A-Z\[]|(?:script|pre|style|textarea)\b))",
    re.MULTILINE | re.IGNORECASE,
)
"""Line starts that would make a heading, or hide the headings after them."""


def assemble(
    pages: Iterable[Sequence[Block]], vocabulary: Vocabulary
) -> tuple[str, tuple[int, ...]]:
    """Join the pages into one text.

    Headings become ATX headings between blank lines. Other lines that Markdown would take for a
    heading, a heading's underline, a fence or an HTML block get a backslash, as Markdown has it:
    the one character that the text has and the page has not. A paragraph that clearly runs
    across a page break is joined there, even inside a word.

    Args:
        pages: the blocks of each page, in order.
        vocabulary: words of the document, for words broken by a page break.

    Returns:
        The text, and the offset at which each page starts: `text[starts[i]:starts[i + 1]]` is
        what page i + 1 says. A page without text repeats the start of the next one.
    """
    parts: list[str] = []
    length = 0
    starts: list[int] = []
    waiting = 0
    previous: Block | None = None
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
    previous: Block | None, block: Block, vocabulary: Vocabulary, *, first: bool
) -> tuple[Joint, str]:
    """Give what goes between two blocks, and the text of the second."""
    if previous is None:
        return Joint(0, ""), _rendered(block)
    if first and block.kind == "text" and may_follow(previous, block.text):
        return joint(previous.text, block.text, vocabulary), _escaped(block.text, start=1)
    items = previous.kind == block.kind == "item"
    goes_on = items or block.last.part > 1
    return Joint(0, "\n" if goes_on else "\n\n"), _rendered(block)


def _rendered(block: Block) -> str:
    if block.kind == "heading":
        return f"{'#' * block.level} {block.text}"
    return block.text if block.kind == "table" else _escaped(block.text)


def _escaped(text: str, *, start: int = 0) -> str:
    """Put a backslash before what would be markup; `start` skips the middle of a line."""
    escaped = _MARKUP.sub(r"\1\\", text)
    if start and escaped[:1] != text[:1]:
        return text[0] + _MARKUP.sub(r"\1\\", text[1:])
    return escaped
