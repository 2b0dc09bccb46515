"""Node parsers for LlamaIndex whose nodes are exact slices of their document."""

from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.fixed import FixedSizeNodeParser
from rag_nodes.parsers.heading import HeadingHierarchyNodeParser
from rag_nodes.parsers.overlap import TokenOverlapNodeParser
from rag_nodes.parsers.presets import PRESETS, Preset, get_parser
from rag_nodes.parsers.semantic import SemanticNodeParser
from rag_nodes.parsers.source import Cut, SourceText

__all__ = [
    "PRESETS",
    "Cut",
    "FixedSizeNodeParser",
    "HeadingHierarchyNodeParser",
    "Preset",
    "SemanticNodeParser",
    "SourceText",
    "SpanNodeParser",
    "TokenOverlapNodeParser",
    "get_parser",
]
