"""Sizes: what the options of any parser must agree on, and how large a span is in their unit."""

from __future__ import annotations

from math import inf
from typing import Any, Literal, Protocol

from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers.source import SourceText
from rag_nodes.text.packing import Packer
from rag_nodes.text.tokens import TokenIndex

MIN_TOKENS = 8
"""Smallest token limit: one character can take four tokens, and a limit must always hold."""

MAX_BLOCK_TOKENS = 7_000
"""Tokens of a node that every embedding model we know the limit of (8,191 and more) takes with the
headings embedded above it; `EmbeddingGuard` would cut what is longer, wherever that falls."""
MAX_NUMBER = 10**9
"""Largest number any option may have; arrays of places in a text hold no larger ones."""
_BYTES = 4
"""Bytes a character takes at most in UTF-8."""
_SLACK = 4
"""Tokens a count may be off when taken from the whole text's encoding."""


def check_sizes(options: Any) -> None:
    """Refuse sizes that contradict each other; options a parser does not have are passed over.

    Args:
        options: the parser, with any of `chunk_size`, `chunk_overlap`, `min_chunk_size`, `unit`.

    Raises:
        ConfigurationError: a number is beyond all sense, the overlap is not smaller than the size,
            the least size is over it, or a size in tokens is too small to hold one character.
    """
    for name, value in options:
        if isinstance(value, int) and value > MAX_NUMBER:
            raise ConfigurationError(f"{name} must be at most {MAX_NUMBER}, not {value}")
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
    if getattr(options, "unit", None) == "tokens" and size < MIN_TOKENS:
        raise ConfigurationError(f"chunk_size must be at least {MIN_TOKENS} tokens")


class ChunkSizer(Protocol):
    """How large a span is, in one unit."""

    def fits(self, start: int, end: int, limit: int) -> bool:
        """Whether `start:end`, counted on its own, is within `limit`."""
        ...

    def reach(self, start: int, limit: int, stop: int) -> int:
        """About the furthest offset up to `stop` whose text from `start` fits; never too far."""
        ...

    def back(self, floor: int, end: int, limit: int) -> int:
        """An offset from `floor` on; whatever starts before it does not fit up to `end`."""
        ...


def sizer_of(source: SourceText, unit: Literal["characters", "tokens"]) -> ChunkSizer:
    """The measure of a text in `unit`."""
    return _Tokens(source.packer) if unit == "tokens" else _Characters()


class _Characters:
    def fits(self, start: int, end: int, limit: int) -> bool:
        return end - start <= limit

    def reach(self, start: int, limit: int, stop: int) -> int:
        return min(start + limit, stop)

    def back(self, floor: int, end: int, limit: int) -> int:
        return max(floor, end - limit)


class _Tokens:
    def __init__(self, packer: Packer) -> None:
        self._packer = packer
        self._most = _most_tokens_of_a_character(packer)

    def fits(self, start: int, end: int, limit: int) -> bool:
        return (end - start) * self._most <= limit or self._packer.count(start, end) <= limit

    def reach(self, start: int, limit: int, stop: int) -> int:
        return self._packer.tokens.fit(start, limit, stop)

    def back(self, floor: int, end: int, limit: int) -> int:
        tokens = self._packer.tokens
        beyond = tokens.estimate(floor, end) - limit - _SLACK
        return tokens.fit(floor, beyond, end) if beyond > 0 else floor


def _most_tokens_of_a_character(packer: Packer) -> float:
    """Where this settles that a span fits, it need not be counted.

    A token of tiktoken holds at least one byte; of other tokenizers nothing is known.
    """
    if not isinstance(packer.tokens, TokenIndex):
        return inf
    return 1 if packer.text.isascii() else _BYTES
