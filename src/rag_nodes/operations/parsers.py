"""Parsers as a request names them, made: for the owner of the computer, and for strangers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_origin

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.spelling import argument, did_you_mean, quoted
from rag_nodes.operations.fields import MOST_COLUMNS
from rag_nodes.operations.workspace.limits import LARGEST
from rag_nodes.parsers.mistakes import option_hint
from rag_nodes.parsers.presets import LEAST_CHUNK, PRESETS, preset_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding

    from rag_nodes.operations.fields import ParserSpec
    from rag_nodes.parsers import Preset, SpanNodeParser

    Embedding: TypeAlias = Callable[[], BaseEmbedding | None]

LARGEST_WINDOW = 50
"""Sentences on either side that are kept beside a chunk for a stranger, where the parser's own
default is not more than that."""


def plain_options(parser: SpanNodeParser) -> dict[str, Any]:
    """The options of a parser that are plain data, and their values."""
    fields = type(parser).model_fields
    return {name: getattr(parser, name) for name, field in fields.items() if not field.exclude}


def make_parsers(specs: Sequence[ParserSpec], embedding: Embedding) -> dict[str, SpanNodeParser]:
    """The parsers that an owner names, by label.

    Args:
        specs: presets and import paths.
        embedding: gives what compares sentences, where a parser does that; None for the parser's
            own.

    Raises:
        ConfigurationError: a preset or option is unknown, a value out of range, or one parser is
            named twice.
    """
    parsers: dict[str, SpanNodeParser] = {}
    for spec in specs:
        label = spec.label
        if spec.is_foreign:
            from rag_nodes.parsers.foreign import parser_at

            _refuse_twice(label, "fixed", parsers)
            parsers[label] = parser_at(spec.name)
            continue
        _refuse_row(spec.name)
        preset = preset_named(spec.name)
        _refuse_twice(label, spec.name, parsers)
        options = plain_options(preset.make())
        if unknown := [name for name in spec.options if name not in options]:
            raise ConfigurationError(
                f"parser '{label}': unknown option {', '.join(unknown)}; "
                + option_hint(unknown[0], sorted(options), spec.name)
            )
        parsers[label] = _made(f"parser '{label}'", preset, spec.options, embedding)
    return parsers


def _refuse_row(name: str) -> None:
    """Refuse the name of a row of `recommend`, such as "semantic at 200", with its spelling."""
    preset, at, size = name.partition(" at ")
    if at and preset in PRESETS and (size.isdecimal() or size == "equal size"):
        typed = _typed(preset, int(size)) if size.isdecimal() else ""
        measured = f"-p {argument(typed)}, as `recommend` measures it, or " if typed else ""
        raise ConfigurationError(
            f"'{name}' is the name of a row of a report; write {measured}the -p of the row in the "
            f"report of --html{'' if typed else ', if it has one'}"
        )


def _typed(preset: str, tokens: int) -> str:
    """A preset at a size, as `recommend` measures it and as it is typed; "" if it cannot be."""
    from rag_nodes.evaluation.sizes import resized, without_overlap
    from rag_nodes.parsers.loading import spec_of

    try:
        return spec_of(resized(without_overlap(preset_named(preset).make()), tokens), preset)
    except ConfigurationError:  # it has no such size
        return ""


def make_offered(
    specs: Sequence[ParserSpec], offer: Mapping[str, Preset], embedding: Embedding
) -> dict[str, SpanNodeParser]:
    """The parsers that a stranger names, by label: what is on offer, and never what they write.

    Numbers and choices only: a text could name a model to load or a pattern to run.

    Args:
        specs: names on offer with options.
        offer: see `rag_nodes.parsers.offered`.
        embedding: see `make_parsers`.

    Raises:
        ConfigurationError: too many, one that is not on offer, an option that is no number or
            choice, or chunks that would be too many.
    """
    if len(specs) > MOST_COLUMNS:
        raise ConfigurationError(
            f"you named {len(specs)} parsers, and at most {MOST_COLUMNS} can be compared; leave "
            f"some out"
        )
    parsers: dict[str, SpanNodeParser] = {}
    for spec in specs:
        if spec.name not in offer:
            hint = did_you_mean(spec.name, offer, "choose one of: ")
            raise ConfigurationError(f"unknown parser '{spec.name}'; {hint}")
        _refuse_twice(spec.label, spec.name, parsers)
        preset, where = offer[spec.name], f"parser '{spec.name}'"
        for name, value in spec.options.items():
            _check_harmless(where, preset, name, value)
        parsers[spec.label] = _made(where, preset, spec.options, embedding)
        check_cost(spec.label, parsers[spec.label])
    return parsers


def _made(
    where: str, preset: Preset, options: Mapping[str, Any], embedding: Embedding
) -> SpanNodeParser:
    """Return the parser of a preset with these options; `where` names it in an error.

    A parser that embeds uses the model that was chosen, unless its options name another.
    """
    model = embedding() if preset.embeds and "embedding" not in options else None
    try:
        return preset.make(**({} if model is None else {"embed_model": model}), **options)
    except ConfigurationError as error:
        reason = str(error).removeprefix(f"{preset.parser.__name__}: ")
        raise ConfigurationError(f"{where}: {reason}") from error


def _refuse_twice(label: str, name: str, parsers: Mapping[str, SpanNodeParser]) -> None:
    if label in parsers:
        raise ConfigurationError(
            f"parser '{label}' is named twice; give one of them other options, for example "
            f"{name}:chunk_size=500"
        )


def _check_harmless(where: str, preset: Preset, name: str, value: Any) -> None:
    """Refuse a value of an option that a visitor may not send."""
    field = preset.parser.model_fields.get(name)
    kinds = [] if field is None or field.exclude else _kinds(field.annotation)
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    if value in words:
        return
    if {int, float, bool}.isdisjoint(kinds):
        raise ConfigurationError(
            f"{where}: {name} cannot be set by a request" + (f"; one of: {words}" if words else "")
        )
    try:
        number = float(value)
    except ValueError:
        raise ConfigurationError(f"{where}: {name} must be a number, not {quoted(value)}") from None
    if not abs(number) <= LARGEST:
        raise ConfigurationError(f"{where}: {name} must be at most {LARGEST:,}, not {value}")


def _kinds(annotation: Any) -> list[Any]:
    """The types that a field takes, without None."""
    if get_origin(annotation) is Literal or not get_args(annotation):
        return [annotation]
    return [part for part in get_args(annotation) if part is not type(None)]


def check_cost(name: str, parser: SpanNodeParser) -> None:
    """Refuse chunks so small or so shared that a short text becomes a very long list."""
    size: int = getattr(parser, "chunk_size", LEAST_CHUNK)
    overlap: int = getattr(parser, "chunk_overlap", 0)
    if getattr(parser, "unit", "tokens") != "sentences" and size < LEAST_CHUNK:
        raise ConfigurationError(f"{name}: chunk_size must be at least {LEAST_CHUNK}, not {size}")
    if 4 * overlap > 3 * size:
        raise ConfigurationError(
            f"{name}: chunk_overlap must be at most three quarters of chunk_size, not {overlap} of "
            f"{size}"
        )
    window: int = getattr(parser, "window", 0)
    fields = getattr(type(parser), "model_fields", {})  # a user's own engine has none
    widest = max(LARGEST_WINDOW, getattr(fields.get("window"), "default", 0))
    if window > widest:
        raise ConfigurationError(f"{name}: window must be at most {widest}, not {window}")
