"""Headers of tables, for text that begins inside a table and has lost its column names."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.text.formats import Format, blocks_of
from rag_nodes.text.markdown import Block, Kind
from rag_nodes.text.markdown.lines import cells
from rag_nodes.text.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_CELL_CHARACTERS = 60
"""Characters of a column name; a longer one is shortened."""
MAX_LINE_CHARACTERS = 300
"""Characters of all column names together; the columns beyond are left out."""
MAX_HEADER_CHARACTERS = 2_000
"""Characters of header rows as a document has them; a table with longer ones has no header."""

_MAY_BE_TABLE = compiled(r"\|[ \t]*+:?+-|-:?+[ \t]*+\|")
"""Part of a delimiter row: looking for it is far cheaper than finding all blocks."""
_LINK = compiled(r"!?+\[([^\[\]]*+)\](?:\([^()\s]*+(?: [^()]*+)?+\)|\[[^\[\]]*+\])")
_TAG = compiled(r"<[/!?a-zA-Z][^<>]*+>")
_MARKS = re.compile(r"[`<>\[\]]|\*\*|__|~~|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_ESCAPED = re.compile(r"\\(?=[!-/:-@\[-`{-~])")


class Table(NamedTuple):
    """A table, as far as a text holds it.

    Attributes:
        start: offset of its first character; negative if the text begins inside the table.
        end: offset after its last visible character.
        header: header rows with the delimiter row, as the document has them.
    """

    start: int
    end: int
    header: str


class Tables:
    """The tables of a text, by offset.

    Args:
        tables: in order.
    """

    def __init__(self, tables: Iterable[Table]) -> None:
        self.tables = list(tables)
        self._starts = [table.start for table in self.tables]

    @classmethod
    def of(cls, text: str, text_format: Format, above: str = "") -> Tables:
        """Find the tables of a document, or of a part of one.

        Args:
            text: the document, or the part.
            text_format: tables are those of Markdown; plain text has none.
            above: header rows of the table that the part begins inside of; "" if there is none.
        """
        if text_format is not Format.MARKDOWN or not (above or may_hold_tables(text)):
            return cls(())
        if above and not text.startswith(("\n", "\r")):
            above += "\n"
        blocks = blocks_of(above + text, text_format)
        return cls.among(blocks, above + text, len(above))

    @classmethod
    def among(cls, blocks: Sequence[Block], text: str, shift: int = 0) -> Tables:
        """Take the tables from the blocks of a text; offsets count from `shift`."""
        return cls(
            Table(block.start - shift, block.end - shift, text[block.start : block.header_end])
            for block in blocks
            if block.kind is Kind.TABLE and block.header_end - block.start <= MAX_HEADER_CHARACTERS
        )

    def around(self, offset: int) -> Table | None:
        """Return the table that begins before `offset` and holds it; None if there is none."""
        position = bisect_left(self._starts, offset)
        table = self.tables[position - 1] if position else None
        return table if table and offset < table.end else None

    def header_at(self, offset: int) -> str:
        """Return the header rows of the table that `offset` is inside of; "" for no table."""
        table = self.around(offset)
        return table.header if table else ""


def may_hold_tables(text: str) -> bool:
    r"""Return False if a text certainly holds no table.

    >>> from rag_nodes.text.tables import may_hold_tables
    >>> may_hold_tables("a | b"), may_hold_tables("a | b\n--|--\n1 | 2")
    (False, True)
    """
    return "|" in text and _MAY_BE_TABLE.search(text) is not None


def column_names(header: str) -> str:
    r"""Return the column names of header rows on one line, without markup; "" if there are none.

    Names are text of a document: each is shortened to 60 characters, and all together to 300.

    >>> from rag_nodes.text.tables import column_names
    >>> column_names("| **Option** | [Default](#d) |\n|---|---|")
    'Option | Default'
    """
    names = [_plain(cell) for cell in cells(header.splitlines()[0])]
    line = ""
    for number, name in enumerate(names):
        longer = f"{line} | {name}" if number else name
        if len(longer) > MAX_LINE_CHARACTERS:
            line += " | …"
            break
        line = longer
    return line.strip() if any(names) else ""


def _plain(cell: str) -> str:
    """Return the text of a cell without marks of Markdown and HTML, on one line and shortened."""
    text = _TAG.sub(" ", _LINK.sub(r"\1", cell))
    text = " ".join(_ESCAPED.sub("", _MARKS.sub("", text)).split())
    if len(text) > MAX_CELL_CHARACTERS:
        return f"{text[: MAX_CELL_CHARACTERS - 1].rstrip()}…"
    return text
