"""Presets: parsers by name, with their options and descriptions.

Command line, REST, MCP, page, help and the tables of the documentation are made from it. It
imports no parser before one is asked for, so that naming them all costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.import_paths import is_path
from rag_nodes.core.spelling import did_you_mean

if TYPE_CHECKING:
    from rag_nodes.parsers.base import SpanNodeParser


@dataclass(frozen=True, slots=True)
class OptionRange:
    """One number of a parser that is worth trying out, as a slider offers it.

    Attributes:
        field: the parser's field, or a key in one, as in `child_options.chunk_size`.
        label: what it means, unit included.
        minimum: least value.
        maximum: largest value.
        step: distance of neighbouring values.
    """

    field: str
    label: str
    minimum: float
    maximum: float
    step: float


@dataclass(frozen=True)
class Preset:
    """A parser with its options, under a name.

    Attributes:
        name: what `get_parser` and `--parser` take.
        path: where its class is, `module:Class`.
        title: what people read above a column.
        summary: one line: how it splits.
        options: options that differ from the class's defaults.
        sizes: least and most `chunk_size` to try with it; None where no range is known.
        headline: its options in a few words, as a format string over the parser's fields; "" for
            its numbers by name.
        ranges: of its numbers those that change most, and how far. The first is the one in which a
            second copy of the preset differs at first. Empty for all numbers of the class.
    """

    name: str
    path: str
    title: str
    summary: str
    options: Mapping[str, Any] = field(default_factory=dict)
    sizes: tuple[int, int] | None = None
    headline: str = ""
    ranges: tuple[OptionRange, ...] = ()

    @cached_property
    def parser(self) -> type[SpanNodeParser]:
        """The class, imported when it is first asked for."""
        module, _, name = self.path.partition(":")
        parser: type[SpanNodeParser] = getattr(import_module(module), name)
        return parser

    @property
    def embeds(self) -> bool:
        """Return True if it needs an embedding model to split."""
        return "embed_model" in self.parser.model_fields

    def make(self, **overrides: Any) -> SpanNodeParser:
        """The parser, with some options changed.

        Raises:
            ConfigurationError: an option is unknown, or a value out of range.
        """
        return self.parser(**{**self.options, **overrides})


_OURS = "rag_nodes.parsers."
_SIZED = "{chunk_size} {unit} · {chunk_overlap} overlap"
_GROUPED = "percentile {breakpoint_percentile:g} · {min_chunk_size} to {chunk_size} tokens"
_SECTIONS = "sections of {min_chunk_size} to {chunk_size} tokens"

_CHARACTERS = (
    OptionRange("chunk_size", "Chunk size, characters", 100, 4000, 50),
    OptionRange("chunk_overlap", "Overlap, characters", 0, 1000, 10),
)
_TOPICS = (
    OptionRange("chunk_size", "Largest chunk, tokens", 64, 2000, 2),
    OptionRange("min_chunk_size", "Smallest chunk, tokens", 0, 500, 2),
)
_JOINED = OptionRange("min_chunk_size", "Join sections below, tokens", 0, 1000, 10)

WEB_PAGES: Mapping[str, int] = MappingProxyType(
    {"chunk_size": 4000, "chunk_overlap": 200, "min_chunk_size": 500, "split_only_if_over": 4000}
)
"""Sizes for pages of a website."""

DEFAULT_PARSER = "retrieval"
"""Preset that is taken where one parser is asked for and none is named.

