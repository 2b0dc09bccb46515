"""Text to units of reading: sentences, rows and lines, and parts of what goes on for longer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import regex

from rag_nodes.text.graphemes import boundary_at_or_before
from rag_nodes.text.markdown import Kind
from rag_nodes.text.packing import BY_LINE, Packer
from rag_nodes.text.spans import Span, trimmed

LONGEST = 400
"""Letters from which a sentence is cut: speech without marks, or a script without them, is none."""
PART = 200
"""Letters of the parts it is cut in, about."""
SHORTEST_LINES = 100
"""Letters that lines of code, lists and tables have at least together: a brace is no thought."""
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


class Unit(NamedTuple):
    """What is read as a whole.

    Attributes:
        span: which characters.
        headings: under which it stands, outermost first, as far as the text shows them.
    """

    span: Span
    headings: tuple[str, ...]


def units_in(text: str, language: str) -> Iterator[Unit]:
    """The units of a text in order, disjoint, each trimmed of blank space.

    A heading is no unit of its own: it belongs to what follows it.

    Args:
        text: any string.
        language: ISO 639-1 code, for the rules of sentences.
    """
    packer = Packer(text, language=language)
    above = packer.headings
    for span in _spans(packer):
        yield Unit(span, above.path_at(span.start) if above.headings else ())


def _spans(packer: Packer) -> Iterator[Span]:
    heading: Span | None = None
    for block in packer.blocks:
        if block.kind is Kind.HEADING:
            own = Span(block.start, block.end)
            if heading is not None and heading.union(own).length > LONGEST:
                yield heading  # a table of contents, of which most is followed by nothing
                heading = None
            heading = own if heading is None else heading.union(own)
            continue
        whole: Iterable[Span] = packer.units_of(block)
        for unit in _grouped(whole) if block.kind in BY_LINE else whole:
            short = unit.length * _DENSE_LETTERS <= LONGEST
            for part in (unit,) if short else _parts(packer.text, unit):
                yield part if heading is None else heading.union(part)
                heading = None
    if heading is not None:
        yield heading


def letters(text: str) -> int:
    """The length of a text as if it were written in an alphabet."""
    if text.isascii():
        return len(text)
    return len(text) + (_DENSE_LETTERS - 1) * len(_DENSE_LETTER.findall(text))


def _grouped(lines: Iterable[Span]) -> Iterator[Span]:
    """Lines in groups that are long enough to be read, the last of them apart."""
    group: Span | None = None
    for line in lines:
        group = line if group is None else group.union(line)
        if group.length >= SHORTEST_LINES:
            yield group
            group = None
    if group is not None:
        yield group


def _parts(text: str, unit: Span) -> Iterator[Span]:
    """The unit, or about equal parts of it where it is too long."""
    size = letters(unit.of(text))
    if size <= LONGEST:
        yield unit
        return
    number = -(-size // PART)
    length = unit.length / number
    cuts = [unit.start]
    for cut in range(1, number):
        ideal, reach = round(unit.start + cut * length), round(length / 3)
        cuts.append(_cut(text, ideal, reach, cuts[-1]))
    for low, high in pairwise([*cuts, unit.end]):
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
