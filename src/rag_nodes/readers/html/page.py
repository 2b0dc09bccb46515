"""Parse a page as the HTML standard says, and keep the elements that a visitor reads.

`reading_of_html` imports this module, and with it justhtml and bs4, when it reads a page.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from bs4 import BeautifulSoup
from justhtml import Document, Element, JustHTML, Text

from rag_nodes.core.numbers import number_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from justhtml import Node

DEEPEST = 100
"""Levels of elements that are kept; a Wikipedia article has 20. The converter is recursive, and its
time grows with their square: 3,000 levels, a file of 20 KB, would occupy a child for 16 seconds."""

_END = "\x1c"
"""Mark behind the last character of a page; `reading_of_html` keeps such characters out of pages.
If the mark is not in the text of an element, a comment, script or tag without an end has it."""
_RAW = frozenset({
    "iframe", "noembed", "noframes", "noscript", "script", "style", "textarea", "title", "xmp",
})  # fmt: skip
"""Elements whose content is text up to their end tag, whatever stands in it."""
_TRANSPARENT = frozenset({"#document", "html", "body"})
"""Nodes around all of the page."""
_NEVER_READ = frozenset({
    "audio", "base", "button", "canvas", "datalist", "dialog", "embed", "frameset", "head",
    "iframe", "input", "link", "map", "meta", "meter", "nav", "noembed", "noframes", "noscript",
    "object", "option", "progress", "script", "select", "style", "svg", "template", "textarea",
    "title", "video",
})  # fmt: skip
_ROLES = frozenset({"navigation", "contentinfo", "search", "menu", "menubar", "toolbar", "dialog"})
_CLASSES = frozenset({  # signs beside headings and lines, made by common site generators
    "anchor-link", "catlinks", "gutter", "headerlink", "lineno", "linenos", "mw-editsection",
    "mw-portlet", "noprint",
})  # fmt: skip
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_USUAL_LEVEL = 2
"""Level of an element with the role of a heading that states none."""
_MAIN = frozenset({"main", "article"})
_OUTSIDE_MAIN = frozenset({"aside", "footer"})
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_NO_MARKUP = re.compile(r"<(?![A-Za-z/!?])")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
_CLOSED_AT_ONCE = re.compile(
    rf"<(?!(?:{_VOID})[\s/])([A-Za-z][^\s<>/]*+)([^<>]*?)/>", re.IGNORECASE
)


class HtmlPage(NamedTuple):
    """The tree of what a visitor reads, and what the head of the page states."""

    content: BeautifulSoup
    title: str | None
    description: str | None
    warnings: tuple[str, ...]
    unscripted: str
    """Text for browsers without scripts, which is not in the content."""


def parse_page(html: str) -> HtmlPage:
    """Parse a page; controls, navigation, page footers and hidden elements are left out.

    Pages that a frame of the page holds are read in its place, and elements with the role of a
    heading are headings.

    Time and memory are linear in the length of the page. Elements over `DEEPEST` levels deep become
    their text. Warnings say where this happened, and whether the page breaks off.
    """
    return _PageBuilder().build(_parsed(html + _END))


def _parsed(html: str) -> Node:
    """Return the root of a page; justhtml takes quadratic time for signs that open no tag."""
    return JustHTML(_NO_MARKUP.sub("&lt;", html), sanitize=False).root


def as_html(xhtml: str) -> str:
    """Write what only XML has as HTML: `<td/>`, and text in CDATA sections."""
    plain = _CDATA.sub(lambda section: escape(section[1], quote=False), xhtml)
    return _CLOSED_AT_ONCE.sub(r"<\1\2></\1>", plain)


class _PageBuilder:
    """Walk over the nodes of a parsed page, from top to bottom."""

    def __init__(self) -> None:
        self._content = BeautifulSoup("", "html.parser")
        self._depth = 0
        self._skipped: Node | None = None
        self._inside = {"main": 0, "pre": 0}
        self._titles: list[str] = []
        self._descriptions: dict[str, str] = {}
        self._unscripted: list[str] = []
        self._is_too_deep = False
        self._is_whole = False

    def build(self, root: Node) -> HtmlPage:
        """Return the page; the builder serves once."""
        for node, is_end in _walk(root):
            if isinstance(node, Text):
                self._text(node)
            elif is_end:
                self._end(node)
            else:
                self._start(node)
        self._content.endData()
        return HtmlPage(
            self._content,
            self._titles[0] if self._titles else None,
            self._descriptions.get("description") or self._descriptions.get("og:description"),
            tuple(self._warnings()),
            " ".join(self._unscripted),
        )

    def _warnings(self) -> Iterator[str]:
        if self._is_too_deep:
            yield f"elements nested over {DEEPEST} levels deep were read as plain text"
        if not self._is_whole:
            yield (
                "the page breaks off inside a comment, script or tag: what stands there was left "
                "out, as browsers do"
            )

    def _text(self, node: Text) -> None:
        text = node.data or ""
        parent = node.parent.name if node.parent else ""
        if text.endswith(_END):
            text = text.removesuffix(_END)
            self._is_whole = parent not in _RAW
        if self._skipped is None:
            self._content.handle_data(text)
        elif parent == "title" and self._skipped.namespace == "html":
            self._titles.append(text)
        elif parent == "noscript" and self._skipped.name == "noscript":
            self._unscripted.append(_TAG.sub(" ", text))

    def _start(self, node: Node) -> None:
        attributes = {name: value or "" for name, value in (node.attrs or {}).items()}
        if node.name == "meta":
            self._note_description(attributes)
        if self._skipped is not None or node.name in _TRANSPARENT:
            return
        if _is_not_read(node, attributes, is_in_main=self._inside["main"] > 0):
            self._skipped = node
            return
        self._depth += 1
        self._count(node, 1)
        if self._depth > DEEPEST:
            self._is_too_deep = True
            self._content.handle_data(" ")
        elif node.name == "br" and self._inside["pre"]:
            self._content.handle_data("\n")
        else:
            self._content.handle_starttag(_shown_as(node), None, None, attributes)

    def _end(self, node: Node) -> None:
        if self._skipped is node:
            self._skipped = None
        elif self._skipped is None and node.name not in _TRANSPARENT:
            if self._depth > DEEPEST:
                self._content.handle_data(" ")
            elif node.name != "br" or not self._inside["pre"]:
                self._content.handle_endtag(_shown_as(node))
            self._count(node, -1)
            self._depth -= 1

    def _count(self, node: Node, step: int) -> None:
        self._inside["main"] += step * (node.name in _MAIN)
        self._inside["pre"] += step * (node.name == "pre")

    def _note_description(self, attributes: Mapping[str, str]) -> None:
        for attribute in ("name", "property"):
            name = attributes.get(attribute, "").lower()
            self._descriptions.setdefault(name, attributes.get("content", ""))


def _walk(root: Node, *, with_frames: bool = True) -> Iterator[tuple[Node | Text, bool]]:
    """Yield elements where they start and where they end, and the texts between.

    Pages in frames follow the start of their frame; frames within these are left out.
    """
    stack: list[tuple[Node | Text, bool]] = [(root, False)]
    while stack:
        node, is_end = stack.pop()
        if isinstance(node, Text) or is_end:
            yield node, is_end
        elif isinstance(node, Document | Element):
            yield node, False
            stack.append((node, True))
            page = _framed(node)
            if page is None:
                stack += [(child, False) for child in reversed(node.children or [])]
            elif with_frames:
                yield from _walk(_parsed(page), with_frames=False)


def _framed(node: Node) -> str | None:
    """Return the page that a frame holds as an attribute."""
    return (node.attrs or {}).get("srcdoc") if node.name == "iframe" else None


def _shown_as(node: Node) -> str:
    """Return the name of the element that says what this one is to a visitor."""
    if _framed(node) is not None:
        return "div"
    attributes = node.attrs or {}
    if attributes.get("role") != "heading" or node.name in _HEADINGS:
        return node.name
    level = number_in(attributes.get("aria-level") or "") or _USUAL_LEVEL
    return f"h{min(max(level, 1), len(_HEADINGS))}"


def _is_not_read(node: Node, attributes: Mapping[str, str], *, is_in_main: bool) -> bool:
    role, name = attributes.get("role", ""), node.name
    return (
        (name in _NEVER_READ and _framed(node) is None)
        or role in _ROLES
        or (role != "tabpanel" and _is_hidden(attributes))
        or not _CLASSES.isdisjoint(attributes.get("class", "").split())
        or (name in _OUTSIDE_MAIN and not is_in_main)
    )


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    """Return True if nothing that a visitor does shows the element; tabs show their panels."""
    return (
        attributes.get("hidden", "until-found").lower() != "until-found"
        or attributes.get("aria-hidden") == "true"
        or _HIDDEN.search(attributes.get("style", "")) is not None
    )
