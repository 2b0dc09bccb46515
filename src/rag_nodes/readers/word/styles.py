"""The styles of a Word file in, what a paragraph of each style is out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_nodes.readers.word.names import W, number_of, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element as Element

BODY_LEVEL = 9
"""`w:outlineLvl` of text that is no heading; 0 to 8 are headings of level 1 to 9."""
_LONGEST_CHAIN = 20
"""Styles that may be based on one another; a chain that long is a circle."""

_HEADING = re.compile(
    r"(?:heading|überschrift|berschrift|titre|título|titulo|titolo|kop|rubrik|overskrift"
    r"|otsikko|nagłówek|nadpis|заголовок|見出し|标题|標題|제목)\s*([1-9])",
    re.IGNORECASE,
)
_CONTENTS = re.compile(r"toc\s*(?:[1-9]|heading)|contents\s*(?:[1-9]|heading)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Style:
    """Style as the file states it; the rest comes from the style that it is based on."""

    name: str
    based_on: str | None
    outline: int | None
    list_id: int | None
    list_level: int | None
    alignment: str | None


class Styles:
    """Kinds of paragraphs, by the id of their style."""

    def __init__(self, root: Element | None) -> None:
        elements = [] if root is None else root.findall(W + "style")
        self._styles = {element.get(W + "styleId", ""): _style(element) for element in elements}
        self._levels: dict[str, int | None] = {}

    def heading_level(self, style: str | None) -> int | None:
        """Return the level of a heading style from 1 on, by name or outline level; None for others.

        Word keeps the English name of its own styles in every language; the ids differ, and other
        programs translate the names too.
        """
        if style is None:
            return None
        if style not in self._levels:
            self._levels[style] = self._heading_level(style)
        return self._levels[style]

    def list_of(self, style: str | None) -> tuple[int | None, int | None]:
        """Return the list that paragraphs of a style belong to, and their level in it."""
        for link in self._chain(style):
            if link.list_id is not None:
                return link.list_id, link.list_level
        return None, None

    def is_raised(self, style: str | None) -> bool:
        """Return True for a style of superscripts."""
        stated = (link.alignment for link in self._chain(style) if link.alignment)
        return next(stated, None) == "superscript"

    def is_contents(self, style: str | None) -> bool:
        """Return True for lines of a table of contents, which Word makes from the headings."""
        return style is not None and _CONTENTS.fullmatch(self._name(style)) is not None

    def is_title(self, style: str | None) -> bool:
        """Return True for the title of the document."""
        return style is not None and self._name(style).lower() == "title"

    def _name(self, style: str) -> str:
        return self._styles[style].name if style in self._styles else style

    def _heading_level(self, style: str) -> int | None:
        if style not in self._styles:  # a file without its styles still names them
            match = _HEADING.fullmatch(style)
            return int(match.group(1)) if match else None
        for link in self._chain(style):
            if link.outline is not None:
                return link.outline + 1 if link.outline < BODY_LEVEL else None
            if match := _HEADING.fullmatch(link.name):
                return int(match.group(1))
        return None

    def _chain(self, style: str | None) -> Iterator[Style]:
        """Yield the style and those it is based on."""
        for _ in range(_LONGEST_CHAIN):
            if style is None or style not in self._styles:
                return
            yield self._styles[style]
            style = self._styles[style].based_on


def _style(element: Element) -> Style:
    properties = element.find(W + "pPr")
    return Style(
        name=(value_of(element, "name") or "").strip(),
        based_on=value_of(element, "basedOn"),
        outline=number_of(properties, "outlineLvl"),
        list_id=number_of(properties, "numPr", "numId"),
        list_level=number_of(properties, "numPr", "ilvl"),
        alignment=value_of(element, "rPr", "vertAlign"),
    )
