"""Node in, node out: what happens to chunks between parser and embedding model."""

from rag_nodes.transforms.context import ChunkContext, NeighbourText
from rag_nodes.transforms.guard import EmbeddingGuard
from rag_nodes.transforms.summaries import SectionSummary, SummaryJournal
from rag_nodes.transforms.user import UserTransformations, identity_of

__all__ = [
    "ChunkContext",
    "EmbeddingGuard",
    "NeighbourText",
    "SectionSummary",
    "SummaryJournal",
    "UserTransformations",
    "identity_of",
]
