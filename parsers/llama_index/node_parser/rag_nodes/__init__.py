"""The node parsers of rag_nodes under the name where LlamaIndex keeps its integrations."""

from rag_nodes import (
    AutoNodeParser,
    FixedSizeNodeParser,
    HeadingHierarchyNodeParser,
    PageNodeParser,
    ParentChildNodeParser,
    RecursiveNodeParser,
    SemanticNodeParser,
    SentenceNodeParser,
    TokenOverlapNodeParser,
)

__all__ = [
    "AutoNodeParser",
    "FixedSizeNodeParser",
    "HeadingHierarchyNodeParser",
    "PageNodeParser",
    "ParentChildNodeParser",
    "RecursiveNodeParser",
    "SemanticNodeParser",
    "SentenceNodeParser",
    "TokenOverlapNodeParser",
]
