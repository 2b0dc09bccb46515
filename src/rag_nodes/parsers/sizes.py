"""What the size options of any parser must agree on."""

from __future__ import annotations

from typing import Any

from rag_nodes.errors import ConfigurationError

LEAST_TOKENS = 8
"""Smallest token limit: one character can take four tokens, and a limit must always hold."""

LARGEST_BLOCK = 7_000
"""Tokens of a node that every embedding model we know the limit of (8,191 and more) takes with the
headings embedded above it; `EmbeddingGuard` would cut what is longer, wherever that falls."""
MOST = 10**9
"""Largest number any option may have; arrays of places in a text hold no larger ones."""


def check_sizes(options: Any) -> None:
    """Refuse sizes that contradict each other; options a parser does not have are passed over.

    Args:
        options: the parser, with any of `chunk_size`, `chunk_overlap`, `min_chunk_size`, `unit`.

    Raises:
        ConfigurationError: a number is beyond all sense, the overlap is not smaller than the size,
            the least size is over it, or a size in tokens is too small to hold one character.
    """
    for name, value in options:
        if isinstance(value, int) and value > MOST:
            raise ConfigurationError(f"{name} must be at most {MOST}, not {value}")
    size = getattr(options, "chunk_size", None)
    if size is None:
        return
    overlap = getattr(options, "chunk_overlap", 0)
    least = getattr(options, "min_chunk_size", 0)
    if overlap >= size:
        raise ConfigurationError(
            f"chunk_overlap ({overlap}) must be smaller than chunk_size ({size})"
        )
    if least > size:
        raise ConfigurationError(f"min_chunk_size ({least}) must not be over chunk_size ({size})")
    if getattr(options, "unit", None) == "tokens" and size < LEAST_TOKENS:
        raise ConfigurationError(f"chunk_size must be at least {LEAST_TOKENS} tokens")
