"""The Markdown of an answer as HTML of ours: nothing but text passes, and no address is loaded."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from markdown_it import MarkdownIt

from rag_nodes.apps.markup import Html, escape, join, tag
from rag_nodes.query.answering import BETWEEN_EXTRACTS
from rag_nodes.query.citations import marks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from markdown_it.token import Token

    from rag_nodes.query import Mark

_MARK = re.compile("\x02(\\d+)\x03")
"""Stands for a mark of the answer while the text around it is taken apart."""
_UNFINISHED = re.compile(r"(?<!\s)\s*\[[^\[\]\n]{0,20}\Z")
"""The beginning of a citation whose end has not arrived."""
_NO_MARK = str.maketrans("\x02\x03", "\ufffd\ufffd")


_ABOVE, _DEEPEST = 3, 6
"""Levels of headings: that of the column an answer is in, and the last one of HTML."""
_ALIGNED = re.compile(r"text-align:(left|right|center)")
_HEADING_MARK = re.compile(r"#{1,6}\s+")
_ROW = re.compile(r"\|.*\|")
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[\s:]*-[\s:-]*")
_LAST_DOT = re.compile(" · (?=\x02)")
_BEHIND_ROW = re.compile(r"^([ \t]*\|.*)\|[ \t]*((?:\x02\d+\x03[ \t]*)+)$", re.MULTILINE)
"""Sources named behind the last bar of a row: a cell too many, which Markdown drops."""
_NO_EMPHASIS = re.compile(r"\w\*+\w|(?<!\w)_|_(?!\w)")
"""`2*3*4` and `__init__` would lose what they mean."""


def answer_text(
    text: str, marks: Sequence[Mark], links: Mapping[int, str], *, quoted: bool = False
) -> Html:
    """An answer as it is meant to be read, its source numbers as buttons that show the chunk.

    Only what is marked as naming a source does: brackets of the documents stay text.

    Args:
        text: of the answer, Markdown; see `_blocks` for what becomes of it.
        marks: where it names sources.
        links: source number to id of an element on the page.
        quoted: sentences of documents, to be shown word for word; see `_quote`.
    """
    write = partial(_written, marks=marks, links=links)
    placed = _placed(text, marks).strip()
    if not quoted:
        return _blocks(placed, write)
    return join(_quote(part, write) for part in placed.split(BETWEEN_EXTRACTS) if part.strip())


def growing_text(text: str, *, quoted: bool) -> Html:
    """What has arrived of an answer: nothing in it can be opened yet."""
    arrived = _UNFINISHED.sub("", text)
    marks = () if quoted else marks_of(arrived)
    return tag("div", answer_text(arrived, marks, {}, quoted=quoted), cls="rn-answer")


def quote_text(text: str) -> Html:
    """One sentence of an answer, without the marks of sources."""
    return _quote(text.translate(_NO_MARK), partial(_written, marks=(), links={}))


def _blocks(text: str, write: Callable[[str], Html]) -> Html:
    """What a model wrote: headings, lists, tables, code, emphasis, links.

    HTML is shown as what it says, an image as a link to it. Links lead to http and https only,
    name their host, and open elsewhere.
    """
    kept = _BEHIND_ROW.sub(r"\1 \2|", text)
    return _Writer(write).written(_parser().parse(kept))


def _quote(text: str, write: Callable[[str], Html]) -> Html:
    """A sentence of a document, word for word.

    The marks of a heading or a table row go, emphasis, code and links are shown as such; numbers,
    dashes and blanks at its beginning make no list and no code of it.
    """
    plain = _HEADING_MARK.sub("", text.strip(), count=1) if text.startswith("#") else text.strip()
    if _ROW.match(plain):
        cells = [cell.strip() for cell in _BAR.split(plain)]
        kept = (cell for cell in cells if cell and not _RULE.fullmatch(cell))
        plain = _LAST_DOT.sub(" ", " · ".join(kept))
    parser = _parser(emphasis=not _NO_EMPHASIS.search(plain))
    return tag("p", _Writer(write).written(parser.parseInline(plain)), dir="auto")


@cache
def _parser(*, emphasis: bool = True) -> MarkdownIt:
    # Without references, since a line such as `[1]: so it is` would be taken for one and vanish.
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return parser.disable(["reference"] if emphasis else ["reference", "emphasis", "strikethrough"])


class _Open(NamedTuple):
    """An element whose end has not been met."""

    token: Token | None
    children: list[Html]


class _Writer:
    """Writes the tokens of one answer."""

    def __init__(self, write: Callable[[str], Html]) -> None:
        self._write = write
        self._level = _ABOVE

    def written(self, tokens: Sequence[Token]) -> Html:
        """The tokens as HTML; every element that opens is closed."""
        opened = [_Open(None, [])]
        for token in tokens:
            if token.nesting > 0:
                opened.append(_Open(token, []))
                continue
            if token.nesting < 0:
                begun = opened.pop()
                made = self._made(begun.token or token, join(begun.children))
            elif token.type == "inline":
                made = self.written(token.children or ())
            else:
                made = self._made(token, self._write(token.content))
            opened[-1].children.append(made)
        return join(opened[0].children)

    def _made(self, token: Token, inside: Html) -> Html:
        """One element around what is in it."""
        if token.type == "heading_open":
            # As deep as written, below that of the column, and without leaving a level out.
            self._level = min(int(token.tag[1:]) + _ABOVE, self._level + 1, _DEEPEST)
            return tag(f"h{self._level}", inside, dir="auto")
        make = _ELEMENTS.get(token.type)
        return make(token, inside) if make else inside


def _paragraph(token: Token, inside: Html) -> Html:
    return inside if token.hidden else tag("p", inside, dir="auto")


def _numbered(token: Token, inside: Html) -> Html:
    return tag("ol", inside, start=str(token.attrGet("start") or 1))


def _code(_: Token, inside: Html) -> Html:
    return tag("pre", tag("code", inside), dir="ltr", tabindex="0")


def _table(_: Token, inside: Html) -> Html:
    return tag("div", tag("table", inside), cls="rn-wide", tabindex="0")


def _cell(token: Token, inside: Html) -> Html:
    aligned = _ALIGNED.match(str(token.attrGet("style") or ""))
    return tag(token.tag, inside, cls=f"rn-{aligned[1]}" if aligned else None)


def _link(token: Token, inside: Html) -> Html:
    """A link that says where it leads, whatever its text says; elsewhere just the text."""
    address = str(token.attrGet("href") or token.attrGet("src") or "")
    host = _host(address)
    if host is None:
        return inside
    link = tag(
        "a", inside or address, href=address, target="_blank", rel="noopener noreferrer nofollow"
    )
    return join(
        [link, None if inside == escape(address) else tag("span", f" ({host})", cls="rn-host")]
    )


def _plain(token: Token, inside: Html) -> Html:
    return tag(token.tag, inside)


_ELEMENTS: dict[str, Callable[[Token, Html], Html]] = {
    **dict.fromkeys(
        (
            "bullet_list_open",
            "list_item_open",
            "blockquote_open",
            "thead_open",
            "tbody_open",
            "tr_open",
            "strong_open",
            "em_open",
            "s_open",
            "code_inline",
        ),
        _plain,
    ),
    "paragraph_open": _paragraph,
    "ordered_list_open": _numbered,
    "fence": _code,
    "code_block": _code,
    "table_open": _table,
    "th_open": _cell,
    "td_open": _cell,
    "link_open": _link,
    "image": _link,
    "hr": lambda *_: tag("hr"),
    "hardbreak": lambda *_: tag("br"),
    "softbreak": lambda *_: join(["\n"]),
}
"""What becomes of tokens; the content of any other is just text."""


def _host(address: str) -> str | None:
    """The host of an address on the web; None for any other address."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return parts.hostname if parts.scheme in {"http", "https"} else None


def _placed(text: str, marks: Sequence[Mark]) -> str:
    """The text with the position of each mark in its place, between characters it has nowhere."""
    plain, reached, pieces = text.translate(_NO_MARK), 0, list[str]()
    for position, mark in enumerate(marks):
        pieces += [plain[reached : mark.start], f"\x02{position}\x03"]
        reached = mark.end
    return "".join([*pieces, plain[reached:]])


def _written(text: str, marks: Sequence[Mark], links: Mapping[int, str]) -> Html:
    """Plain text, the marks in it as what they name."""
    pieces: list[str] = []
    reached = 0
    for found in _MARK.finditer(text):
        pieces.append(text[reached : found.start()])
        pieces += [_chip(number, links) for number in marks[int(found[1])].numbers]
        reached = found.end()
    return join([*pieces, text[reached:]])


def _chip(number: int, links: Mapping[int, str]) -> Html:
    if number not in links:
        return tag("span", f"[{number}]", cls="rn-chip")
    label = f"Source {number}: show the chunk"
    # A button, since Gradio's page would follow a link and lose the session.
    return tag(
        "button",
        f"[{number}]",
        type="button",
        data_to=links[number],
        cls="rn-chip",
        title=label,
        aria_label=label,
    )
