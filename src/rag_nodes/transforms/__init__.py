"""Node in, node out: what happens to chunks between parser and embedding model."""

from rag_nodes.transforms.embedded import EmbeddedText, embedded_as
from rag_nodes.transforms.guard import EmbeddingGuard
from rag_nodes.transforms.summary import SectionSummary
from rag_nodes.transforms.user import UserTransformations, identity_of

__all__ = [
    "EmbeddedText",
    "EmbeddingGuard",
    "SectionSummary",
    "UserTransformations",
    "embedded_as",
    "identity_of",
]
