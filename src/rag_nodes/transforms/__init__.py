"""Node in, node out: what happens to chunks between parser and embedding model."""

from rag_nodes.transforms.guard import EmbeddingGuard
from rag_nodes.transforms.summaries import SectionSummary, SummaryJournal

__all__ = ["EmbeddingGuard", "SectionSummary", "SummaryJournal"]
