"""The one registry of strategies: every default of the source documents, by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.fixed import FixedSizeNodeParser
from rag_nodes.parsers.heading import HeadingHierarchyNodeParser
from rag_nodes.parsers.overlap import TokenOverlapNodeParser
from rag_nodes.parsers.semantic import SemanticNodeParser


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
    """

    name: str
    parser: type[SpanNodeParser]
    title: str
    summary: str
    requirements: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "fixed",
            FixedSizeNodeParser,
            "Fixed size",
            "1000 characters, 200 shared, cut anywhere",
            ("S0-18", "S3-03"),
        ),
        Preset(
            "heading",
            HeadingHierarchyNodeParser,
            "Heading hierarchy",
            "sections of 100 to 1000 tokens, code never cut",
            ("S1-20", "S1-43", "S1-44"),
        ),
        Preset(
            "token-overlap",
            TokenOverlapNodeParser,
            "Token overlap",
            "paragraphs packed to 750 tokens, 100 shared in whole sentences",
            ("S2-02", "S2-12", "S2-14"),
        ),
        Preset(
            "semantic",
            SemanticNodeParser,
            "Semantic",
            "sentences grouped by meaning, 64 to 512 tokens",
            ("S0-20", "S0-23", "S0-26"),
        ),
    )
}
"""All presets, in the order they are shown."""


def get_parser(name: str, **overrides: Any) -> SpanNodeParser:
    """The parser of a preset, with some options changed (S3-24).

    Args:
        name: a key of `PRESETS`.
        overrides: options of the parser's class.

    Raises:
        ConfigurationError: no such preset or option, or a value out of range.

    Example:
        >>> get_parser("fixed", chunk_size=500, chunk_overlap=50).chunk_size
        500
    """
    preset = PRESETS.get(name)
    if preset is None:
        raise ConfigurationError(f"unknown parser {name!r}; choose one of: {', '.join(PRESETS)}")
    return preset.parser(**{**preset.options, **overrides})
