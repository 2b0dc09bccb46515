"""Lines with right-to-left letters: glyphs as they are printed in, glyphs as they are read out.

Engines give such lines in half an order. Places on the page are certain, so a line is sorted by
them, and the Unicode Bidirectional Algorithm (UAX 9) is run backwards with the classes that matter:
letters of both directions, numbers with their separators, and what is neutral. Libraries such as
python-bidi go from the order of reading to that of print only.
"""

from __future__ import annotations

import re
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import bidirectional, combining

from rag_nodes.readers.pdf.engines.flow import BREAK, RIGHT_TO_LEFT, FlowLine, GlyphRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GAP = 0.11
"""Font sizes between two glyphs from which a blank is between them."""
WIDER = 1.5
"""Narrowest blanks of a line that a gap between two cells is wide."""
CLEAR = 2
"""Letters of one direction for each of the other that tell the direction of a line."""
NO_WIDTH = 0.01
"""Font sizes up to which a letter shares the box of its neighbour, as in a ligature."""

_KINDS = {"L": "L", "R": "R", "AL": "R", "EN": "1", "AN": "1", "CS": "s", "WS": " "}
_NUMBER = "%*1+(?:s1+)*%*"
_NUMBERS = re.compile(_NUMBER)
_GROUP = r"(?:\([^R()]*\)|\[[^R\[\]]*\])"
_LEFT_TO_RIGHT = re.compile(
    f"(?:{_NUMBER} *)?L(?:(?:{_GROUP}|(?!{_GROUP})[^R])*(?:[L1%]|{_GROUP}))?|{_NUMBER}"
)
"""Words, and numbers and pairs of brackets beside them, stay as they are printed."""
_RIGHT_TO_LEFT_PIECE = re.compile("R(?:[^L]*R)?")
_ENDS = ".,:;!?\u060c\u061b\u061f"
_BRACKETS = "()[]{}<>«»\u2039\u203a"
MIRRORED = str.maketrans(_BRACKETS, ")(][}{><»«\u203a\u2039")


class _Unit(NamedTuple):
    """A letter with its marks, a whole ligature or a blank, where it is printed."""

    text: str
    start: float
    end: float
    run: GlyphRun


def in_reading_order(lines: list[FlowLine]) -> list[FlowLine]:
    """Return the lines, those with right-to-left letters in the order in which they are read."""
    texts = [line.text for line in lines]
    whole = "".join(texts)
    if not RIGHT_TO_LEFT.search(whole):
        return lines
    is_rtl_page = 2 * len(RIGHT_TO_LEFT.findall(whole)) >= sum(map(str.isalpha, whole))
    return [
        _reordered(line, is_rtl_page=is_rtl_page) if RIGHT_TO_LEFT.search(text) else line
        for line, text in zip(lines, texts, strict=True)
    ]


def _reordered(line: FlowLine, *, is_rtl_page: bool) -> FlowLine:
    units = _with_blanks(_units(line))
    is_rtl_line = _is_rtl(units, otherwise=is_rtl_page)
    cells = list(_cells(units))
    read = [
        unit
        for cell in (cells[::-1] if is_rtl_line else cells)
        for unit in _read(cell, is_rtl=_is_rtl(cell, otherwise=is_rtl_line))
    ]
    return FlowLine(list(_runs(read)), line.block)


def _cells(units: Sequence[_Unit]) -> Iterator[Sequence[_Unit]]:
    """Yield pieces of a row, and the blanks between them, which are wider than those of words."""
    blanks = {
        at: (unit.end - unit.start) / unit.run.font.size
        for at, unit in enumerate(units)
        if unit.text == " "
    }
    wide = max(BREAK, WIDER * min(blanks.values(), default=0.0))
    ends = [end for at, width in blanks.items() if width > wide for end in (at, at + 1)]
    for first, last in pairwise([0, *ends, len(units)]):
        yield units[first:last]


def _is_rtl(units: Sequence[_Unit], *, otherwise: bool) -> bool:
    """Return True if letters are read from right to left.

    The sign that ends a sentence stands where reading ends. Without one, the direction of most
    letters counts, or `otherwise` if there are about as many of both.
    """
    kinds = [_kind(unit.text[0]) for unit in units]
    rightwards, leftwards = kinds.count("L"), kinds.count("R")
    if not (rightwards and leftwards):
        return leftwards > 0 or (otherwise and not rightwards)
    ends_left = units[0].text in _ENDS and kinds[1] != "1"
    ends_right = units[-1].text in _ENDS and kinds[-2] != "1"
    if ends_left != ends_right:
        return ends_left
    if max(rightwards, leftwards) < CLEAR * min(rightwards, leftwards):
        return otherwise
    return leftwards > rightwards


def _read(units: Sequence[_Unit], *, is_rtl: bool) -> list[_Unit]:
    """Return the units of a cell as they are read, with the brackets that are meant."""
    is_arabic = any(bidirectional(unit.text[0]) == "AL" for unit in units)
    kinds = "".join(_kind(unit.text[0], is_arabic=is_arabic) for unit in units)
    kinds = _with_pairs(kinds, "R" if is_rtl else "L")
    if is_rtl:
        order = list(_backwards(kinds, 0, len(kinds), _LEFT_TO_RIGHT))
    else:
        order = []
        for piece in _RIGHT_TO_LEFT_PIECE.finditer(kinds):
            order += [(at, False) for at in range(len(order), piece.start())]
            order += _backwards(kinds, *piece.span(), _NUMBERS)
        order += [(at, False) for at in range(len(order), len(kinds))]
    read = [(units[at], is_turned) for at, is_turned in order]
    if not _is_mirrored(read):
        return [unit for unit, _ in read]
    return [
        unit._replace(text=unit.text.translate(MIRRORED)) if is_turned else unit
        for unit, is_turned in read
    ]


