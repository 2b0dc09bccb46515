"""Node in, node out: what happens to chunks between parser and embedding model."""

from rag_nodes.transforms.guard import EmbeddingGuard
from rag_nodes.transforms.journal import WRITTEN_FILE, PromptKey, TextJournal
from rag_nodes.transforms.named_vectors import (
    NamedVectors,
    asked_vectors,
    unwritten,
    vector_steps,
    vector_text,
)
from rag_nodes.transforms.neighbours import NeighbourText
from rag_nodes.transforms.user import UserTransformations, identity_of
from rag_nodes.transforms.written import ChunkContext, ChunkWriter, SectionSummary

__all__ = [
    "WRITTEN_FILE",
    "ChunkContext",
    "ChunkWriter",
    "EmbeddingGuard",
    "NamedVectors",
    "NeighbourText",
    "PromptKey",
    "SectionSummary",
    "TextJournal",
    "UserTransformations",
    "asked_vectors",
    "identity_of",
    "unwritten",
    "vector_steps",
    "vector_text",
]
