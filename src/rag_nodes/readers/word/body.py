"""The body of a Word file in, blocks of Markdown out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rag_nodes.readers.markup import flat_table, heading, markdown_table, plain_line, table_cell
from rag_nodes.readers.word.names import (
    LEFT_OUT,
    PARAGRAPH,
    TABLE,
    R,
    W,
    inside,
    number_of,
    value_of,
)
from rag_nodes.readers.word.numbering import LEVELS
from rag_nodes.readers.word.styles import BODY_LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.etree import _Element as Element

    from rag_nodes.readers.word.inline import InlineReader
    from rag_nodes.readers.word.numbering import Numbering
    from rag_nodes.readers.word.styles import Styles

DEEPEST = 6
"""Levels of headings in Markdown; Word's 7 to 9 become 6."""
NESTED: Final = (
    "table inside a table cell was flattened into it",
    "tables inside table cells were flattened into their cell",
)
_EMBEDDED: Final = W + "altChunk"
_ORDERED_MARK = 9
"""Digits that a number of a Markdown list may have."""


@dataclass(frozen=True, slots=True)
class BodyBlock:
    """Some lines of Markdown; items of one list follow each other without a blank line."""

    text: str
    item: bool = False


@dataclass(frozen=True, slots=True)
class _ParagraphKind:
    """Heading level of a paragraph, or its list and the level in it, or neither."""

    style: str | None
    level: int | None
    list_id: int | None
    list_level: int


class BodyReader:
    """Blocks of the body, of text boxes and of notes.

    Args:
        styles: styles of the document.
        numbering: its lists.
        inline: reads its paragraphs.
        embedded: returns the Markdown of an embedded document, by the id of its relation; "" if
            there is none that can be read.
    """

    def __init__(
        self,
        styles: Styles,
        numbering: Numbering,
        inline: InlineReader,
        embedded: Callable[[str], str],
    ) -> None:
        self.title: str | None = None
        self._embedded = embedded
        self._styles = styles
        self._numbering = numbering
        self._inline = inline
        self._open_items: list[tuple[int, int]] = []

    def blocks(self, container: Element) -> Iterator[BodyBlock]:
        """Yield the blocks of the body, a cell, a text box or whatever wraps paragraphs."""
        for child in container:
            if child.tag == PARAGRAPH:
                yield from self._paragraph(child)
            elif child.tag == TABLE:
                self._open_items.clear()
                yield from self._table(child)
            elif child.tag == _EMBEDDED:
                self._open_items.clear()
                if text := self._embedded(child.get(R + "id", "")):
                    yield BodyBlock(text)
            elif child.tag not in LEFT_OUT and not _is_contents(child):
                yield from self.blocks(child)

    def flat_text(self, container: Element) -> str:
        """Return the text of a table cell or a note: a line per paragraph, no headings."""
        lines: list[str] = []
        for child in container:
            if child.tag == PARAGRAPH:
                lines += self._flat_paragraph(child)
            elif child.tag == TABLE:
                self._inline.losses[NESTED] += 1
                lines.append(flat_table(table_rows(child, self.flat_text)))
            elif child.tag == _EMBEDDED:
                lines.append(self._embedded(child.get(R + "id", "")))
            elif child.tag not in LEFT_OUT:
                lines.append(self.flat_text(child))
        return "\n".join(filter(None, lines))

    def _flat_paragraph(self, paragraph: Element) -> list[str]:
        kind = self._kind(paragraph)
        text, boxes = self._inline.read(paragraph)
        label = None
        if text.strip() and kind.list_id is not None:
            label = self._numbering.label(kind.list_id, kind.list_level) or "-"
        return [f"{label} {text}" if label else text, *map(self.flat_text, boxes)]

    def _paragraph(self, paragraph: Element) -> Iterator[BodyBlock]:
        kind = self._kind(paragraph)
        if self._styles.is_contents(kind.style):
            return
        text, boxes = self._inline.read(paragraph)
        if text.strip():
            yield self._block(kind, text)
        for box in boxes:
            yield from self.blocks(box)

    def _block(self, kind: _ParagraphKind, text: str) -> BodyBlock:
        label = ""
        if kind.list_id is not None:
            label = self._numbering.label(kind.list_id, kind.list_level)
        if kind.level is not None:
            self._open_items.clear()
            title = " ".join(f"{label} {text}".split())
            return BodyBlock(heading(min(kind.level, DEEPEST), title))
        if self._styles.is_title(kind.style):
            self._open_items.clear()
            title = " ".join(text.split())
            self.title = self.title or title
            return BodyBlock(heading(1, title))
        lines = [line for line in map(plain_line, text.splitlines()) if line]
        if kind.list_id is None:
            self._open_items.clear()
            return BodyBlock("\n".join(lines))
        return BodyBlock(self._item(kind.list_level, label, lines), item=True)

    def _item(self, level: int, label: str, lines: list[str]) -> str:
        """Return a list item, indented to where the text of the item above it starts."""
        while self._open_items and self._open_items[-1][0] >= level:
            self._open_items.pop()
        indent = self._open_items[-1][1] if self._open_items else 0
        mark = label if _is_markdown_number(label) else "-"
        if label and mark == "-":  # a), iv., 2.1: not what Markdown counts with
            lines = [f"{label} {lines[0]}", *lines[1:]]
        inner = indent + len(mark) + 1
        self._open_items.append((level, inner))
        first, *rest = lines
        return "\n".join(
            [f"{' ' * indent}{mark} {first}", *(f"{' ' * inner}{line}" for line in rest)]
        )

    def _table(self, table: Element) -> Iterator[BodyBlock]:
        frame = only_cell(table)
        if frame is not None:
            yield from self.blocks(frame)
        elif text := markdown_table(table_rows(table, self.flat_text)):
            yield BodyBlock(text)

    def _kind(self, paragraph: Element) -> _ParagraphKind:
        properties = paragraph.find(W + "pPr")
        style = value_of(properties, "pStyle")
        own = number_of(properties, "outlineLvl")
        level = self._styles.heading_level(style)
        if own is not None:
            level = own + 1 if own < BODY_LEVEL else None
        list_id, list_level = self._list(properties, style)
        return _ParagraphKind(style, level, list_id, list_level)

    def _list(self, properties: Element | None, style: str | None) -> tuple[int | None, int]:
        list_id, at = self._styles.list_of(style)
        own_id = number_of(properties, "numPr", "numId")
        own_at = number_of(properties, "numPr", "ilvl")
        if own_id is not None:
            list_id, at = own_id, own_at or 0
        if not list_id:  # list 0 takes a paragraph out of the list of its style
            return None, 0
        if own_at is not None:
            at = own_at
        if at is None:
            at = self._numbering.level_of_style(list_id, style)
        return list_id, min(max(at, 0), LEVELS - 1)