def _kind(letter: str, *, is_arabic: bool = False) -> str:
    """Return the kind of a unit; in Arabic, signs before and behind a number are apart from it."""
    if letter in "()[]":
        return letter
    kind = bidirectional(letter)
    if kind in {"ES", "ET"} and not is_arabic:
        return "s" if kind == "ES" else "%"
    return _KINDS.get(kind, "n")


def _with_pairs(kinds: str, own: str) -> str:
    """Return kinds of which brackets around a letter of the line's direction have that one.

    That is rule N0 b of the algorithm: words on both sides of such a bracket are two pieces.
    """
    resolved = list(kinds)
    opened: list[int] = []
    for at, kind in enumerate(kinds):
        if kind in "([":
            opened.append(at)
        elif opened and kinds[opened[-1]] + kind in {"()", "[]"}:
            first = opened.pop()
            if own in kinds[first:at]:
                resolved[first] = resolved[at] = own
    return "".join(resolved)


def _backwards(
    kinds: str, first: int, last: int, stays: re.Pattern[str]
) -> Iterator[tuple[int, bool]]:
    """Yield places from the last to the first, and True; pieces that stay in their order, False."""
    end = last
    for piece in reversed(list(stays.finditer(kinds, first, last))):
        yield from ((at, True) for at in range(end - 1, piece.end() - 1, -1))
        yield from ((at, False) for at in range(*piece.span()))
        end = piece.start()
    yield from ((at, True) for at in range(end - 1, first - 1, -1))


def _units(line: FlowLine) -> list[_Unit]:
    """Return what is printed, from left to right, blanks apart."""
    glyphs = [
        _Unit(text, start, end, run)
        for run in line.runs
        for text, start, end in run.glyphs
        if not text.isspace()
    ]
    bases = [at for at, glyph in enumerate(glyphs) if not _is_attached(glyph)]
    if not bases:
        return glyphs
    attached: dict[int, list[int]] = {at: [] for at in bases}
    for at, glyph in enumerate(glyphs):
        if _is_attached(glyph):
            attached[_base_of(glyphs, at, bases)].append(at)
    units = []
    for base, others in attached.items():
        others.sort(key=lambda at: abs(at - base))
        text = glyphs[base].text + "".join(glyphs[at].text for at in others)
        units.append(glyphs[base]._replace(text=text))
    return sorted(units, key=lambda unit: unit.start + unit.end)


def _base_of(glyphs: Sequence[_Unit], at: int, bases: Sequence[int]) -> int:
    """Return the letter that a mark is printed over, or whose box a letter of a ligature shares.

    The engine lists a mark without width behind its letter.
    """
    glyph = glyphs[at]
    if not combining(glyph.text[0]):
        return min(bases, key=lambda base: abs(glyphs[base].end - glyph.start))
    if not _has_width(glyph):
        return max((base for base in bases if base < at), default=bases[0])
    middle = glyph.start + glyph.end
    return min(bases, key=lambda base: abs(glyphs[base].start + glyphs[base].end - middle))


def _is_attached(glyph: _Unit) -> bool:
    """Return True for a mark, and for a letter of a ligature whose box another one has."""
    return combining(glyph.text[0]) > 0 or not _has_width(glyph)


def _has_width(glyph: _Unit) -> bool:
    return glyph.end - glyph.start > NO_WIDTH * glyph.run.font.size


def _with_blanks(units: Sequence[_Unit]) -> list[_Unit]:
    parted = list(units[:1])
    for before, unit in pairwise(units):
        if unit.start - before.end > GAP * unit.run.font.size:
            parted.append(_Unit(" ", before.end, unit.start, before.run))
        parted.append(unit)
    return parted


def _is_mirrored(read: Sequence[tuple[_Unit, bool]]) -> bool:
    """Return True if brackets of right-to-left text are those that are printed.

    Most files say which bracket is printed; read from the right, it is the other one. Brackets of
    some match as they are.
    """
    shown = [unit.text for unit, is_turned in read if is_turned and unit.text in _BRACKETS]
    return _unmatched(text.translate(MIRRORED) for text in shown) <= _unmatched(shown)


def _unmatched(brackets: Iterator[str] | list[str]) -> int:
    opened: list[str] = []
    unmatched = 0
    for bracket in brackets:
        if _BRACKETS.index(bracket) % 2 == 0:
            opened.append(bracket)
        elif opened and opened[-1].translate(MIRRORED) == bracket:
            opened.pop()
        else:
            unmatched += 1
    return unmatched + len(opened)


def _runs(units: Sequence[_Unit]) -> Iterator[GlyphRun]:
    """Yield the runs of a line again, each with its font."""
    for _, group in groupby(units, key=lambda unit: id(unit.run)):
        same = list(group)
        yield same[0].run.with_glyphs([(unit.text, unit.start, unit.end) for unit in same])