The evidence is in `docs/concepts/chunk-size.md`. A comparison takes those of `COMPARED`.
"""

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "fixed",
            f"{_OURS}fixed:FixedSizeNodeParser",
            "Fixed size",
            "1000 characters, 200 overlap, may split words",
            {"scale_by_script": True},
            headline=_SIZED,
            ranges=_CHARACTERS,
        ),
        Preset(
            "heading",
            f"{_OURS}heading:HeadingHierarchyNodeParser",
            "Heading hierarchy",
            "sections of 100 to 1000 tokens, code whole up to 4000",
            headline=_SECTIONS,
            ranges=(
                OptionRange("chunk_size", "Largest section, tokens", 50, 4000, 50),
                _JOINED,
                OptionRange("max_level", "Deepest heading level to split at", 1, 6, 1),
            ),
        ),
        Preset(
            "token-overlap",
            f"{_OURS}overlap:TokenOverlapNodeParser",
            "Token overlap",
            "paragraphs packed to 750 tokens, overlap 100 in whole sentences",
            sizes=(500, 1000),
            headline="{chunk_size} tokens · {chunk_overlap} overlap",
            ranges=(
                OptionRange("chunk_size", "Chunk size, tokens", 50, 2000, 10),
                OptionRange("chunk_overlap", "Overlap, tokens", 0, 500, 10),
            ),
        ),
        Preset(
            "web",
            f"{_OURS}heading:HeadingHierarchyNodeParser",
            "Web pages",
            "pages up to 4000 tokens whole, longer ones by section, overlap 200",
            WEB_PAGES,
            headline=_SECTIONS,
            ranges=(
                OptionRange("split_only_if_over", "Keep whole up to, tokens", 0, 8000, 100),
                OptionRange("chunk_size", "Largest section, tokens", 100, 8000, 100),
                OptionRange("chunk_overlap", "Overlap, tokens", 0, 1000, 10),
                _JOINED,
            ),
        ),
        Preset(
            "semantic",
            f"{_OURS}semantic:SemanticNodeParser",
            "Semantic",
            "sentences grouped by similarity, 64 to 512 tokens",
            headline=_GROUPED,
            ranges=(
                *_TOPICS,
                OptionRange("breakpoint_percentile", "Break above percentile", 50, 99, 1),
            ),
        ),
        Preset(
            "recursive",
            f"{_OURS}recursive:RecursiveNodeParser",
            "Recursive",
            "paragraphs, lines, sentences, words: 1000 characters, 200 overlap",
            {"scale_by_script": True},
            headline=_SIZED,
            ranges=_CHARACTERS,
        ),
        Preset(
            DEFAULT_PARSER,
            f"{_OURS}recursive:RecursiveNodeParser",
            "Retrieval",
            "paragraphs, lines, sentences, words: 200 tokens, no overlap; best mean recall@1000 of "
            "seven sizes on five labelled sets",
            options={
                "unit": "tokens",
                "chunk_size": 200,
                "chunk_overlap": 0,
                "join_wrapped_lines": True,
            },
            headline=_SIZED,
            ranges=(
                OptionRange("chunk_size", "Chunk size, tokens", 50, 1000, 10),
                OptionRange("chunk_overlap", "Overlap, tokens", 0, 500, 10),
            ),
        ),
        Preset(
            "sentence",
            f"{_OURS}sentence:SentenceNodeParser",
            "Sentences",
            "10 sentences, 2 overlap",
            headline=_SIZED,
            ranges=(
                OptionRange("chunk_size", "Chunk size, sentences", 1, 50, 1),
                OptionRange("chunk_overlap", "Overlap, sentences", 0, 20, 1),
            ),
        ),
        Preset(
            "pdf-qa",
            f"{_OURS}sentence:SentenceNodeParser",
            "PDF questions",
            "whole sentences up to 500 characters, no overlap",
            {"unit": "characters", "chunk_size": 500, "chunk_overlap": 0, "scale_by_script": True},
            headline=_SIZED,
            ranges=_CHARACTERS,
        ),
        Preset(
            "sentence-window",
            f"{_OURS}sentence:SentenceNodeParser",
            "Sentence window",
            "embeds single sentences, reads three more on each side",
            {"chunk_size": 1, "chunk_overlap": 0, "window": 3},
            headline="{chunk_size} found · {window} on either side read",
            ranges=(
                OptionRange("window", "Sentences to read on either side", 0, 10, 1),
                OptionRange("chunk_size", "Sentences to find", 1, 10, 1),
            ),
        ),
        Preset(
            "page",
            f"{_OURS}page:PageNodeParser",
            "Pages",
            "pages as they are, up to 2000 tokens",
            headline="pages of up to {chunk_size} tokens",
            ranges=(OptionRange("chunk_size", "Split pages above, tokens", 50, 4000, 50),),
        ),
        Preset(
            "parent-child",
            f"{_OURS}parent_child:ParentChildNodeParser",
            "Parents and children",
            "embeds 250 tokens, reads their section of up to 1500",
            headline="{child_options[chunk_size]} tokens found · {parent_options[chunk_size]} read",
            ranges=(
                OptionRange("child_options.chunk_size", "Child to find, tokens", 50, 1000, 10),
                OptionRange("parent_options.chunk_size", "Parent to read, tokens", 500, 4000, 50),
            ),
        ),
        Preset(
            "auto",
            f"{_OURS}auto:AutoNodeParser",
            "Automatic",
            "a preset and a size by the format of each document, with the reason",
            headline="by format · up to {chunk_size} tokens",
            ranges=(
                OptionRange("chunk_size", "Most tokens of a chunk", 50, 4000, 10),
                OptionRange("chunk_overlap", "Overlap, tokens", 0, 500, 10),
                OptionRange("whole_document_below", "Keep whole below, tokens", 0, 2000, 50),
            ),
        ),
    )
}
"""All presets, in the order they are shown."""

SWEPT = ("recursive", "heading", "token-overlap", "semantic")
"""Presets that a recommendation tries at many sizes by default."""
COMPARED = ("fixed", "heading", "token-overlap", "semantic")
"""Presets a comparison runs by default."""
MEASURED = (DEFAULT_PARSER, *COMPARED)
"""Presets an evaluation measures by default."""
_OF_LLAMA_INDEX = "llama_index.core.node_parser"
LEAST_CHUNK = 20
"""Smallest size of chunks that a server splits for anyone."""


def home_of(class_name: str) -> str:
    """The module of a preset's class; "" where no preset has a class of that name."""
    paths = (preset.path.partition(":") for preset in PRESETS.values())
    return next((module for module, _, own in paths if own == class_name), "")


