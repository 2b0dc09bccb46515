"""Parsers that other packages bring along, found by entry point and imported only when asked for.

A package offers a parser with three lines in its `pyproject.toml`:

    [project.entry-points."rag_nodes.parsers"]
    paragraphs = "its_module:ParagraphNodeParser"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from rag_nodes.parsers.base import SpanNodeParser

GROUP = "rag_nodes.parsers"
"""Entry-point group in which other packages name their parsers."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """The parser of another package by the name `get_parser` takes; nothing of it was imported."""

    name: str
    entry: EntryPoint

    @property
    def distribution(self) -> str:
        """Name and version of the package that offers it."""
        found = self.entry.dist
        return f"{found.name} {found.version}" if found else "an unnamed package"


@lru_cache(maxsize=1)
def find_plugins() -> Mapping[str, tuple[Plugin, ...]]:
    """All plugins by name, sorted; a name that several packages claim has several.

    Reads the metadata of the installed packages, once per process, and imports none of them.
    """
    claims: dict[str, dict[str, Plugin]] = {}
    for entry in entry_points(group=GROUP):
        plugin = Plugin(entry.name, entry)
        # A package can be on the path twice, installed and as its source.
        claims.setdefault(entry.name, {})[f"{plugin.distribution} {entry.value}"] = plugin
    return {name: tuple(claims[name].values()) for name in sorted(claims)}


def plugin_of(class_name: str) -> str | None:
    """The name under which a plugin offers the class; None where none says so.

    Only what the entry points say is asked: nothing is imported.
    """
    for name, claims in find_plugins().items():
        if any(plugin.entry.attr == class_name for plugin in claims):
            return name
    return None


def load_plugin(
    name: str, built_in: Mapping[str, type[SpanNodeParser]]
) -> type[SpanNodeParser] | None:
    """The parser class a plugin offers under `name`; None where no plugin does.

    Only the plugin asked for is imported, so one that is broken does not stop the others.
    `built_in` are our own parsers by the names of their presets.

    Raises:
        ConfigurationError: the name is taken (by us or by another package), or the plugin cannot
            be imported or is no parser; the message names the package.
    """
    claims: Sequence[Plugin] = find_plugins().get(name) or []
    if not claims:
        return None
    first, *others = claims
    packages = " and ".join(plugin.distribution for plugin in claims)
    if name in built_in:
        raise ConfigurationError(
            f"parser {name!r} is built in, and {packages} offers another under the same name; "
            "uninstall it, or rename its entry point"
        )
    if others:
        raise ConfigurationError(
            f"parser {name!r} is offered by {packages}; uninstall all but one of them"
        )
    parser = _import(first)
    taken = {own.class_name() for own in built_in.values() if own is not parser}
    if parser.class_name() in taken:
        raise ConfigurationError(
            f"parser {name!r} of {packages} calls itself {parser.class_name()!r}, as one of ours "
            "does, so caches would mix them up; its class needs another name"
        )
    return parser


def _import(plugin: Plugin) -> type[SpanNodeParser]:
    """The class behind an entry point.

    Raises:
        ConfigurationError: it cannot be imported, or is not a `SpanNodeParser`.
    """
    from rag_nodes.parsers.base import SpanNodeParser

    where = f"parser {plugin.name!r} of {plugin.distribution} ({plugin.entry.value})"
    try:
        parser = plugin.entry.load()
    except (Exception, SystemExit) as error:
        raise ConfigurationError(
            f"{where} cannot be imported: {type(error).__name__}: {error}; "
            "upgrade or uninstall that package"
        ) from error
    if not (isinstance(parser, type) and issubclass(parser, SpanNodeParser)):
        raise ConfigurationError(
            f"{where} is not a parser: its entry point must name a subclass of "
            "rag_nodes.parsers.SpanNodeParser"
        )
    return parser
