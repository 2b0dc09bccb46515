"""What the characters of a text are: Markdown, or plain text in which no mark opens a block."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import PurePath
from typing import Any

from rag_nodes import metadata as keys
from rag_nodes.text.markdown.blocks import Block, scan_blocks
from rag_nodes.text.patterns import compiled
from rag_nodes.text.plain import scan_plain_blocks


class Format(StrEnum):
    """How a text marks its structure."""

    MARKDOWN = "markdown"
    """Headings, fences, lists and tables as in CommonMark and GFM."""
    PLAIN = "plain"
    """Paragraphs, and titles underlined as in reStructuredText; nothing else is a mark."""


_BY_SUFFIX = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mdx", ".mkd"), Format.MARKDOWN),
    **dict.fromkeys((".rest", ".rst"), Format.PLAIN),
}
_SAMPLE = 32_000
"""Characters the format is judged from."""
_MARKDOWN = ("\n\n# ", "\n## ", "\n### ", "\n```", "](")
_TABLE = ("|---", "| ---", "|:-", "| :-")
_OTHER = ("\n.. ", "::\n", ":`")
"""What begins a directive or comment, announces literal text, and names a role, in RST."""
_LINE = compiled(r"\n(([~^\"'+*.=#-])\2{3,}+)[ \t]*+(?=\n)")
_UNDERLINES = frozenset("~^\"'+*.")
"""Marks that underline nothing in Markdown."""


def format_of(text: str, file_name: str = "") -> Format:
    """The format of a text of which nobody says it.

    The suffix decides where it can. Else the marks of Markdown are counted against those of
    reStructuredText; where neither prevail, a file is plain text, and a text without a file is
    Markdown, in which what has no mark is read the same.

    Args:
        text: the text; no more than its beginning is looked at.
        file_name: name of the file it came from; "" where there is none.
    """
    suffix = PurePath(file_name).suffix.lower()
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    sample = "\n\n" + text[:_SAMPLE]
    if "\r" in sample:
        sample = sample.replace("\r\n", "\n").replace("\r", "\n")
    marks = _MARKDOWN + _TABLE if "|" in sample else _MARKDOWN
    balance = sum(map(sample.count, marks)) - sum(map(sample.count, _OTHER))
    balance -= sum(_underlines(sample, line) for line in _LINE.finditer(sample))
    return Format.MARKDOWN if balance > 0 or (balance == 0 and not suffix) else Format.PLAIN


def _underlines(sample: str, line: re.Match[str]) -> bool:
    """Whether a line of one mark belongs to a title as no Markdown has it."""
    run, mark = line.groups()
    above = sample.rfind("\n", 0, line.start())
    title = sample[above + 1 : line.start()]
    if not title.strip() or len(title) > len(run):
        return False
    framed = sample.endswith(f"\n{run}", 0, above)
    return framed or (mark in _UNDERLINES and title[0].isalnum())


def format_in(metadata: Mapping[str, Any], text: str) -> Format:
    """What the metadata of a text say about its format, else what it and its file name show."""
    stated = metadata.get(keys.TEXT_FORMAT)
    if stated in set(Format):
        return Format(stated)
    return format_of(text, str(metadata.get(keys.FILE_NAME) or ""))


def blocks_of(text: str, text_format: Format) -> list[Block]:
    """The blocks of a text, in order, disjoint; together they hold every visible character."""
    return scan_blocks(text) if text_format is Format.MARKDOWN else scan_plain_blocks(text)
