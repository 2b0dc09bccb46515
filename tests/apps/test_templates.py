"""Templates escape whatever they show: no template has a way around it."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest
from hostile_views import PAYLOADS
from jinja2 import meta
from jinja2.runtime import Macro
from markupsafe import Markup

import rag_nodes.apps
from rag_nodes.apps.markup import TEMPLATES, render

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = sorted(name.removesuffix(".html") for name in TEMPLATES.list_templates(["html"]))
BARE = re.compile(r"<[^>]*\s[\w-]+=(?!\")[^>]*>")
"""A tag with an attribute that has no quotes."""
WAYS_AROUND = re.compile(r"\|\s*safe|autoescape|Markup|\{\{-|-\}\}|\$\{|`|<script|<style|\son\w+=")
WRITTEN = re.compile(r"""\bf["'][^"'\n]*</?(?:a|b|div|li|p|pre|span|t[dr])[\s>]|[\w">]>["'] [+%]""")
"""Elements in a string that something is put into."""
URLS = ("href", "src", "action", "formaction", "data", "srcset", "background", "xlink:href")


class Hostile(str):
    """A payload that is text, a number, a list, a mapping and an object, all of payloads.

    What a template asks whether it is so, is or is not, as `true` says.
    """

    __slots__ = ("true",)

    def __new__(cls, text: str, *, true: bool) -> Self:
        string = super().__new__(cls, text)
        string.true = true
        return string

    def __getattr__(self, name: str) -> Hostile:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> Hostile:
        return self

    def __call__(self, *_: object, **__: object) -> Hostile:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter((self, self))

    def __len__(self) -> int:
        return 2

    def __bool__(self) -> bool:
        return self.true

    def __eq__(self, other: object) -> bool:
        return self.true

    def __format__(self, _: str) -> str:
        return str(self)

    def __hash__(self) -> int:
        return 0

    def items(self) -> Hostile:
        return self

    def get(self, *_: object) -> Hostile:
        return self


class Read(HTMLParser):
    """What a browser makes of a page: elements, and what could run or load something."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.dangers: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = tuple(name for name, _ in attrs)
        self.elements.append((tag, names))
        self.dangers += [name for name in names if not re.fullmatch(r"[a-z][a-z0-9-]*", name)]
        self.dangers += [name for name in names if name.startswith("on")]
        self.dangers += [f"{name}={value}" for name, value in attrs if name in URLS and value]

    def handle_comment(self, data: str) -> None:
        self.dangers.append(data)

    def handle_decl(self, decl: str) -> None:
        self.dangers += [decl] if decl != "doctype html" else []

    def unknown_decl(self, data: str) -> None:
        self.dangers.append(data)


@cache
def values_of(name: str) -> frozenset[str]:
    """Names of the values that a template shows."""
    source = Path(str(TEMPLATES.get_template(f"{name}.html").filename)).read_text("utf-8")
    wanted = meta.find_undeclared_variables(TEMPLATES.parse(source))
    return frozenset(wanted - set(TEMPLATES.globals))


def render_with_text(name: str, text: str, *, true: bool) -> str:
    """A template and its macros with one text in the place of all values."""
    hostile = Hostile(text, true=true)
    wanted = dict.fromkeys(values_of(name), hostile)
    pieces = [render(name, **wanted)]
    module = TEMPLATES.get_template(f"{name}.html").make_module(wanted)
    for macro in (name for name in vars(module).values() if isinstance(name, Macro)):
        calls = {"caller": lambda *_: hostile} if macro.caller else {}
        pieces.append(macro(*[hostile] * len(macro.arguments), **calls))
    return str(Markup("\n").join(pieces))


@pytest.mark.parametrize("name", NAMES)
def test_a_template_with_hostile_values_has_the_elements_it_has_with_harmless_ones(
    name: str,
) -> None:
    plain = {true: Read(render_with_text(name, "no harm", true=true)) for true in (True, False)}
    for text, (true, harmless) in product(PAYLOADS, plain.items()):
        html = render_with_text(name, text, true=true)
        parsed = Read(html)
        assert parsed.elements == harmless.elements, text
        assert [danger for danger in parsed.dangers if danger not in harmless.dangers] == [], text
        html.encode()  # it is sent as JSON in UTF-8


@pytest.mark.parametrize("name", NAMES)
def test_a_template_quotes_its_attributes_and_turns_escaping_off_nowhere(name: str) -> None:
    text = Path(str(TEMPLATES.get_template(f"{name}.html").filename)).read_text("utf-8")
    plain = re.sub(r"\{#.*?#\}", "", text, flags=re.DOTALL)
    assert WAYS_AROUND.findall(plain) == []
    filled = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "x", plain, flags=re.DOTALL)
    assert BARE.findall(re.sub(r'"[^"]*"', '""', filled)) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_template_opens_and_closes_the_same_elements(name: str) -> None:
    html = render_with_text(name, "text", true=True)
    opened, closed = (re.findall(rf"<{slash}(\w+)", html) for slash in ("", "/"))
    assert sorted(tag for tag in opened if tag not in {"br", "hr", "input", "meta"}) == sorted(
        closed
    )


@pytest.mark.parametrize("text", [None, "", Markup("<b>bold</b>"), "<b>", "a\x00b"])
def test_text_is_escaped_markup_stands_and_nothing_shows_nothing(text: str | None) -> None:
    shown = {None: "", "<b>": "&lt;b&gt;", "a\x00b": "a\ufffdb"}.get(text, str(text))
    macro = TEMPLATES.get_template("parts.html").module.name  # type: ignore[attr-defined]
    assert macro(text) == f"<bdi>{shown}</bdi>"


def test_no_module_of_the_page_writes_elements_around_text() -> None:
    folder = Path(rag_nodes.apps.__file__).parent
    assert {
        str(path.relative_to(folder)): elements
        for path in folder.rglob("*.py")
        if folder / "view" not in path.parents  # it draws Markdown, see its own tests
        and (elements := WRITTEN.findall(path.read_text("utf-8")))
    } == {}
