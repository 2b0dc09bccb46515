"""Sizes and overlaps: what options must agree on, how large spans are, what neighbours share.

And sizes in characters that mean as much text in any script, since a character is not a letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers.source import ChunkSpan, SourceText
from rag_nodes.text.graphemes import boundary_at_or_after
from rag_nodes.text.markdown import Kind
from rag_nodes.text.packing import Packer
from rag_nodes.text.tokens import TokenIndex

if TYPE_CHECKING:
    from rag_nodes.parsers.base import SpanNodeParser


MIN_TOKENS = 8
"""Smallest token limit: one character can take four tokens, and a limit must always hold."""

MAX_BLOCK_TOKENS = 7_000
"""Tokens of a node that every embedding model we know the limit of (8,191 and more) takes with the
headings embedded above it; `EmbeddingGuard` would split what is longer, wherever that falls."""
MAX_NUMBER = 10**9
"""Largest number any option may have; arrays of places in a text hold no larger ones."""
_BYTES = 4
"""Bytes a character takes at most in UTF-8."""
_SLACK = 4
"""Tokens a count may be off when taken from the whole text's encoding."""


def check_sizes(options: Any) -> None:
    """Refuse sizes that contradict each other; options a parser does not have are passed over."""
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


class _Characters:
    def fits(self, start: int, end: int, limit: int) -> bool:
        return end - start <= limit

    def reach(self, start: int, limit: int, stop: int) -> int:
        return min(start + limit, stop)

    def back(self, floor: int, end: int, limit: int) -> int:
        return max(floor, end - limit)


class _Tokens:
    """Sizes of spans in tokens; `_Characters` measures in characters."""

    def __init__(self, packer: Packer) -> None:
        self._packer = packer
        self._most = _most_tokens_of_a_character(packer)

    def fits(self, start: int, end: int, limit: int) -> bool:
        """Return True if `start:end`, counted on its own, is within `limit`."""
        return (end - start) * self._most <= limit or self._packer.count(start, end) <= limit

    def reach(self, start: int, limit: int, stop: int) -> int:
        """About the furthest offset up to `stop` whose text from `start` fits; never too far."""
        return self._packer.tokens.fit(start, limit, stop)

    def back(self, floor: int, end: int, limit: int) -> int:
        """An offset from `floor` on; whatever starts before it does not fit up to `end`."""
        tokens = self._packer.tokens
        beyond = tokens.estimate(floor, end) - limit - _SLACK
        return tokens.fit(floor, beyond, end) if beyond > 0 else floor


ChunkSizer = _Characters | _Tokens


def sizer_of(source: SourceText, unit: Literal["characters", "tokens"]) -> ChunkSizer:
    """The measure of a text in `unit`."""
    return _Tokens(source.packer) if unit == "tokens" else _Characters()


def _most_tokens_of_a_character(packer: Packer) -> float:
    """Return the most tokens a character can have, so that short spans need not be counted.

    A token of tiktoken holds at least one byte; of other tokenizers nothing is known.
    """
    if not isinstance(packer.tokens, TokenIndex):
        return inf
    return 1 if packer.text.isascii() else _BYTES


def visible_from(text: str, offset: int, stop: int) -> int:
    """The first visible character in `offset..stop`, else `stop`."""
    match = _VISIBLE.search(text, offset, stop)
    return match.start() if match else stop


_VISIBLE = re.compile(r"\S")
_RUNNING = frozenset({Kind.PARAGRAPH, Kind.LIST, Kind.QUOTE})
"""Blocks of which a part may be shared that is no whole sentence or line."""
_LINE_START = re.compile(r"[\r\n]([^\S\r\n]*\S)")
_WORD_START = re.compile(r"(?<=\S)[^\S\r\n]+(\S)")
_IN_A_WORD = re.compile(r"\S\S")
_MOST_CLUSTERS = 16
"""Clusters looked at; the first is at most a few tokens too far back."""


