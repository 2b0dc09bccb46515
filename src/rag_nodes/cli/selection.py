"""What is typed to what the library takes: `--parser`, `--set`, `--filter` and their like."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError
from rag_nodes.import_paths import is_path, label_of
from rag_nodes.parsers.presets import (
    COMPARED,
    PRESETS,
    get_parser,
    is_preset_file,
    preset_named,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.models import Models
    from rag_nodes.parsers import Preset, SpanNodeParser
    from rag_nodes.query import Filter, QueryOptions
    from rag_nodes.settings import Settings


def assignments(texts: Iterable[str], where: str) -> dict[str, str]:
    """Options as typed, by name.

    Args:
        texts: each OPTION=VALUE.
        where: names the place, for messages.

    Raises:
        ConfigurationError: one is written otherwise, or given twice.
    """
    assigned: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise ConfigurationError(
                f"{where}: {text.strip()!r} is not OPTION=VALUE, for example chunk_size=500"
            )
        if name in assigned:
            raise ConfigurationError(f"{where}: {name} is given twice; leave one out")
        assigned[name] = value
    return assigned


def numbers(option: str, text: str) -> tuple[int, ...]:
    """Different numbers above 0, smallest first.

    Raises:
        ConfigurationError: something else was typed.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise ConfigurationError(f"{option} {text!r} must be numbers with commas, as 500,1000,2000")
    return tuple(sorted({int(part) for part in parts} - {0}))


def table_of(setting: str, texts: list[str]) -> dict[str, Any]:
    """Options by name, typed as OPTION=VALUE.

    Raises:
        ConfigurationError: one is written otherwise, or may be a key.
    """
    from rag_nodes.settings import refuse_secrets, typed_option

    flag = f"--{setting.removesuffix('s').replace('_', '-')}"
    options = {name: typed_option(value) for name, value in assignments(texts, flag).items()}
    refuse_secrets(options, flag, setting)
    return options


_PAGES = re.compile(r"(\d{1,6})(?:\s*-\s*(\d{1,6}))?")
_FIELDS = {"file": "file_name", "page": "pages", "heading": "heading", "source": "source"}
"""Keys as typed, and the fields of a filter they mean."""


@dataclass(frozen=True, slots=True)
class ParserChoice:
    """One `--parser`, as typed.

    Attributes:
        preset: name of the preset, or the import path of a foreign splitter.
        options: its own options, which win over `--set`; those of a path are in the path.
        file: what a preset file holds; None where none was named.
    """

    preset: str
    options: dict[str, str]
    file: Preset | None = None

    @property
    def known(self) -> Preset:
        """The preset itself.

        Raises:
            ConfigurationError: there is none of that name.
        """
        return self.file or preset_named(self.preset)

    @property
    def is_foreign(self) -> bool:
        """Whether it is a splitter of another package, by its import path."""
        return is_path(self.preset)

    @property
    def label(self) -> str:
        """What the parser is called in reports: the preset, and its own options where it has."""
        if self.is_foreign:
            return label_of(self.preset)
        own = ",".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.preset}:{own}" if own else self.preset


@dataclass(frozen=True, slots=True)
class Selection:
    """The parsers a command line names, checked for syntax only.

    Attributes:
        choices: one per `--parser`; none for those a comparison runs.
        changes: what `--set` changes in every parser that has the option.
    """

    choices: tuple[ParserChoice, ...]
    changes: dict[str, str]

    @property
    def embeds(self) -> bool:
        """Whether any of the parsers needs an embedding model to cut.

        Raises:
            ConfigurationError: a preset is unknown.
        """
        return any(not one.is_foreign and one.known.embeds for one in self.choices)

    @property
    def query(self) -> Mapping[str, Any]:
        """How to search, where the one parser is a preset file that says so."""
        return self.choices[0].known.query if self._is_one_file else {}

    @property
    def _is_one_file(self) -> bool:
        return len(self.choices) == 1 and self.choices[0].file is not None

    def build(self, models: Models | None = None) -> dict[str, SpanNodeParser]:
        """The parsers by label.

        Args:
            models: what a parser that embeds should embed with; None for its own default.

        Raises:
            ConfigurationError: a preset or option is unknown, a value out of range, or one
                parser is named twice.
        """
        choices = self.choices or tuple(ParserChoice(name, {}) for name in COMPARED)
        parsers: dict[str, SpanNodeParser] = {}
        unused = set(self.changes)
        for choice in choices:
            if choice.label in parsers:
                preset = "fixed" if choice.is_foreign else choice.preset
                raise ConfigurationError(
                    f"parser {choice.label!r} is named twice; give one of them other options, for "
                    f"example --parser {preset}:chunk_size=500"
                )
            if choice.is_foreign:
                from rag_nodes.parsers import ForeignNodeParser

                parsers[choice.label] = ForeignNodeParser(path=choice.preset)
                continue
            known = plain_options(choice.known.make())
            shared = {name: value for name, value in self.changes.items() if name in known}
            unused -= shared.keys()
            own: dict[str, Any] = {**shared, **choice.options}
            _refuse_unknown(choice, known)
            parsers[choice.label] = choice.known.make(
                **{**_embedding(choice.known, own, models), **own}
            )
        if unused:
            raise ConfigurationError(
                f"--set: no chosen parser has an option {', '.join(sorted(unused))}; "
                "'rag-nodes parsers' lists them"
            )
        return parsers


