"""Columns of a user's own among the parsers that an app offers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.import_paths import label_of
from rag_nodes.core.several import several
from rag_nodes.core.spelling import quoted
from rag_nodes.evaluation.engines.finding import finds
from rag_nodes.parsers import offered
from rag_nodes.parsers.presets import PRESETS, Preset, preset_named


@dataclass(frozen=True)
class FoundColumn(Preset):
    """A retriever or engine, offered like a parser without options.

    Attributes:
        given: what finds.
    """

    given: Any = None

    @property
    def embeds(self) -> bool:
        """Never: it has models of its own."""
        return False

    def make(self, **_options: Any) -> Any:
        """Return the object that was given."""
        return self.given


def named(columns: Any) -> dict[str, Any]:
    """Return columns by name; without one they have the name of their class.

    Raises:
        ConfigurationError: these are no columns, or two have the same name.
    """
    given = several(columns)
    if isinstance(given, Mapping):
        return dict(given)
    if not isinstance(given, Iterable):
        raise ConfigurationError(
            f"columns is {quoted(given)}; give it a name: columns={{'mine': …}}"
        )
    by_name: dict[str, Any] = {}
    for column in given:
        name = column if isinstance(column, str) else type(column).__name__
        name = label_of(name) or name
        if name in by_name:
            raise ConfigurationError(
                f"two columns are called {name}; give each a name: columns={{'first': …, …}}"
            )
        by_name[name] = column
    return by_name


def offered_columns(columns: Mapping[str, Any] | str | Iterable[Any] = ()) -> dict[str, Preset]:
    """All that can be chosen, by name: the columns of a user's own first, then what `offered` has.

    Args:
        columns: as `Comparison` takes them, by name, or a list of them. What finds as it stands may
            have the name of a preset, which then is not on offer.

    Raises:
        ConfigurationError: a parser among them cannot be used, or its name is taken.
    """
    columns = named(columns)
    finders = {name: column for name, column in columns.items() if finds(column)}
    rest = {
        name: _renamed(name, column) if isinstance(column, str) and column in PRESETS else column
        for name, column in columns.items()
        if name not in finders
    }
    same = {name for name in rest if rest[name] is None}
    offer = offered({name: column for name, column in rest.items() if name not in same})
    for name, column in finders.items():
        kind = type(column)
        where = f"{kind.__module__}:{kind.__qualname__}"
        offer[name] = FoundColumn(name, where, name, f"as {kind.__name__} finds", given=column)
    return {name: offer[name] for name in (*columns, *offer)}


def _renamed(name: str, preset: str) -> Preset | None:
    """A preset under another name; None where that is its own, as it is on offer already."""
    return None if name == preset else replace(preset_named(preset), name=name, title=name)
