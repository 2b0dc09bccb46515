"""The one registry of strategies: every default of the source documents, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.node_parser import NodeParser
from llama_index.core.node_parser.loading import load_parser as load_stock_parser
from llama_index.core.node_parser.node_utils import default_id_func

from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers.auto import AutoNodeParser
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.fixed import FixedSizeNodeParser
from rag_nodes.parsers.heading import WEB_PAGES, HeadingHierarchyNodeParser
from rag_nodes.parsers.overlap import TokenOverlapNodeParser
from rag_nodes.parsers.page import PageNodeParser
from rag_nodes.parsers.parent_child import ParentChildNodeParser
from rag_nodes.parsers.plugins import find_plugins, load_plugin, plugin_of
from rag_nodes.parsers.recursive import RecursiveNodeParser
from rag_nodes.parsers.semantic import SemanticNodeParser
from rag_nodes.parsers.sentence import SentenceNodeParser


@dataclass(frozen=True, slots=True)
class Preset:
    """A parser with its options, under a name.

    Attributes:
        name: what `get_parser` and `--parser` take.
        parser: the class.
        title: what people read above a column.
        summary: one line: how it cuts.
        requirements: ids of the requirements the options come from.
        options: options that differ from the class's defaults.
        sizes: least and most `chunk_size` to try with it (S2-01); None where no range is known.
    """

    name: str
    parser: type[SpanNodeParser]
    title: str
    summary: str
    requirements: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    sizes: tuple[int, int] | None = None


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "fixed",
            FixedSizeNodeParser,
            "Fixed size",
            "1000 characters, 200 shared, cut anywhere",
            ("S0-18", "S3-03"),
            {"scale_by_script": True},
        ),
        Preset(
            "heading",
            HeadingHierarchyNodeParser,
            "Heading hierarchy",
            "sections of 100 to 1000 tokens, code whole up to 4000",
            ("S1-20", "S1-43", "S1-44"),
        ),
        Preset(
            "token-overlap",
            TokenOverlapNodeParser,
            "Token overlap",
            "paragraphs packed to 750 tokens, 100 shared in whole sentences",
            ("S2-01", "S2-02", "S2-12", "S2-14"),
            sizes=(500, 1000),
        ),
        Preset(
            "web",
            HeadingHierarchyNodeParser,
            "Web pages",
            "pages up to 4000 tokens whole, longer ones by section, 200 shared",
            ("S3-06", "S3-07", "S3-08"),
            dict(WEB_PAGES),
        ),
        Preset(
            "semantic",
            SemanticNodeParser,
            "Semantic",
            "sentences grouped by meaning, 64 to 512 tokens",
            ("S0-20", "S0-23", "S0-26"),
        ),
        Preset(
            "recursive",
            RecursiveNodeParser,
            "Recursive",
            "paragraphs, lines, sentences, words: 1000 characters, 200 shared",
            ("S0-19",),
            {"scale_by_script": True},
        ),
        Preset("sentence", SentenceNodeParser, "Sentences", "10 sentences, 2 shared", ("S3-04",)),
        Preset(
            "pdf-qa",
            SentenceNodeParser,
            "PDF questions",
            "whole sentences up to 500 characters, none shared",
            ("S4-08",),
            {"unit": "characters", "chunk_size": 500, "chunk_overlap": 0, "scale_by_script": True},
        ),
        Preset(
            "sentence-window",
            SentenceNodeParser,
            "Sentence window",
            "one sentence to find, three on either side to read",
            ("S2-24",),
            {"chunk_size": 1, "chunk_overlap": 0, "window": 3},
        ),
        Preset("page", PageNodeParser, "Pages", "pages as they are, up to 2000 tokens", ()),
        Preset(
            "parent-child",
            ParentChildNodeParser,
            "Parents and children",
            "250 tokens to find, their section of up to 1500 to read",
            ("S2-23",),
        ),
        Preset(
            "semantic-optimal",
            SemanticNodeParser,
            "Semantic, optimal",
            "the most coherent sections of 64 to 512 tokens",
            ("S0-20", "S0-26"),
            {"method": "optimal"},
        ),
        Preset(
            "auto",
            AutoNodeParser,
            "Automatic",
            "picks a parser and a size for each document and says why",
            ("S3-25", "S3-26"),
        ),
    )
}
"""All presets, in the order they are shown."""

COMPARED = ("fixed", "heading", "token-overlap", "semantic")
"""Presets a comparison runs unless it is told which."""


def get_parser(name: str, **overrides: Any) -> SpanNodeParser:
    """The parser of a preset or of an installed package, with some options changed (S3-24).

    Packages offer parsers through the entry-point group `rag_nodes.parsers`.

    Args:
        name: a key of `PRESETS`, or what a package calls its parser.
        overrides: options of the parser's class.

    Raises:
        ConfigurationError: no such preset or option, or a value out of range.

    Example:
        >>> get_parser("fixed", chunk_size=500, chunk_overlap=50).chunk_size
        500
    """
    plugin = load_plugin(name, _built_in())
    if plugin is not None:
        return plugin(**overrides)
    preset = PRESETS.get(name)
    if preset is None:
        known = ", ".join([*PRESETS, *find_plugins()])
        raise ConfigurationError(f"unknown parser {name!r}; choose one of: {known}")
    return preset.parser(**{**preset.options, **overrides})


def load_parser(data: Mapping[str, Any] | NodeParser, **overrides: Any) -> NodeParser:
    """The parser that `to_dict` described: ours, an installed package's, or LlamaIndex's own.

    `llama_index.core.node_parser.loading.load_parser` knows a fixed list of classes, to which
    none can be added, so it refuses ours. This one takes both.

    Args:
        data: what `to_dict` gave, also from JSON; a parser comes back as it is.
        overrides: options to change, and what is never in the data, such as `embed_model`.

    Raises:
        ConfigurationError: there is no such class, or its options are wrong, or were written by a
            version that cut differently.

    Example:
        >>> load_parser(get_parser("fixed", chunk_size=500).to_dict()).chunk_size
        500
    """
    if isinstance(data, NodeParser):
        return data
    name = str(data.get("class_name"))
    built_in = _built_in()
    own = {parser.class_name(): parser for parser in built_in.values()}.get(name)
    if own is None and (plugin := plugin_of(name)):
        own = load_plugin(plugin, built_in)
    return own.from_dict(dict(data), **overrides) if own else _stock(name, {**data, **overrides})


def _built_in() -> dict[str, type[SpanNodeParser]]:
    return {name: preset.parser for name, preset in PRESETS.items()}


def _stock(name: str, options: dict[str, Any]) -> NodeParser:
    """One of LlamaIndex's own parsers, which refuse the `id_func` that they wrote themselves."""
    id_func = options.get("id_func")
    if isinstance(id_func, Mapping) and id_func.get("id_func_name") == default_id_func.__name__:
        del options["id_func"]
    try:
        return load_stock_parser(options)
    except ValueError as error:
        known = ", ".join(sorted({preset.parser.class_name() for preset in PRESETS.values()}))
        raise ConfigurationError(
            f"no parser can be made from data of class {name!r}: {error}; it must be what to_dict "
            f"of one of LlamaIndex's parsers or of one of these gave: {known}"
        ) from error
