"""Markdown as HTML of ours: all text passes through one function, and nothing is ever loaded."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markdown_it.token import Token

_DEEPEST = 6
"""The last level of headings in HTML."""
_SIDED = ("paragraph_open", "heading_open", "td_open", "th_open", "list_item_open")
"""Elements that take their direction of writing from their text."""
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""Control characters, and half characters no encoder takes."""
_LINE_END = re.compile(r"<br ?/?>", re.IGNORECASE)
"""Line breaks in cells of tables, which stand on one line."""
_LINK = Markup('<a href="{}" target="_blank" rel="noopener noreferrer nofollow">{}')
_HOST = Markup('<span class="rn-host"> ({})</span>')


class RenderedMarkdown(NamedTuple):
    """HTML, and the level of the last heading."""

    html: Markup
    level: int


def visible(text: str) -> str:
    """The text with a sign in place of each character that cannot be shown."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def render_markdown(
    text: str,
    write: Callable[[str], Markup],
    *,
    above: int = 1,
    level: int | None = None,
    links: bool = False,
) -> RenderedMarkdown:
    """Headings, lists, tables, code and emphasis; HTML but `<br>` is shown as what it says.

    Args:
        text: Markdown.
        write: makes HTML of each piece of text that is shown, in their order.
        above: level of the heading that all of this stands under.
        level: of the heading before this; None for `above`. No level is left out.
        links: addresses on the web become links that name their host and open elsewhere, images
            links to them; without, both are just text.
    """
    tokens, level = _parser().parse(text), above if level is None else level
    for token in tokens:
        if token.type in _SIDED:
            token.attrSet("dir", "auto")
        if side := token.attrs.pop("style", ""):
            token.attrSet("class", f"rn-at-{str(side).rpartition(':')[2]}")
        if token.type.startswith("heading_"):
            deepest = level + (token.nesting > 0)
            level = min(int(token.tag[1:]) + above, deepest, _DEEPEST)
            token.tag = f"h{level}"
    return RenderedMarkdown(_html(tokens, write, links=links), level)


def render_line(text: str, write: Callable[[str], Markup], *, emphasis: bool = True) -> Markup:
    """Code, links and emphasis within a line; the last is left out where it would lose `*`."""
    return _html(_parser(emphasis=emphasis).parseInline(text), write, links=True)


def _html(tokens: Sequence[Token], write: Callable[[str], Markup], *, links: bool) -> Markup:
    env = {"write": write, "links": links, "hosts": []}
    html = _parser().renderer.render(tokens, _parser().options, env)
    return Markup(html)  # noqa: S704 - it escapes


@cache
def _parser(*, emphasis: bool = True) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    # Without references, since a line such as `[1]: so it is` would be taken for one and vanish.
    left_out = ["reference"] if emphasis else ["reference", "emphasis", "strikethrough"]
    return parser.enable(["table", "strikethrough"]).disable(left_out)


class _Renderer(RendererHTML):
    """Renderer with a method for each type of token; `env` is that of `_html`."""

    def text(self, tokens: Sequence[Token], at: int, _: Any, env: Any) -> str:
        lines = _LINE_END.split(tokens[at].content)
        return "<br>".join(str(env["write"](line)) for line in lines)

    def code_inline(self, tokens: Sequence[Token], at: int, _: Any, env: Any) -> str:
        return f"<code>{env['write'](tokens[at].content)}</code>"

    def code_block(self, tokens: Sequence[Token], at: int, _: Any, env: Any) -> str:
        code = env["write"](tokens[at].content)
        return f'<pre dir="ltr" tabindex="0"><code>{code}</code></pre>\n'

    def fence(self, tokens: Sequence[Token], at: int, _: Any, env: Any) -> str:
        return self.code_block(tokens, at, _, env)

    def softbreak(self, *_: Any) -> str:
        return "<br>"

    def hardbreak(self, *_: Any) -> str:
        return "<br>"

    def table_open(self, *_: Any) -> str:
        return '<div class="rn-wide" tabindex="0"><table>'

    def table_close(self, *_: Any) -> str:
        return "</table></div>"

    def link_open(self, tokens: Sequence[Token], at: int, _: Any, env: Any) -> str:
        address = str(tokens[at].attrGet("href") or "")
        env["hosts"].append(_host(address) if env["links"] else None)
        text = visible(address) if tokens[at + 1].type == "link_close" else ""
        return _LINK.format(visible(address), text) if env["hosts"][-1] else ""

    def link_close(self, tokens: Sequence[Token], at: int, _: Any, env: Any) -> str:
        host, before, token = env["hosts"].pop(), tokens[at - 2], tokens[at - 1]
        if not host:
            return ""
        # Its text is its address: the parser takes no other token there for a link of its own.
        is_plain = token.type == "link_open" or before.attrs.get("href") == token.content
        return "</a>" if is_plain else f"</a>{_HOST.format(host)}"

    def image(self, tokens: Sequence[Token], at: int, _: Any, env: Any) -> str:
        address = str(tokens[at].attrGet("src") or "")
        host, text = _host(address), env["write"](tokens[at].content)
        if not host or not env["links"] or any(env["hosts"]):
            return str(text)
        return f"{_LINK.format(visible(address), text or visible(address))}</a>{_HOST.format(host)}"


def _host(address: str) -> str | None:
    """The host of an address on the web; None for any other address."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return parts.hostname if parts.scheme in {"http", "https"} else None
