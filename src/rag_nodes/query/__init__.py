"""Questions to cited answers: retrieve, pack the context, answer, trace every citation back.

`RagNodesRetriever` and `RagNodesQueryEngine` are LlamaIndex's retriever and query engine.
"""

from rag_nodes.query.chat import RagNodesChat
from rag_nodes.query.cited import Citation, OtherPlace
from rag_nodes.query.engine import RagNodesQueryEngine, ask
from rag_nodes.query.options import QueryOptions
from rag_nodes.query.postprocessors import SentencePostprocessor
from rag_nodes.query.preparing import QuestionVectors
from rag_nodes.query.retriever import RagNodesRetriever
from rag_nodes.query.types import (
    Answer,
    Cancelled,
    CitationSeen,
    Delta,
    Event,
    Failed,
    Finished,
    Mark,
    Retrieved,
    Source,
    UnknownSource,
)
from rag_nodes.store import Hit
from rag_nodes.store.filters import Filter

__all__ = [
    "Answer",
    "Cancelled",
    "Citation",
    "CitationSeen",
    "Delta",
    "Event",
    "Failed",
    "Filter",
    "Finished",
    "Hit",
    "Mark",
    "OtherPlace",
    "QueryOptions",
    "QuestionVectors",
    "RagNodesChat",
    "RagNodesQueryEngine",
    "RagNodesRetriever",
    "Retrieved",
    "SentencePostprocessor",
    "Source",
    "UnknownSource",
    "ask",
]
