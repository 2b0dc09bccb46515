"""HTML that somebody may have made to choke its parser in, the same page in simple HTML out.

Python's parser looks for the end of every comment and tag again from where it starts, and a tree
needs memory and time for each level. So both are bounded here, in one pass over the text.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MARKUP = re.compile(
    r"<(?:(?P<comment>!--)"
    r"|(?P<other>[!?]|/(?![A-Za-z]))"
    r"|(?P<end>/)?(?P<name>[A-Za-z][^\s/>]{0,100}+))"
)
_TAG_END = re.compile(r"""(?>[^>"'=]+|=\s*+(?:"[^"]*"|'[^']*')?|["'])*+>""").match
_CLOSE = re.compile(">").search
_COMMENT_END = re.compile("--!?>").search
_RAW_ENDS = {
    name: re.compile(rf"</{name}[^>]*+>", re.IGNORECASE).search for name in ("script", "style")
}
"""Ends of elements whose content is no HTML and is never read."""
_SHORT_REST = 100
"""Characters that a page may lose at its end without a word: the rest of a tag."""
_MAY_STAY_OPEN = frozenset(
    [
        "body",
        "colgroup",
        "dd",
        "dt",
        "head",
        "html",
        "li",
        "optgroup",
        "option",
        "p",
        "rp",
        "rt",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
    ]
)
"""Elements that need no end tag: how deep they are is the tree's business."""
_VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)


def bounded(html: str, deepest: int) -> tuple[str, tuple[str, ...]]:
    """A page without comments, scripts, styles and broken tags, and of bounded depth.

    What a browser would not show is left out, and a `<` that opens nothing is written `&lt;`. Of
    elements that need an end tag and are nested over `deepest` levels the text alone is kept. Time
    is linear in the length of the page. Warnings say where elements were too deep or the page
    breaks off.
    """
    page = _Simplifier(html, deepest)
    return "".join(page.pieces()), tuple(page.warnings())


def too_deep(levels: int) -> str:
    """The warning for elements below so many levels."""
    return f"elements nested over {levels} levels deep were read as plain text"


class _Simplifier:
    """One pass over a page."""

    def __init__(self, html: str, deepest: int) -> None:
        self._html = html
        self._deepest = deepest
        self._last_end = html.rfind(">")
        self._open: list[str] = []
        self._left_out: Counter[str] = Counter()
        self._too_deep = False
        self._hidden = 0

    def warnings(self) -> Iterator[str]:
        """What was not kept that a reader of the page may miss."""
        if self._too_deep:
            yield too_deep(self._deepest)
        if self._hidden > _SHORT_REST:
            yield (
                f"the last {self._hidden:,} characters were left out, as browsers do: they stand "
                "in a comment, script or tag that does not end"
            )

    def pieces(self) -> Iterator[str]:
        """The parts of the simple page, in order."""
        html, at = self._html, 0
        while at < len(html):
            start = html.find("<", at)
            if start < 0:
                break
            yield html[at:start]
            markup = _MARKUP.match(html, start)
            if markup is None:
                yield "&lt;"
                at = start + 1
            elif markup["name"]:
                at, tag = self._tag(markup)
                yield tag
            else:
                # `<!-->` is a whole comment, so its end may start with its own dashes.
                end = markup.end() - 2 if markup["comment"] else markup.end()
                at = self._behind(_COMMENT_END if markup["comment"] else _CLOSE, end)
        yield html[at:]

    def _behind(self, mark: Callable[[str, int], re.Match[str] | None], at: int) -> int:
        """Where the text goes on behind a mark; its end where there is none."""
        found = mark(self._html, at) if at <= self._last_end else None
        if found:
            return found.end()
        self._hidden = len(self._html) - at
        return len(self._html)

    def _tag(self, markup: re.Match[str]) -> tuple[int, str]:
        """Where the text goes on behind a tag, and what is written of the tag."""
        html, name = self._html, markup["name"].lower()
        end = self._behind(_TAG_END, markup.end())
        if html[end - 1] != ">":
            return end, ""
        if markup["end"]:
            return end, html[markup.start() : end] if self._closes(name) else " "
        if name in _RAW_ENDS:
            return self._behind(_RAW_ENDS[name], end), ""
        closed = html[end - 2] == "/" or name in _VOID or name in _MAY_STAY_OPEN
        return end, html[markup.start() : end] if closed or self._opens(name) else " "

    def _opens(self, name: str) -> bool:
        """Whether the tree gets this element."""
        if len(self._open) < self._deepest:
            self._open.append(name)
            return True
        self._too_deep = True
        self._left_out[name] += 1
        return False

    def _closes(self, name: str) -> bool:
        """Whether the tree has the element that ends."""
        if self._left_out[name]:
            self._left_out[name] -= 1
            return False
        if name in self._open:
            while self._open.pop() != name:
                pass
            self._left_out.clear()
        return True
