"""The templates of the page, and the one way to fill them: everything from outside is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rag_nodes.apps.markup import colour_of, count, drawn, place, title_of, visible

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["TEMPLATES", "render", "whole_page"]


def render(name: str, **values: Any) -> Markup:
    """A template as HTML that may stand in another one, and in a component of Gradio.

    Args:
        name: of the template, without its folder and ending.
        values: what it needs. Text is escaped, `Markup` stands as it is, None shows nothing.
            Numbers are formatted before.
    """
    return drawn(Markup(_template(name).render(values)))  # noqa: S704 - the template escapes


def whole_page(name: str, **values: Any) -> str:
    """A template as a file of its own, which no component of Gradio shows; see `render`."""
    return _template(name).render(values)


def _template(name: str) -> Template:
    return TEMPLATES.get_template(f"{name}.html")


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
TEMPLATES.globals.update(colour_of=colour_of, count=count, place=place, title_of=title_of)