def _is_contents(element: Element) -> bool:
    """Return True for a content control that holds the table of contents."""
    gallery = value_of(element, "sdtPr", "docPartObj", "docPartGallery")
    return gallery == "Table of Contents"


def _is_markdown_number(label: str) -> bool:
    digits = label[:-1]
    return (
        label.endswith((".", ")"))
        and digits.isascii()
        and digits.isdigit()
        and len(digits) <= _ORDERED_MARK
    )


ROW: Final = W + "tr"
CELL: Final = W + "tc"
WIDEST = 63
"""Columns of a Word table, which is also what a cell can span."""
REPEATED_LENGTH = 200
"""Characters of a cell that are repeated in the rows it spans; longer ones stand in the first."""


def table_rows(table: Element, text_of: Callable[[Element], str]) -> list[list[str]]:
    """Give the rows of a `w:tbl` without those that a tracked change deletes.

    A cell that spans rows is repeated in each, so that each row is complete when the table is split
    between rows; a cell that spans columns is followed by empty ones.
    """
    above: dict[int, str] = {}
    return [
        _row(row, text_of, above)
        for row in inside(table, ROW)
        if row.find(f"{W}trPr/{W}del") is None
    ]


def only_cell(table: Element) -> Element | None:
    """Return the only cell of a table, which is a frame around text; None if it has more."""
    rows = list(inside(table, ROW))
    cells = list(inside(rows[0], CELL)) if len(rows) == 1 else []
    return cells[0] if len(cells) == 1 else None


def _row(row: Element, text_of: Callable[[Element], str], above: dict[int, str]) -> list[str]:
    """Return the cells of a row; `above` holds by column the texts that span rows."""
    cells = [""] * _between(number_of(row, "trPr", "gridBefore"), 0)
    for cell in inside(row, CELL):
        column = len(cells)
        text = _cell_text(cell, text_of, above, column)
        span = _between(number_of(cell, "tcPr", "gridSpan"), 1)
        cells += [text, *[""] * (span - 1)]
    return cells


def _cell_text(
    cell: Element, text_of: Callable[[Element], str], above: dict[int, str], column: int
) -> str:
    merge = cell.find(f"{W}tcPr/{W}vMerge")
    if merge is not None and value_of(cell, "tcPr", "vMerge") != "restart":
        return above.get(column, "")
    text = table_cell(text_of(cell))
    above[column] = text if merge is not None and len(text) <= REPEATED_LENGTH else ""
    return text


def _between(number: int | None, least: int) -> int:
    return least if number is None else min(max(number, least), WIDEST)
