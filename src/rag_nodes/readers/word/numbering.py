"""The list definitions of a Word file in, the number that Word shows before a paragraph out.

A DOCX does not hold the numbers of its lists and headings: Word counts when it draws. We count
the same way, as "see 3.2.1" in the text means nothing without them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_nodes.core.numbers import number_in
from rag_nodes.readers.word.names import W, number_of, value_of

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from rag_nodes.readers.word.styles import Styles

LEVELS = 9
"""Levels of a Word list, counted from 0."""
LONGEST_PATTERN = 100
"""Characters of a number format that are used; a longer one is not a number."""
_LONGEST_ROMAN = 3999
"""Largest number that is written in Roman numerals."""
_LONGEST_LETTERS = 26 * 5

_PLACE = re.compile(r"%([1-9])")
_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Level:
    """Level of a list: how it counts, and the pattern that it shows, such as `%1.%2)`."""

    start: int = 1
    kind: str = "decimal"
    pattern: str = ""
    style: str | None = None
    restarts: bool = True
    arabic: bool = False


class Numbering:
    """Counts the paragraphs of every list in the order they are asked for."""

    def __init__(self, root: Element | None, styles: Styles) -> None:
        self._definitions: dict[int, dict[int, Level]] = {}
        self._lists: dict[int, tuple[int, dict[int, int]]] = {}
        self._counts: dict[int, dict[int, int]] = defaultdict(dict)
        self._started: set[tuple[int, int]] = set()
        if root is not None:
            self._read(root, styles)

    def level_of_style(self, list_id: int, style: str | None) -> int:
        """Return the level of a list that is bound to a paragraph style; 0 if none is."""
        levels = self._levels(list_id)
        bound = (at for at, level in levels.items() if style and level.style == style)
        return next(bound, 0)

    def label(self, list_id: int, at: int) -> str:
        """Count one more paragraph and give its number, such as `2.1` or `(b)`; "" for bullets."""
        if list_id not in self._lists:
            return ""
        definition, overrides = self._lists[list_id]
        levels = self._levels(list_id)
        counts = self._counts[definition]
        self._advance(list_id, at, overrides, counts)
        level = levels.get(at, Level())
        if level.kind in {"bullet", "none"}:
            return ""

        def shown(match: re.Match[str]) -> str:
            index = int(match.group(1)) - 1
            place = levels.get(index, Level())
            count = counts.get(index, place.start)
            return str(count) if level.arabic else _number(count, place.kind)

        return _PLACE.sub(shown, level.pattern).strip()

    def _advance(
        self, list_id: int, at: int, overrides: dict[int, int], counts: dict[int, int]
    ) -> None:
        levels = self._levels(list_id)
        if at in overrides and (list_id, at) not in self._started:
            counts[at] = overrides[at]
        else:
            counts[at] = counts[at] + 1 if at in counts else levels.get(at, Level()).start
        self._started.add((list_id, at))
        for deeper in range(at + 1, LEVELS):
            if levels.get(deeper, Level()).restarts:
                counts.pop(deeper, None)

    def _levels(self, list_id: int) -> dict[int, Level]:
        definition = self._lists.get(list_id)
        return {} if definition is None else self._definitions.get(definition[0], {})

    def _read(self, root: Element, styles: Styles) -> None:
        links: dict[int, str] = {}
        for element in root.findall(W + "abstractNum"):
            number = _attribute(element, "abstractNumId")
            self._definitions[number] = _levels(element)
            if link := value_of(element, "numStyleLink"):
                links[number] = link
        for element in root.findall(W + "num"):
            definition = number_of(element, "abstractNumId") or 0
            self._lists[_attribute(element, "numId")] = definition, _overrides(element)
        for number, style in links.items():  # a definition that only names a style with a list
            list_id, _ = styles.list_of(style)
            if list_id in self._lists:
                self._definitions[number] = self._levels(list_id)


def _levels(definition: Element) -> dict[int, Level]:
    return {
        _attribute(element, "ilvl"): Level(
            start=1 if (start := number_of(element, "start")) is None else start,
            kind=value_of(element, "numFmt") or "decimal",
            pattern=(value_of(element, "lvlText") or "")[:LONGEST_PATTERN],
            style=value_of(element, "pStyle"),
            restarts=number_of(element, "lvlRestart") != 0,
            arabic=element.find(W + "isLgl") is not None,
        )
        for element in definition.findall(W + "lvl")
    }


def _overrides(element: Element) -> dict[int, int]:
    starts = (
        (_attribute(override, "ilvl"), number_of(override, "startOverride"))
        for override in element.findall(W + "lvlOverride")
    )
    return {level: start for level, start in starts if start is not None}


def _attribute(element: Element, name: str) -> int:
    number = number_in(element.get(W + name, ""))
    return -1 if number is None else number


def _number(count: int, kind: str) -> str:
    """Return a count as a level writes it; unknown scripts are written in digits."""
    if kind.endswith("Roman") and 0 < count <= _LONGEST_ROMAN:
        text = _roman(count)
    elif kind.endswith("Letter") and 0 < count <= _LONGEST_LETTERS:
        text = chr(ord("A") + (count - 1) % 26) * ((count - 1) // 26 + 1)
    elif kind == "decimalZero":
        return f"{count:02}"
    else:
        return str(count)
    return text.lower() if kind.startswith("lower") else text


def _roman(count: int) -> str:
    letters = []
    for value, letter in _ROMAN:
        times, count = divmod(count, value)
        letters.append(letter * times)
    return "".join(letters)
