"""Text to units of reading: whole sentences, and parts of what goes on for longer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import regex

from rag_nodes.text.graphemes import boundary_at_or_before
from rag_nodes.text.sentences import sentence_bounds
from rag_nodes.text.spans import Span, trimmed

LONGEST = 300
"""Letters from which a sentence is cut: a table, a list or speech without marks is no unit."""
PART = 150
"""Letters of the parts it is cut in, about."""
_DENSE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}"
_DENSE_LETTERS = 3
"""Letters that one character of such a script stands for."""
_DENSE_LETTER = regex.compile(f"[{_DENSE}]")
_ENDS = (
    regex.compile(r"\n\s*+"),
    regex.compile(rf"[\p{{Po}}\p{{Pe}}\p{{Pf}}\p{{Pd}}]++(?:\s++|(?=[{_DENSE}]))"),
    regex.compile(r"\s++"),
)
"""What a text is best cut behind: a line, a phrase, a word."""


def unit_spans(text: str, language: str) -> Iterator[Span]:
    """The units of a text in order, disjoint, each trimmed of blank space.

    Args:
        text: any string.
        language: ISO 639-1 code, for the rules of sentences.
    """
    for start, end in zip(*sentence_bounds(text, 0, len(text), language), strict=True):
        short = (end - start) * _DENSE_LETTERS <= LONGEST
        size = 0 if short else letters(text[start:end])
        if size <= LONGEST:
            yield Span(start, end)
        else:
            yield from _parts(text, Span(start, end), -(-size // PART))


def letters(text: str) -> int:
    """The length of a text as if it were written in an alphabet."""
    if text.isascii():
        return len(text)
    return len(text) + (_DENSE_LETTERS - 1) * len(_DENSE_LETTER.findall(text))


def _parts(text: str, span: Span, number: int) -> Iterator[Span]:
    """About equal parts, cut where a line, a phrase or a word ends."""
    length = span.length / number
    cuts = [span.start]
    for cut in range(1, number):
        ideal, reach = round(span.start + cut * length), round(length / 3)
        cuts.append(_cut(text, ideal, reach, cuts[-1]))
    for low, high in pairwise([*cuts, span.end]):
        part = trimmed(text, low, high)
        if part.length:
            yield part


def _cut(text: str, ideal: int, reach: int, floor: int) -> int:
    """The best place to cut near an offset; never inside what is seen as one character."""
    low = max(floor, ideal - reach)
    for ends in _ENDS:
        found = [match.end() for match in ends.finditer(text, low, ideal + reach)]
        if found:
            nearest = min(found, key=lambda at: abs(at - ideal))
            return boundary_at_or_before(text, nearest, floor)
    return boundary_at_or_before(text, ideal, floor)
