"""Sizes in characters or in tokens, behind the three questions a strategy asks of either."""

from __future__ import annotations

from math import inf
from typing import Literal, Protocol

from rag_nodes.parsers.source import SourceText
from rag_nodes.text.packing import Packer
from rag_nodes.text.tokens import TokenIndex

_BYTES = 4
"""Bytes a character takes at most in UTF-8."""
_SLACK = 4
"""Tokens a count may be off when taken from the whole text's encoding."""


class Measure(Protocol):
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


def measure_of(source: SourceText, unit: Literal["characters", "tokens"]) -> Measure:
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
