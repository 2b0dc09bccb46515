"""Names of the embeddings a chunk can have: what stands in front of it where it is embedded."""

from __future__ import annotations

from rag_nodes.errors import ConfigurationError

VECTORS = ("heading", "plain", "summary", "context")
"""What stands in front of a chunk where it is embedded: the headings above it, nothing, or a
summary or context and then the headings."""
USUAL = VECTORS[0]
"""The embedding that every chunk has."""


def check_vector(name: str) -> None:
    """Refuse what is no name of an embedding.

    Raises:
        ConfigurationError: it is none of `VECTORS`.
    """
    if name not in VECTORS:
        known = f"{', '.join(VECTORS[:-1])} or {VECTORS[-1]}"
        raise ConfigurationError(f"unknown vector {name!r}; choose {known}")
