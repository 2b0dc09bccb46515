"""HTML of the page, made from templates in which text from outside is escaped."""

from __future__ import annotations

import re
from contextvars import ContextVar
from math import ceil
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rag_nodes.apps.view.markdown import visible
from rag_nodes.core.errors import CHECK_KEY, SET_KEY
from rag_nodes.evaluation.columns import REFERENCE
from rag_nodes.parsers.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from jinja2 import Template

_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*\)")
_MARKS = re.compile(r"^#{1,6}\s+|\\(?=[!-/:-@\[-`{-~])|`+", re.MULTILINE)
"""Marks of Markdown for headings, escapes and code."""
_COLOURS = 6
"""Colours in the style sheet."""
COLUMN_COLOURS: ContextVar[Mapping[str, int]] = ContextVar(
    "COLUMN_COLOURS", default=MappingProxyType({})
)
"""Colours of the columns of the session that is drawn, by name, counted from 0."""


def colour_of(column: str) -> str:
    """Return the class that carries the colour of a column, the same everywhere on a page."""
    number = COLUMN_COLOURS.get().get(column)
    return f"rn-c{(free_colour(column, ()) if number is None else number) + 1}"


def free_colour(column: str, taken: Collection[int]) -> int:
    """Return the default colour of a column, or the next one that is not taken, counted from 0."""
    names = tuple(PRESETS)
    default = names.index(column) if column in names else 0
    if column == REFERENCE:  # beside the presets that are ticked at first
        default = 3
    wheel = [(default + step) % _COLOURS for step in range(_COLOURS)]
    return next((number for number in wheel if number not in taken), wheel[0])


def place(page: int | None, page_end: int | None) -> str | None:
    """`p. 3`, `pp. 3 to 4`, or None where there are no pages."""
    if page is None:
        return None
    return f"p. {page}" if page_end in (None, page) else f"pp. {page}\N{EN DASH}{page_end}"


def in_a_line(text: str) -> str:
    """A text without line ends and marks of Markdown, such as for its first words."""
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", text.replace("<br>", " "))).split())


def file_name(path: str) -> str:
    """The last part of a path or address."""
    return PurePath(path).name or path


def seconds(value: float) -> str:
    """A duration, short and with as many digits as mean something."""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < 60 else f"{value / 60:.1f} min"  # noqa: PLR2004 - a minute


def left(value: float) -> str:
    """An estimate of what is left of a duration: whole seconds or minutes, rounded up."""
    rest = ceil(value)
    return f", about {f'{ceil(rest / 60)} min' if rest > 60 else f'{rest} s'} left"  # noqa: PLR2004


def percent(share: float | None) -> str:
    """A share for a table; a dash where there is none, and never 0 % or 100 % by rounding."""
    if share is None:
        return "\N{EN DASH}"
    text = f"{share:.0%}"
    if (text == "0%" and share) or (text == "100%" and share < 1):
        text = f"{share:.2%}"
    return text.replace("%", " %")


def count(number: int, noun: str, many: str | None = None) -> str:
    """`1 page`, `1,200 pages`."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def together(remarks: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return each remark once, with the names of all that it is about before it."""
    names: dict[str, list[str]] = {}
    for name, remark in remarks:
        names.setdefault(remark, []).append(name)
    return [(", ".join(about), remark) for remark, about in names.items()]


def render(name: str, **values: Any) -> Markup:
    """A template as HTML that may stand in another one.

    Args:
        name: of the template, without its folder and ending.
        values: what it needs. Text is escaped, `Markup` stands as it is, None shows nothing.
            Numbers are formatted before.
    """
    return Markup(_template(name).render(values))  # noqa: S704 - the template escapes


def part(name: str, *values: Any) -> Markup:
    """A macro of `parts.html` as HTML for a template."""
    markup: Markup = getattr(_template("parts").module, name)(*values)
    return markup


def _template(name: str) -> Template:
    return TEMPLATES.get_template(f"{name}.html")


def for_page(message: str) -> str:
    """Return a message of the library with remedies that a visitor of the page can follow."""
    for remedy in (CHECK_KEY, SET_KEY):
        message = message.replace(remedy, "check the API key under Models")
    return message


def _shown(value: Any) -> Any:
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


TEMPLATES = Environment(
    loader=PackageLoader("rag_nodes.apps"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_shown,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters["for_page"] = for_page
TEMPLATES.globals.update(colour_of=colour_of, count=count, place=place)