def preset_named(name: str) -> Preset:
    """Return the preset of that name.

    Raises:
        ConfigurationError: there is no such preset.
    """
    if name not in PRESETS:
        raise unknown_parser(name, PRESETS)
    return PRESETS[name]


def unknown_parser(name: str, names: Iterable[str]) -> ConfigurationError:
    """Return the error for a preset that does not exist, with the one that was probably meant."""
    hint = did_you_mean(name, names, "choose one of: ")
    if is_path(name):
        hint = f'make a splitter of another package with ForeignNodeParser(path="{name}")'
    elif name.partition(":")[0] in names:
        hint = f"give options as keywords, get_parser('{name.partition(':')[0]}', option=value)"
    elif ":" in name:
        hint = (
            "a splitter of another package is module:Class, or module:function(option=value) where "
            "a function makes it"
        )
    splitter = getattr(import_module(_OF_LLAMA_INDEX), name, None) if name.isidentifier() else None
    if isinstance(splitter, type):
        options = (
            "(chunk_size=512)" if "chunk_size" in getattr(splitter, "model_fields", ()) else ""
        )
        path = f"{_OF_LLAMA_INDEX}:{name}{options}"
        hint = (
            f"give a splitter of LlamaIndex itself, get_parser({name}{options or '(...)'}), or on "
            f'the command line its path: -p "{path}"'
        )
    return ConfigurationError(f"unknown parser '{name}'; {hint}")


def get_parser(name: Any, **overrides: Any) -> SpanNodeParser:
    """Return the parser of a preset, or of a splitter, with some options changed.

    Args:
        name: a key of `PRESETS`; or a parser, or any splitter that `as_parser` takes.
        overrides: options of the parser's class.

    Raises:
        ConfigurationError: no such preset or option, a value out of range, or an object that does
            not split texts.

    Examples:
        >>> from rag_nodes import get_parser
        >>> get_parser("fixed", chunk_size=500, chunk_overlap=50).chunk_size
        500
    """
    if isinstance(name, str):  # imports no path, as strangers may have written it
        return preset_named(name).make(**overrides)
    from rag_nodes.parsers.foreign import as_parser

    parser = as_parser(name)
    return parser.model_copy(update=overrides) if overrides else parser
