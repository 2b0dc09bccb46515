"""Node in, node out: what happens to chunks between parser and embedding model."""

from rag_nodes.transforms.further import (
    FurtherVectors,
    further_names,
    further_text,
    unwritten,
    vector_steps,
)
from rag_nodes.transforms.guard import EmbeddingGuard
from rag_nodes.transforms.journal import WRITTEN_FILE, PromptKey, TextJournal
from rag_nodes.transforms.neighbours import NeighbourText
from rag_nodes.transforms.user import UserTransformations, identity_of
from rag_nodes.transforms.written import ChunkContext, ChunkWriter, SectionSummary

__all__ = [
    "WRITTEN_FILE",
    "ChunkContext",
    "ChunkWriter",
    "EmbeddingGuard",
    "FurtherVectors",
    "NeighbourText",
    "PromptKey",
    "SectionSummary",
    "TextJournal",
    "UserTransformations",
    "further_names",
    "further_text",
    "identity_of",
    "unwritten",
    "vector_steps",
]
