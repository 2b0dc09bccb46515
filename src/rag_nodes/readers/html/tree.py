"""The tree of a page, made ready to be written as Markdown: cleaned, flattened, cut to its core.

Imported with bs4 by `reading_of_html`, never before a page is read. It reaches into Beautiful Soup
for what that has no public way to do: the stack of open elements (`tagStack`, `_popToTag`,
`endData`), and `index`, by which a parent finds the child it lets go.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PageElement, Tag

from rag_nodes.readers.html.bounds import too_deep
from rag_nodes.readers.markup import plain_line

DEEPEST = 100
"""Levels of elements that are kept; a Wikipedia article has 20. The converter is recursive."""
LEAST_SHARE = 0.25
"""Share of a page's text that its main element must hold to stand for the page: some are empty
until a script fills them."""

_NEVER_READ = frozenset(
    [
        "audio",
        "base",
        "button",
        "canvas",
        "datalist",
        "dialog",
        "embed",
        "head",
        "iframe",
        "input",
        "link",
        "map",
        "meta",
        "meter",
        "nav",
        "noscript",
        "object",
        "option",
        "progress",
        "script",
        "select",
        "style",
        "svg",
        "template",
        "textarea",
        "title",
        "video",
    ]
)
_ROLES = frozenset({"navigation", "contentinfo", "search", "menu", "menubar", "toolbar", "dialog"})
_CLASSES = frozenset(  # signs beside headings and lines, made by common site generators
    [
        "anchor-link",
        "catlinks",
        "gutter",
        "headerlink",
        "lineno",
        "linenos",
        "mw-editsection",
        "mw-portlet",
        "noprint",
    ]
)
_IMPLIED_ENDS = {  # a start tag: the elements it ends, and those in which it starts anew
    "li": (frozenset({"li"}), frozenset({"ol", "ul", "menu"})),
    "dt": (frozenset({"dd", "dt"}), frozenset({"dl"})),
    "dd": (frozenset({"dd", "dt"}), frozenset({"dl"})),
    "tr": (frozenset({"td", "th", "tr"}), frozenset({"table"})),
    "td": (frozenset({"td", "th"}), frozenset({"table", "tr"})),
    "th": (frozenset({"td", "th"}), frozenset({"table", "tr"})),
}
_ENDS_A_PARAGRAPH = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "center",
        "details",
        "div",
        "dl",
        "fieldset",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "ul",
    ]
)
_WITHIN_A_PARAGRAPH = frozenset(
    ["a", "b", "big", "code", "em", "font", "i", "small", "span", "strong", "sub", "sup", "u"]
)
_OUTSIDE_MAIN = frozenset({"aside", "footer"})
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
    ]
)
_AS_IT_IS = ("code", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "td", "th")
_BLANKS = re.compile(r"\s+")
_LAYOUT_ROLES = frozenset({"presentation", "none"})
_TABLE_PARTS = frozenset({"caption", "tbody", "td", "tfoot", "th", "thead", "tr"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


class _FindsInOrder(Tag):
    """Finds a child from where it found the last one: a page is cleaned from top to bottom.

    Without this, taking n children out of a page takes n² steps.
    """

    _last_found = 0

    def index(self, element: PageElement) -> int:
        """Position of a child; raises ValueError where it is none."""
        last = min(self._last_found, len(self.contents))
        for position in chain(range(last, len(self.contents)), range(last)):
            if self.contents[position] is element:
                self._last_found = position
                return position
        raise ValueError("not a child of this element")


class HtmlPage(_FindsInOrder, BeautifulSoup):
    """A tree in which end tags may be missing, as HTML allows and Python's parser does not know.

    Without this every `<p>` or `<li>` of an old page would be nested in the one before.
    """

    def __init__(self, html: str) -> None:
        super().__init__(html, "html.parser", element_classes={Tag: _FindsInOrder})

    def handle_starttag(self, name: str, *args: Any, **kwargs: Any) -> Tag | None:
        """Close what the new element implies to be over, then open it."""
        if over := self._implied_to_be_over(name):
            self.endData()  # the text so far belongs to what ends here
            self._popToTag(over.name)
            if name == "tr" and over.name != "tr":
                self._popToTag("tr")
        return super().handle_starttag(name, *args, **kwargs)

    def _implied_to_be_over(self, name: str) -> Tag | None:
        ends, within = _IMPLIED_ENDS.get(name, (frozenset[str](), frozenset[str]()))
        for tag in reversed(self.tagStack[-DEEPEST:]):
            if tag.name in ends or (tag.name == "p" and name in _ENDS_A_PARAGRAPH):
                return tag
            if tag.name in within or (not ends and tag.name not in _WITHIN_A_PARAGRAPH):
                return None
        return None


def drop_what_is_not_read(soup: BeautifulSoup) -> None:
    """Remove controls, navigation, page footers and what is hidden."""
    for tag in soup.find_all(_is_not_read):
        if not tag.decomposed:
            tag.decompose()
    for line_break in soup.select("pre br"):
        line_break.replace_with("\n")


def flatten(soup: BeautifulSoup) -> tuple[str, ...]:
    """Turn elements below `DEEPEST` levels into their text; says so where it happened."""
    depths = {id(soup): 0}
    deep: list[Tag] = []
    for tag in soup.find_all(name=True):  # parents come before their children
        depth = depths[id(tag)] = depths[id(tag.parent)] + 1
        if depth == DEEPEST + 1:
            deep.append(tag)
    for tag in deep:
        tag.replace_with(f" {tag.get_text(' ')} ")
    return (too_deep(DEEPEST),) if deep else ()


def number_items(content: Tag) -> None:
    """Give every item of an ordered list its number as `value`, where it has none."""
    for ordered in content.find_all("ol"):
        number = whole_number(ordered, "start", 1)
        for item in ordered.find_all("li", recursive=False):
            number = whole_number(item, "value", number)
            item["value"] = str(number)
            number += 1


def escaped(node: NavigableString, text: str) -> str:
    """The text of a node, escaped where it starts a line and would open a Markdown block."""
    if text.strip() and not node.find_parent(_AS_IT_IS) and _starts_a_line(node):
        return _unlike_markdown(_BLANKS.sub(" ", text))
    return text


def whole_number(tag: Tag, attribute: str, otherwise: int) -> int:
    """An attribute that holds a number of at most nine digits, as Markdown lists may have."""
    text = _text(tag, attribute).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise  # noqa: PLR2004 -- see above


def main_content(soup: BeautifulSoup) -> Tag:
    """Give the main element of a page, or the page where none stands for it."""
    whole = _length(soup)
    for found in (soup.select("main, [role=main]"), soup.select("article")):
        if len(found) == 1 and _length(found[0]) >= LEAST_SHARE * whole:
            return found[0]
    return soup


def dissolve_layout_tables(content: Tag) -> None:
    """Turn tables that only arrange blocks on the page into such blocks."""
    layout = [table for table in content.find_all("table") if _is_layout(table)]
    for table in layout:
        for part in table.find_all(_TABLE_PARTS):
            if part.find_parent("table") is table:
                part.name = "div"
    for table in layout:
        table.name = "div"


def _is_not_read(tag: Tag) -> bool:
    return (
        tag.name in _NEVER_READ
        or _text(tag, "role") in _ROLES
        or tag.has_attr("hidden")
        or _text(tag, "aria-hidden") == "true"
        or _HIDDEN.search(_text(tag, "style")) is not None
        or not _CLASSES.isdisjoint(tag.get_attribute_list("class"))
        or (tag.name in _OUTSIDE_MAIN and tag.find_parent(["main", "article"]) is None)
    )


def _text(tag: Tag, attribute: str) -> str:
    value = tag.get(attribute)
    return value if isinstance(value, str) else ""


def _length(tag: Tag) -> int:
    return sum(len(text.strip()) for text in tag.stripped_strings)


def _is_layout(table: Tag) -> bool:
    """Whether a table holds what no cell can: tables, headings or code; or just one cell."""
    if _text(table, "role") in _LAYOUT_ROLES or table.find(["table", "pre", *_HEADINGS]):
        return True
    return len(table.find_all(["td", "th"], limit=2)) <= 1


def _starts_a_line(text: PageElement) -> bool:
    """Whether nothing stands before the text on its line."""
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
