"""Columns of a comparison that find as they stand: whatever LlamaIndex asks, and collections."""

from rag_nodes.evaluation.engines.answering import AnsweringEngine
from rag_nodes.evaluation.engines.finding import (
    FoundStore,
    StoredCollection,
    finds,
    found_store,
    listed_chunks,
)
from rag_nodes.evaluation.engines.offer import FoundColumn, offered_columns
from rag_nodes.evaluation.engines.placing import Placing, is_placed

__all__ = [
    "AnsweringEngine",
    "FoundColumn",
    "FoundStore",
    "Placing",
    "StoredCollection",
    "finds",
    "found_store",
    "is_placed",
    "listed_chunks",
    "offered_columns",
]
