"""Node in, node out: what happens to chunks between parser and embedding model."""

from rag_nodes.transforms.context import ChunkContext, NeighbourText
from rag_nodes.transforms.further import (
    FurtherVectors,
    further_names,
    further_text,
    vector_steps,
    with_vector,
    written_for,
)
from rag_nodes.transforms.guard import EmbeddingGuard
from rag_nodes.transforms.journal import WRITTEN_FILE, SummaryJournal, WrittenTexts
from rag_nodes.transforms.summaries import SectionSummary
from rag_nodes.transforms.user import UserTransformations, identity_of
from rag_nodes.transforms.writer import ChunkWriter

__all__ = [
    "WRITTEN_FILE",
    "ChunkContext",
    "ChunkWriter",
    "EmbeddingGuard",
    "FurtherVectors",
    "NeighbourText",
    "SectionSummary",
    "SummaryJournal",
    "UserTransformations",
    "WrittenTexts",
    "further_names",
    "further_text",
    "identity_of",
    "vector_steps",
    "with_vector",
    "written_for",
]
