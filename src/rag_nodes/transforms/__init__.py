"""Node in, node out: what happens to chunks between parser and embedding model."""

from rag_nodes.transforms.guard import EmbeddingGuard

__all__ = ["EmbeddingGuard"]
