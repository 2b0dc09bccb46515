"""The tree of a page, made ready to be written as Markdown: reduced to its core, items numbered.

`reading_of_html` imports this module, and with it bs4, when it reads a page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bs4.element import NavigableString, PageElement, Tag

from rag_nodes.core.numbers import number_in
from rag_nodes.readers import formulas
from rag_nodes.readers.markup import plain_line
from rag_nodes.text.superscripts import raised
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

LEAST_SHARE = 0.25
"""Share of a page's text that its main element must hold to stand for the page: some are empty
until a script fills them."""
MOST_LEFT_OUT = 0.1
"""Share of a page's words above which a warning says that they were left out."""

_INLINE = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "ins", "kbd", "label", "mark", "q", "ruby", "s", "samp", "small", "span", "strike", "strong",
    "sub", "sup", "time", "tt", "u", "var",
})  # fmt: skip
_AS_IT_IS = ("code", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "td", "th")
_BLANKS = re.compile(r"\s+")
_RAISED = re.compile(r"vertical-align\s*:\s*super\b", re.IGNORECASE)
_FORMULAS = {"mfrac": "fraction", "msqrt": "root", "mroot": "root"}
"""Elements of MathML that are drawn by their layout."""
_ROLES = {"msup": ("", "sup"), "msubsup": ("", "", "sup"), "mroot": ("", "deg")}
"""Roles of the children of an element of MathML, in their order."""
_SOURCES = frozenset({"annotation", "annotation-xml"})
"""The same formula in another language."""
_LAYOUT_ROLES = frozenset({"presentation", "none"})
_TABLE_PARTS = frozenset({"caption", "tbody", "td", "tfoot", "th", "thead", "tr"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_AROUND_THE_TEXT = frozenset({"a", "header"})
"""Elements that lead to other pages or name the site, where they stand outside the main element."""


def number_items(content: Tag) -> None:
    """Give every item of an ordered list its number as `value`, where it has none."""
    for ordered in content.find_all("ol"):
        number = whole_number(ordered, "start", 1)
        for item in ordered.find_all("li", recursive=False):
            number = whole_number(item, "value", number)
            item["value"] = str(number)
            number += 1


def write_formulas(content: Tag) -> None:
    """Replace each formula of MathML by its text."""
    for formula in content.find_all("math"):
        formula.replace_with(formulas.one_line(_formula(formula)))


def _formula(tag: Tag) -> str:
    if tag.name in _SOURCES:
        return ""
    if not any(isinstance(child, Tag) for child in tag.children):
        text = " ".join(tag.get_text().split())
        is_word = tag.name in {"mi", "mtext"} and len(text) > 1
        return f"{formulas.APART}{text}{formulas.APART}" if is_word else text
    roles = iter(_ROLES.get(tag.name, ()))
    parts = [
        (next(roles, ""), _formula(child)) if isinstance(child, Tag) else ("", str(child).strip())
        for child in tag.children
        if isinstance(child, Tag) or str(child).strip()
    ]
    is_stack = tag.name == "mfrac" and number_in(attribute(tag, "linethickness")[:1]) == 0
    return formulas.written("stack" if is_stack else _FORMULAS.get(tag.name, tag.name), parts)


def raise_superscripts(content: Tag) -> None:
    """Write superscripts of HTML and of styles in raised characters."""
    outer: Tag | None = None
    for tag in content.find_all(_superscript):
        if any(above is outer for above in tag.parents):
            continue
        outer = tag
        strings = list(tag.find_all(string=True))
        text, at = raised("".join(strings)), 0
        for string in strings:
            string.replace_with(text[at : at + len(string)])
            at += len(string)


def escaped(node: NavigableString, text: str) -> str:
    """Return the text of a node, escaped if it starts a line and would open a Markdown block."""
    if text.strip() and not node.find_parent(_AS_IT_IS) and _starts_a_line(node):
        return _unlike_markdown(_BLANKS.sub(" ", text))
    return text


def whole_number(tag: Tag, name: str, otherwise: int) -> int:
    """Return an attribute of at most nine digits, as numbers of Markdown lists have."""
    number = number_in(attribute(tag, name).strip())
    return otherwise if number is None else number


def main_content(soup: BeautifulSoup) -> tuple[Tag, tuple[str, ...]]:
    """Return the main element of a page, else the page itself, and what to warn of.

    A warning says how much text is left out, above `MOST_LEFT_OUT` of the words of the page. Words
    of links and of the site's header are not counted.
    """
    whole = _length(soup)
    for candidates in (soup.select("main, [role=main]"), soup.select("article")):
        if len(candidates) == 1 and _length(candidates[0]) >= LEAST_SHARE * whole:
            return candidates[0], _left_out(soup, candidates[0])
    return soup, ()


def _left_out(soup: BeautifulSoup, main: Tag) -> tuple[str, ...]:
    outside = " ".join(
        text
        for text in soup.find_all(string=True)
        if not any(tag is main or tag.name in _AROUND_THE_TEXT for tag in text.parents)
    )
    count = len(words(outside))
    share = count / max(1, count + len(words(main.get_text(" "))))
    if share <= MOST_LEFT_OUT:
        return ()
    mark = f"<{main.name}>" if main.name in {"main", "article"} else 'role="main"'
    warning = (
        f"{share:.0%} of the visible words stand outside the page's {mark} element and were left "
        f"out; to read them too, remove {mark} from the file"
    )
    return (warning,)


def left_out_unscripted(text: str, unscripted: str) -> tuple[str, ...]:
    """Return what to warn of if much text is for browsers without scripts alone."""
    count = len(words(unscripted))
    if count <= MOST_LEFT_OUT * (count + len(words(text))):
        return ()
    return (f"{count} words in <noscript>, for browsers without scripts, were left out",)


def dissolve_layout_tables(content: Tag) -> None:
    """Turn tables that only arrange blocks on the page into such blocks."""
    layout = [table for table in content.find_all("table") if _is_layout(table)]
    for table in layout:
        for part in table.find_all(_TABLE_PARTS):
            if part.find_parent("table") is table:
                part.name = "div"
    for table in layout:
        table.name = "div"


def _superscript(tag: Tag) -> bool:
    """Return True for an element that is shown raised."""
    return tag.name == "sup" or _RAISED.search(attribute(tag, "style")) is not None


def attribute(tag: Tag, name: str) -> str:
    """Return the value of an attribute; "" without one."""
    value = tag.get(name)
    return value if isinstance(value, str) else ""


def _length(tag: Tag) -> int:
    return sum(len(text.strip()) for text in tag.stripped_strings)


def _is_layout(table: Tag) -> bool:
    """Return True if a table has one cell, or holds tables, headings or code, as no cell can."""
    if attribute(table, "role") in _LAYOUT_ROLES or table.find(["table", "pre", *_HEADINGS]):
        return True
    return len(table.find_all(["td", "th"], limit=2)) <= 1


def _starts_a_line(text: PageElement) -> bool:
    """Return True if nothing stands before the text on its line."""
    node: PageElement | None = text
    while node is not None:
        before = node.previous_sibling
        while isinstance(before, NavigableString) and not before.strip():
            before = before.previous_sibling
        if before is not None:
            return isinstance(before, Tag) and before.name not in {*_INLINE, "img"}
        node = node.parent
        if isinstance(node, Tag) and node.name not in _INLINE:
            return True
    return True


def _unlike_markdown(text: str) -> str:
    plain = plain_line(text)
    end = len(text.rstrip())
    return text[: len(text) - len(text.lstrip())] + plain + text[end:] if plain else text