def starts_within(packer: Packer, start: int, end: int, overlap: int) -> Sequence[int]:
    """Starts after `start` whose text up to `end` is within the overlap, farthest first.

    Of sentences where one fits; else of lines, else of words. The node that ends at `end` starts at
    `start`.
    """
    if not overlap:
        return []
    low = max(start + 1, packer.tokens.back(end, overlap))
    for candidates in chain([packer.unit_starts(low, end)], finer_starts(packer, low, end)):
        for position, candidate in enumerate(candidates):
            if packer.count(candidate, end) <= overlap:
                return candidates[position:]
    return []


def finer_starts(packer: Packer, low: int, end: int) -> Iterator[list[int]]:
    """Starts in `low..end` inside the last sentence: of lines, of words, of clusters in a word.

    None in code, tables and headings, of which no part is shared, and of clusters only where the
    text that goes on at `end` goes on without a blank, as in languages that write none.
    """
    block, text = packer.block_at(end - 1), packer.text
    if block.kind not in _RUNNING:
        return
    low = max(low, block.start)
    yield [line.start(1) for line in _LINE_START.finditer(text, low - 1, end)]
    behind = low  # after the last word before `low`, since a word may start at `low` itself
    while behind > block.start and text[behind - 1].isspace():
        behind -= 1
    yield [word.start(1) for word in _WORD_START.finditer(text, behind, end)]
    if _IN_A_WORD.match(text, end - 1):
        starts, start = [], packer.cluster_boundary(low, block.start)
        for _ in range(_MOST_CLUSTERS):
            if start >= end:
                break
            starts.append(start)
            start = boundary_at_or_after(text, start + 1, start)
        yield starts


def best_start(packer: Packer, candidates: Sequence[int], end: int, size: int) -> int:
    """Return the start of the node after `end`: as many sentences back as `starts_within` allows.

    Fewer, but at least one, where that keeps the next paragraph or sentence whole within `size`.
    """
    following = packer.visible_from(end)
    if not candidates:
        return following
    estimate = packer.tokens.estimate
    block = packer.block_at(following)
    if estimate(candidates[0], block.end) <= size:  # most often; a sentence's end costs more
        return candidates[0]
    for whole in (block.end, packer.unit_end(following)):
        for candidate in candidates:
            if estimate(candidate, whole) <= size:
                return candidate
    return candidates[-1]


CHARACTERS_PER_TOKEN = 4.0
"""Characters per token that defaults in characters assume; about what Latin script has."""
_WINDOW = 4_000
"""Characters looked at from the beginning, the middle and the end of a text, for its script."""
_LATIN = 0x0250
"""Code point after the last Latin letter of the basic and extended blocks."""
_MORE_LATIN = range(0x1E00, 0x1F00)


def scaled(parser: SpanNodeParser, source: SourceText) -> Iterator[ChunkSpan]:
    """The splits at a size that holds about as many tokens as it would of Latin text.

    The size and overlap of the parser are in characters of that. A split says the size it was made
    at where it is another one than the parser's.
    """
    options = parser.to_dict()
    factor = min(1.0, characters_per_token(source) / CHARACTERS_PER_TOKEN)
    size = max(1, round(options["chunk_size"] * factor))
    overlap = min(round(options["chunk_overlap"] * factor), size - 1)
    changed = {"chunk_size": size, "chunk_overlap": overlap, "scale_by_script": False}
    facts: dict[str, Any] = {} if factor == 1 else {keys.SCALED_SIZE: size}
    for cut in parser.model_copy(update=changed).spans(source):
        yield cut._replace(facts={**cut.facts, **facts})


def characters_per_token(source: SourceText) -> float:
    """Return the characters per token of a text; Latin script has the default number."""
    text = source.text
    if text.isascii() or _is_latin(text) or not len(source.packer.tokens.ends):
        return CHARACTERS_PER_TOKEN
    return round(len(text.strip()) / len(source.packer.tokens.ends), 1)


def _is_latin(text: str) -> bool:
    """Return True if half of the letters are Latin, or if there are none."""
    middle = max(0, len(text) // 2 - _WINDOW // 2)
    seen = text[:_WINDOW] + text[middle : middle + _WINDOW] + text[-_WINDOW:]
    letters = [ord(character) for character in seen if character.isalpha()]
    latin = sum(letter < _LATIN or letter in _MORE_LATIN for letter in letters)
    return 2 * latin >= len(letters)
