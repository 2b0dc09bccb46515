"""Node parsers for LlamaIndex whose nodes are exact slices of their document."""

from rag_nodes.parsers.auto import AutoNodeParser, Decision
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.chunks import EnrichedChunk, to_chunks
from rag_nodes.parsers.fixed import FixedSizeNodeParser
from rag_nodes.parsers.foreign import ForeignNodeParser, as_parser
from rag_nodes.parsers.heading import HeadingHierarchyNodeParser
from rag_nodes.parsers.overlap import TokenOverlapNodeParser
from rag_nodes.parsers.page import PageNodeParser
from rag_nodes.parsers.parent_child import ParentChildNodeParser, leaf_nodes
from rag_nodes.parsers.presets import COMPARED, PRESETS, Preset, get_parser, load_parser
from rag_nodes.parsers.recursive import RecursiveNodeParser
from rag_nodes.parsers.semantic import SemanticNodeParser
from rag_nodes.parsers.sentence import SentenceNodeParser
from rag_nodes.parsers.source import Cut, SourceText

__all__ = [
    "COMPARED",
    "PRESETS",
    "AutoNodeParser",
    "Cut",
    "Decision",
    "EnrichedChunk",
    "FixedSizeNodeParser",
    "ForeignNodeParser",
    "HeadingHierarchyNodeParser",
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
    "to_chunks",
]
