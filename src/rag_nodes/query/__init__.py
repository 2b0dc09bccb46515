"""Questions to cited answers: retrieve, pack the context, answer, trace every citation back.

`RagNodesRetriever` and `RagNodesQueryEngine` are LlamaIndex's retriever and query engine.
"""

from rag_nodes.query.engine import RagNodesQueryEngine, ask
from rag_nodes.query.retriever import RagNodesRetriever
from rag_nodes.query.types import Answer, Citation, Hit, Source

QueryEngine = RagNodesQueryEngine
"""Short name of the engine."""

__all__ = [
    "Answer",
    "Citation",
    "Hit",
    "QueryEngine",
    "RagNodesQueryEngine",
    "RagNodesRetriever",
    "Source",
    "ask",
]
