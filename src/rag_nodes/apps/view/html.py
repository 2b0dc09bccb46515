"""A small HTML writer in which text is escaped unless it was made here."""

# ruff: noqa: S704 - what makes HTML of text
from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from markupsafe import Markup as Html

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Html", "drawn", "escape", "join", "name_of", "tag", "visible"]

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""Control characters, and half characters no encoder takes."""
_TEMPLATE = str.maketrans({"$": "&#36;", "{": "&#123;", "}": "&#125;", "`": "&#96;"})
"""Gradio's HTML component fills templates in the browser: ours must not look like one."""
_VOID = frozenset({"br", "hr"})


def escape(text: str) -> Html:
    """Any text as HTML that shows it and does nothing else."""
    return Html(html.escape(visible(text), quote=True).translate(_TEMPLATE))


def visible(text: str) -> str:
    """The text with a sign in place of each character that cannot be shown."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def tag(name: str, *children: str | None, **attributes: str | int | bool | None) -> Html:
    """One element.

    Args:
        name: of the element; never text from outside.
        children: `Html` as it is, other text escaped, None left out.
        attributes: `cls` is `class`, `data_x` is `data-x`; values are escaped and quoted, True
            gives a bare attribute, None and False leave it out.
    """
    opening = Html("<" + name + "".join(_attributes(attributes)) + ">")
    return opening if name in _VOID else Html(f"{opening}{join(children)}</{name}>")


def join(children: Iterable[str | None]) -> Html:
    """Several pieces one after another, each escaped unless it is HTML already."""
    return Html(
        "".join(
            child if isinstance(child, Html) else escape(child)
            for child in children
            if child is not None
        )
    )


def drawn(markup: Html) -> Html:
    """What another module of ours wrote, in which text is escaped already, kept from Gradio."""
    return Html(str(markup).translate(_TEMPLATE))


def name_of(text: str) -> Html:
    """A name from outside, kept from turning around the text after it."""
    return tag("bdi", text)


def _attributes(attributes: dict[str, str | int | bool | None]) -> Iterable[str]:
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        name = "class" if key == "cls" else key.replace("_", "-")
        yield f" {name}" if value is True else f' {name}="{escape(str(value))}"'
