"""Node parsers for LlamaIndex whose nodes are exact slices of their document.

A name is imported when it is first asked for, so that the list of parsers costs nothing to those
who want only their names, as the help of the command line does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_nodes.parsers.auto import AutoNodeParser, Decision
    from rag_nodes.parsers.base import SpanNodeParser
    from rag_nodes.parsers.chunks import EnrichedChunk, to_chunks
    from rag_nodes.parsers.fixed import FixedSizeNodeParser
    from rag_nodes.parsers.foreign import ForeignNodeParser, as_parser
    from rag_nodes.parsers.heading import HeadingHierarchyNodeParser
    from rag_nodes.parsers.offer import offered
    from rag_nodes.parsers.overlap import TokenOverlapNodeParser
    from rag_nodes.parsers.page import PageNodeParser
    from rag_nodes.parsers.parent_child import ParentChildNodeParser, leaf_nodes
    from rag_nodes.parsers.preset_files import load_parser, load_preset, preset_for, save_preset
    from rag_nodes.parsers.presets import (
        COMPARED,
        DEFAULT_PARSER,
        PRESETS,
        OptionRange,
        Preset,
        get_parser,
    )
    from rag_nodes.parsers.recursive import RecursiveNodeParser
    from rag_nodes.parsers.semantic import SemanticNodeParser
    from rag_nodes.parsers.sentence import SentenceNodeParser
    from rag_nodes.parsers.source import ChunkSpan, SourceText

__all__ = [
    "COMPARED",
    "DEFAULT_PARSER",
    "PRESETS",
    "AutoNodeParser",
    "ChunkSpan",
    "Decision",
    "EnrichedChunk",
    "FixedSizeNodeParser",
    "ForeignNodeParser",
    "HeadingHierarchyNodeParser",
    "OptionRange",
    "PageNodeParser",
    "ParentChildNodeParser",
    "Preset",
    "RecursiveNodeParser",
    "SemanticNodeParser",
    "SentenceNodeParser",
    "SourceText",
    "SpanNodeParser",
    "TokenOverlapNodeParser",
    "as_parser",
    "get_parser",
    "leaf_nodes",
    "load_parser",
    "load_preset",
    "offered",
    "preset_for",
    "save_preset",
    "to_chunks",
]

_HOMES = {
    **dict.fromkeys(("as_parser", "ForeignNodeParser"), "foreign"),
    **dict.fromkeys(("COMPARED", "DEFAULT_PARSER", "PRESETS", "OptionRange", "Preset"), "presets"),
    **dict.fromkeys(("load_parser", "load_preset", "preset_for", "save_preset"), "preset_files"),
    **dict.fromkeys(("ChunkSpan", "SourceText"), "source"),
    **dict.fromkeys(("EnrichedChunk", "to_chunks"), "chunks"),
    "Decision": "auto",
    "SpanNodeParser": "base",
    "get_parser": "presets",
    "leaf_nodes": "parent_child",
    "offered": "offer",
}
"""Where a name is defined; the classes of presets are told by their presets."""

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> object:
        """Import a public name when it is first asked for (PEP 562).

        Raises:
            AttributeError: there is no such name.
        """
        from importlib import import_module

        home = f"{__name__}.{_HOMES[name]}" if name in _HOMES else ""
        home = home or import_module(f"{__name__}.presets").home_of(name)
        if not home:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(home), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
