"""Parsers that other packages bring along, found by entry point and imported only when asked for.

A package offers a parser with three lines in its `pyproject.toml`:

    [project.entry-points."rag_nodes.parsers"]
    paragraphs = "its_module:ParagraphNodeParser"
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError
from rag_nodes.keys import kind_of

if TYPE_CHECKING:
    from rag_nodes.parsers.base import SpanNodeParser

GROUP = "rag_nodes.parsers"
"""Entry-point group in which other packages name their parsers."""


@lru_cache(maxsize=1)
def find_plugins() -> Mapping[str, tuple[EntryPoint, ...]]:
    """All plugins by name, sorted; a name that several packages claim has several.

    Reads the metadata of the installed packages, once per process, and imports none of them.
    """
    claims: dict[str, dict[str, EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        # A package can be on the path twice, installed and as its source.
        claims.setdefault(entry.name, {})[f"{package_of(entry)} {entry.value}"] = entry
    return {name: tuple(claims[name].values()) for name in sorted(claims)}


def package_of(entry: EntryPoint) -> str:
    """Name and version of the package that offers a parser."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unnamed package"


def plugin_of(class_name: str) -> str | None:
    """The name under which a plugin offers the class; None where no entry point says so."""
    found = (n for n, some in find_plugins().items() if class_name in {one.attr for one in some})
    return next(found, None)


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
    claims = find_plugins().get(name)
    if not claims:
        return None
    first, *others = claims
    packages = " and ".join(map(package_of, claims))
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


def _import(entry: EntryPoint) -> type[SpanNodeParser]:
    from rag_nodes.parsers.base import SpanNodeParser

    where = f"parser {entry.name!r} of {package_of(entry)} ({entry.value})"
    try:
        parser = entry.load()
    except (Exception, SystemExit) as error:
        raise ConfigurationError(
            f"{where} cannot be imported: {kind_of(error)}; upgrade or uninstall that package"
        ) from error
    if not (isinstance(parser, type) and issubclass(parser, SpanNodeParser)):
        raise ConfigurationError(
            f"{where} is not a parser: its entry point must name a subclass of "
            "rag_nodes.parsers.SpanNodeParser"
        )
    return parser
