"""Parsers to choose from: presets, and splitters that are given or named by import path.

And what is said of each without anybody writing it down again: its numbers, and how far they go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.import_paths import label_of
from rag_nodes.core.several import several
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.presets import LEAST_CHUNK, PRESETS, OptionRange, Preset, unknown_parser

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_WIDE = 4
"""Upper bound of an option that has none, as a multiple of its default."""
_SHOWN = 4
"""Options of a parser named under its title, where its preset does not say which."""
_COMMON = frozenset({*SpanNodeParser.model_fields, "output_version"})


def offered(foreign: Mapping[str, Any] | str | Iterable[str] = ()) -> dict[str, Preset]:
    """Return everything that can be chosen, by name: the presets, then what is given here.

    Args:
        foreign: splitters of other packages (see `ForeignNodeParser`) or parsers of ours with
            options of their own, by the name they get; or import paths,
            `module:Class(option=value)`, which are named after their class. One that was made
            already is used by several threads at once.

    Raises:
        ConfigurationError: one of these cannot be used, or its name is taken.
    """
    presets = dict(PRESETS)
    given = several(foreign)
    named = (
        given.items()
        if isinstance(given, Mapping)
        else [(label_of(parser), parser) for parser in given]
    )
    for name, splitter in named:
        if name in presets:
            raise ConfigurationError(f"the name '{name}' is taken by a parser; choose another one")
        presets[name] = splitter if isinstance(splitter, Preset) else _as_preset(name, splitter)
    return presets


def _as_preset(name: str, given: Any) -> Preset:
    from rag_nodes.parsers.foreign import ForeignNodeParser, as_parser, parser_at

    options: dict[str, Any]
    if isinstance(given, str) and ":" not in given:
        raise unknown_parser(given, PRESETS)
    parser = parser_at(given) if isinstance(given, str) else as_parser(given)
    if isinstance(parser, ForeignNodeParser):
        options = {"path": parser.path} if parser.path else {"splitter": parser.splitter}
    else:
        names = (name for name in type(parser).model_fields if name != "id_func")
        options = {name: getattr(parser, name) for name in names}
    where = f"{type(parser).__module__}:{type(parser).__qualname__}"
    splits = getattr(parser, "splitter_class", "") or parser.class_name()
    return Preset(name, where, name, f"as {splits.replace(':', '.')} splits", options=options)


def ranges_of(preset: Preset) -> tuple[OptionRange, ...]:
    """The numbers of a parser worth trying out: those its preset names, else all of its class.

    Bounds are those of the field; where it has none, four times what it is at first.
    """
    if preset.ranges:
        return preset.ranges
    parser = preset.make()
    if not isinstance(parser, SpanNodeParser):  # see `rag_nodes.evaluation.engines`
        return ()
    fields = type(parser).model_fields.items()
    return tuple(
        _range_of(name, field, getattr(parser, name), getattr(parser, "unit", "tokens"))
        for name, field in fields
        if _is_number(getattr(parser, name)) and name not in _COMMON
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _range_of(name: str, field: FieldInfo, value: float, unit: str) -> OptionRange:
    low = next((bound.ge for bound in field.metadata if hasattr(bound, "ge")), None)
    high = next((bound.le for bound in field.metadata if hasattr(bound, "le")), None)
    least = max(low or 0, LEAST_CHUNK) if name == "chunk_size" and unit != "sentences" else low or 0
    most = high if high is not None else _WIDE * value or 100
    words = name.replace("_", " ").capitalize()
    label = f"{words}, {unit}" if name.startswith("chunk_") else words
    step = 1 if isinstance(value, int) else (most - least) / 100
    return OptionRange(name, label, min(least, value), max(most, value), step)


def in_few_words(configuration: Mapping[str, object]) -> str:
    """The options of a parser by name, for one whose preset says nothing about them.

    Of a foreign one those that were found out, under "options".
    """
    options = configuration.get("options", configuration)
    named = options.items() if isinstance(options, Mapping) else ()
    shown = [
        f"{name} {value}" for name, value in named if _is_number(value) and name not in _COMMON
    ]
    return " · ".join(shown[:_SHOWN])