def built(cli: Invocation, selection: Selection) -> dict[str, SpanNodeParser]:
    """The parsers by label; models are only loaded for one that embeds.

    Raises:
        ConfigurationError: as `Selection.build`.
    """
    settings = cli.settings()
    if selection.embeds:
        return selection.build(cli.workspace(settings).models(answers=False))
    return selection.build()


def select(choices: Sequence[str], changes: Sequence[str] = ()) -> Selection:
    """What the command line says about parsers, before anything heavy is imported.

    Raises:
        ConfigurationError: something is not written as NAME[:OPTION=VALUE,...] or OPTION=VALUE.
    """
    return Selection(
        choices=tuple(_choice(text) for text in choices),
        changes=assignments(changes, "--set"),
    )


def options_of(preset: str) -> dict[str, Any]:
    """The plain options of a preset's parser and their defaults.

    Raises:
        ConfigurationError: there is no such preset.
    """
    return plain_options(get_parser(preset))


def plain_options(parser: SpanNodeParser) -> dict[str, Any]:
    """The options of a parser that are plain data, and their values."""
    fields = type(parser).model_fields
    return {name: getattr(parser, name) for name, field in fields.items() if not field.exclude}


def query_options(cli: Invocation, usual: Mapping[str, Any] = MappingProxyType({})) -> QueryOptions:
    """How to answer: flags first, then the settings, then what a preset file says.

    A limit given as a flag holds as it is, also for questions that ask for steps.

    Args:
        cli: the flags.
        usual: options of a preset file.

    Raises:
        ConfigurationError: a filter is not written as described, or a number out of range.
    """
    from rag_nodes.query import QueryOptions

    settings = cli.settings()
    limits = {"budget": context_budget(settings), "top_k": settings.top_k}
    if not settings.model_fields_set & limits.keys():
        limits |= {name: usual[name] for name in limits if name in usual}
    # Sentences fill a budget: a number of chunks that was asked for is one of whole chunks.
    own = dict(usual) if limits["budget"] else {**usual, "granularity": None}
    chosen = own | {k: v for k, v in settings.answering().items() if v is not None}
    if any(cli.flags.get(limit) is not None for limit in limits):
        chosen["step_factor"] = 1.0
    typed = {**cli.search, "filter": search_filter(cli.search["filter"] or ())}
    return QueryOptions(
        **chosen | limits | {name: value for name, value in typed.items() if value is not None}
    )


def search_filter(texts: Sequence[str]) -> Filter | None:
    """What to search in; None for everything.

    Args:
        texts: each KEY=VALUE, every key once.

    Raises:
        ConfigurationError: a key is unknown or given twice, or a value is no page range.
    """
    from rag_nodes.query import Filter

    conditions: dict[str, Any] = {}
    for text in texts:
        key, _, value = (part.strip() for part in text.partition("="))
        if key not in _FIELDS or not value:
            raise ConfigurationError(
                f"--filter {text}: write file=NAME, page=3, page=3-9, heading=WORDS or source=URL"
            )
        if _FIELDS[key] in conditions:
            raise ConfigurationError(f"--filter: {key} is given twice; leave one out")
        conditions[_FIELDS[key]] = _pages(value) if key == "page" else value
    return Filter(**conditions) if conditions else None


def context_budget(settings: Settings) -> int | None:
    """Tokens of context; asking for a number of chunks alone lifts the default limit."""
    if settings.top_k is not None and "budget" not in settings.model_fields_set:
        return None
    return settings.budget


def _choice(text: str) -> ParserChoice:
    if is_path(text):
        return ParserChoice(text.strip(), {})
    if is_preset_file(text):
        from rag_nodes.parsers.preset_files import load_preset

        found = load_preset(text.strip())
        return ParserChoice(found.name, {}, found)
    preset, colon, rest = text.partition(":")
    where = f"--parser {text}"
    if not preset.strip() or (colon and not rest.strip()):
        raise ConfigurationError(f"{where}: write NAME or NAME:OPTION=VALUE,OPTION=VALUE")
    if "=" not in rest and rest and preset.strip() not in PRESETS:
        raise ConfigurationError(
            f"{where}: there is no preset of that name; a splitter of another package is "
            "module:Class, or module:function(option=value) where a function makes it"
        )
    options = assignments(rest.split(","), where) if rest else {}
    return ParserChoice(preset.strip(), options)


def _refuse_unknown(choice: ParserChoice, known: dict[str, Any]) -> None:
    """Options that are objects cannot be typed, so they are unknown here."""
    if unknown := [name for name in choice.options if name not in known]:
        raise ConfigurationError(
            f"--parser {choice.label}: unknown option {', '.join(unknown)}; "
            f"{choice.preset} takes: {', '.join(sorted(known))}"
        )


def _embedding(preset: Preset, own: dict[str, Any], models: Models | None) -> dict[str, Any]:
    """Parsers that embed use the model the user chose, unless told otherwise."""
    if models is None or not preset.embeds or "embedding" in own:
        return {}
    model = models.sentence_model
    return {} if model is None else {"embed_model": model}


def _pages(value: str) -> tuple[int, int]:
    found = _PAGES.fullmatch(value)
    if found is None:
        raise ConfigurationError(f"--filter page={value}: write a page or a range, as page=3-9")
    first = int(found[1])
    return first, int(found[2] or first)
