"""Edges of a piece of text: at a sentence, or inside a table, a code block or a sentence."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from operator import attrgetter
from typing import Literal, NamedTuple

import regex

from rag_nodes.text.formats import Format, blocks_of
from rag_nodes.text.markdown import Kind
from rag_nodes.text.sentences import sentence_bounds
from rag_nodes.text.spans import Span, trimmed

Inside = Literal["word", "line", "sentence"]
"""Unit that is split in two; a line only where lines matter, as in tables and code."""

_AROUND = 2000
"""Characters on each side of a split in which its paragraph is looked for."""
_IN_A_WORD = regex.compile(
    r"(?V1)[[\p{Alphabetic}\p{M}\p{N}]"
    r"--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"
)
"""Characters of words in scripts that put blanks between them."""
_ROW = regex.compile(r"[ \t]*\|")


class Edges(NamedTuple):
    """Elements that the start and the end of a piece split in two; None if they split nothing."""

    start: Inside | None = None
    end: Inside | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """`begins inside a word`, `ends inside a sentence`; nothing where nothing is split."""
        sides = (("begins", self.start), ("ends", self.end))
        return tuple(f"{verb} inside a {inside}" for verb, inside in sides if inside)


class EdgeFinder:
    """Finds what pieces of one text split in two.

    The text is scanned for code once; each piece then takes the work of two paragraphs, however
    long the text is.
    """

    def __init__(self, text: str, text_format: Format) -> None:
        self._text = text
        self._format = text_format

    def of(self, span: Span) -> Edges:
        """Return what the piece `span` splits in two, apart from white space at its edges."""
        piece = trimmed(self._text, *span)
        return Edges(self._cut_at(piece.start), self._cut_at(piece.end))

    @cached_property
    def _code(self) -> list[Span]:
        blocks = blocks_of(self._text, self._format)
        return [Span(block.start, block.end) for block in blocks if block.kind is Kind.CODE]

    def _cut_at(self, at: int) -> Inside | None:
        text = self._text
        if not 0 < at < len(text):
            return None
        if _IN_A_WORD.match(text[at - 1]) and _IN_A_WORD.match(text[at]):
            return "word"
        line = _line(text, at)
        if _ROW.match(text, line.start, line.end) or self._in_code(line):
            apart = not text[line.start : at].strip() or not text[at : line.end].strip()
            return None if apart else "line"
        return "sentence" if in_sentence(text, at) else None

    def _in_code(self, line: Span) -> bool:
        block = bisect_left(self._code, line.start + 1, key=attrgetter("end"))
        return block < len(self._code) and self._code[block].start < line.end


def _line(text: str, at: int) -> Span:
    """The line of an offset; where that is the end of a line, this line."""
    end = text.find("\n", at)
    return Span(text.rfind("\n", 0, at) + 1, end if end >= 0 else len(text))


def in_sentence(text: str, at: int) -> bool:
    """Return True if a sentence begins before an offset and ends behind it."""
    low, high = max(0, at - _AROUND), min(len(text), at + _AROUND)
    low = max(low, text.rfind("\n\n", low, at) + 1)
    blank = text.find("\n\n", at, high)
    starts, ends = sentence_bounds(text, low, high if blank < 0 else blank)
    sentence = bisect_left(starts, at) - 1
    return sentence >= 0 and ends[sentence] > at
