"""Node parsers for LlamaIndex whose nodes are exact slices of their document.

A name is imported when it is first asked for, so that the list of parsers costs nothing to those
who want only their names, as the help of the command line does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.import_paths import lazy_getattr

if TYPE_CHECKING:
    from rag_nodes.parsers.auto import AutoNodeParser, Decision
    from rag_nodes.parsers.base import SpanNodeParser
    from rag_nodes.parsers.chunks import EnrichedChunk, to_chunks
    from rag_nodes.parsers.fixed import FixedSizeNodeParser
    from rag_nodes.parsers.foreign import ForeignNodeParser, as_parser
    from rag_nodes.parsers.heading import HeadingHierarchyNodeParser
    from rag_nodes.parsers.loading import load_parser
    from rag_nodes.parsers.offer import offered
    from rag_nodes.parsers.overlap import TokenOverlapNodeParser
    from rag_nodes.parsers.page import PageNodeParser
    from rag_nodes.parsers.parent_child import ParentChildNodeParser, leaf_nodes
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
    "offered",
    "to_chunks",
]

_HOMES = {
    "auto": ("AutoNodeParser", "Decision"),
    "base": ("SpanNodeParser",),
    "chunks": ("EnrichedChunk", "to_chunks"),
    "fixed": ("FixedSizeNodeParser",),
    "foreign": ("ForeignNodeParser", "as_parser"),
    "heading": ("HeadingHierarchyNodeParser",),
    "loading": ("load_parser",),
    "offer": ("offered",),
    "overlap": ("TokenOverlapNodeParser",),
    "page": ("PageNodeParser",),
    "parent_child": ("ParentChildNodeParser", "leaf_nodes"),
    "presets": ("COMPARED", "DEFAULT_PARSER", "PRESETS", "OptionRange", "Preset", "get_parser"),
    "recursive": ("RecursiveNodeParser",),
    "semantic": ("SemanticNodeParser",),
    "sentence": ("SentenceNodeParser",),
    "source": ("ChunkSpan", "SourceText"),
}

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__ = lazy_getattr(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
