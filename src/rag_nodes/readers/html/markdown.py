"""The cleaned tree of a page in, its Markdown out.

markdownify walks the tree; what it does differently from the rest of our readers is here: tables
with spans, fences that hold fences, links that are safe, text that is no Markdown by accident.
Imported with markdownify by `reading_of_html`, never before a page is read.
"""

from __future__ import annotations

import re
from itertools import chain
from urllib.parse import urljoin, urlsplit

from bs4.element import NavigableString, Tag
from markdownify import MarkdownConverter

from rag_nodes.readers.html.tree import (
    attribute,
    dissolve_layout_tables,
    escaped,
    number_items,
    raise_superscripts,
    whole_number,
    write_formulas,
)
from rag_nodes.readers.markup import flat_table, link, markdown_table, table_cell

WIDEST = 100
"""Columns a cell can span."""
TALLEST = 1000
"""Rows a cell can span."""

_CELL, _ROW, _SPAN = "\x1e", "\x1d", "\x1f"
"""Marks of table parts on their way up the tree; `html.py` keeps such characters out of pages."""
_LANGUAGE = re.compile(r"(?:language|lang|highlight-source|highlight|brush)-([\w+#.-]+)")
_BACKTICKS = re.compile(r"`{3,}")
_BLANK_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
_PERMALINKS = frozenset({"", "#", "¶", "§", "🔗"})


def markdown_of(content: Tag, base: str | None = None) -> str:
    """Return a page as Markdown; without its URL as base, relative links keep their text alone."""
    dissolve_layout_tables(content)
    number_items(content)
    write_formulas(content)
    raise_superscripts(content)
    converter = _Converter(
        heading_style="atx",
        escape_asterisks=False,
        escape_underscores=False,
        strip=["b", "em", "i", "strong"],
        wrap=True,  # blank space as in a browser
        wrap_width=None,
    )
    converter.base = base
    text: str = converter.convert_soup(content)
    return _BLANK_LINES.sub("\n\n", text).strip()


class _Converter(MarkdownConverter):
    """markdownify with our own way of writing some elements."""

    base: str | None = None

    def process_text(self, el: NavigableString, parent_tags: set[str] | None = None) -> str:
        return escaped(el, super().process_text(el, parent_tags))  # type: ignore[misc]

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if text.strip() in _PERMALINKS:
            return ""
        if "_noformat" in parent_tags or "\n" in text:  # blocks within a link are blocks
            return text
        return link(text, _absolute(attribute(el, "href"), self.base))

    def convert_br(self, _el: Tag, _text: str, parent_tags: set[str]) -> str:
        return " " if "_inline" in parent_tags else "\n"

    def convert_img(self, el: Tag, _text: str, parent_tags: set[str]) -> str:  # noqa: ARG002 -- markdownify names it
        return " ".join(attribute(el, "alt").split())

    def convert_pre(self, el: Tag, _text: str, parent_tags: set[str]) -> str:
        code = el.get_text().strip("\r\n").rstrip()
        if not code.strip():
            return ""
        if "_inline" in parent_tags:
            return f" `{' '.join(code.split())}` "
        longest = max(map(len, _BACKTICKS.findall(code)), default=2)
        fence = "`" * (longest + 1)
        return f"\n\n{fence}{_language(el)}\n{code}\n{fence}\n\n"

    def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        text = text.strip()
        if not text:
            return "\n"
        if "_inline" in parent_tags:
            return f" {text}"
        numbered = el.parent is not None and el.parent.name == "ol"
        mark = f"{attribute(el, 'value')}." if numbered else "-"
        indent = " " * (len(mark) + 1)
        first, *rest = text.split("\n")
        lines = [f"{mark} {first}", *(f"{indent}{line}" if line else "" for line in rest)]
        return "\n".join(lines) + "\n"

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002 -- markdownify names it
        spans = _span(el, "rowspan", TALLEST), _span(el, "colspan", WIDEST)
        return _SPAN.join((table_cell(text), *map(str, spans))) + _CELL

    convert_th = convert_td

    def convert_caption(self, _el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002 -- markdownify names it
        return text.strip() + _ROW

    def convert_tr(self, _el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002 -- markdownify names it
        return text.strip("\n") + _ROW

    def convert_table(self, _el: Tag, text: str, parent_tags: set[str]) -> str:
        caption, rows = _rows(text)
        if "_inline" in parent_tags:
            return f" {flat_table(rows)} "
        return f"\n\n{caption}\n\n{markdown_table(rows)}\n\n"


def _rows(text: str) -> tuple[str, list[list[str]]]:
    """Lay out cells in a grid; one that spans rows is repeated in each (see `table_rows`)."""
    caption: list[str] = []
    rows: list[list[str]] = []
    below: dict[int, tuple[int, str]] = {}
    for line in text.split(_ROW):
        *cells, rest = line.split(_CELL)
        caption.append(rest.strip())
        if cells:
            rows.append(_grid_row(cells, below))
    return " ".join(filter(None, caption)), rows


def _grid_row(cells: list[str], below: dict[int, tuple[int, str]]) -> list[str]:
    row: list[str] = []

    def fill_from_above() -> None:
        while len(row) in below:
            left, text = below.pop(len(row))
            if left > 1:
                below[len(row)] = left - 1, text
            row.append(text)

    for cell in cells:
        fill_from_above()
        text, height, width = cell.strip("\n").rsplit(_SPAN, 2)
        for offset in range(int(width)):
            if int(height) > 1:
                below[len(row)] = int(height) - 1, "" if offset else text
            row.append("" if offset else text)
    fill_from_above()
    return row


def _language(pre: Tag) -> str:
    """Return the language of a block of code, from a class for highlighters on or around it."""
    inner = pre.find("code")
    tags = [pre, inner, pre.parent, pre.parent.parent if pre.parent else None]
    classes = chain.from_iterable(
        tag.get_attribute_list("class") for tag in tags if isinstance(tag, Tag)
    )
    matches = (_LANGUAGE.fullmatch(name) for name in classes if isinstance(name, str))
    return next((match.group(1) for match in matches if match), "")


def _absolute(address: str, base: str | None) -> str | None:
    """Return an absolute address; None if there is none."""
    try:
        url = urljoin(base or "", address.strip())
        return url if urlsplit(url).scheme else None
    except ValueError:
        return None


def _span(cell: Tag, name: str, most: int) -> int:
    return min(max(whole_number(cell, name, 1), 1), most)
