"""Sizes in characters that mean as much text in any script, since a character is not a letter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rag_nodes import metadata as keys
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.source import Cut, SourceText

CHARACTERS_PER_TOKEN = 4.0
"""Of the text that defaults in characters were made for; about what Latin script has."""
_WINDOW = 4_000
"""Characters looked at from the beginning, the middle and the end of a text, for its script."""
_LATIN = 0x0250
"""Code point after the last Latin letter of the basic and extended blocks."""
_MORE_LATIN = range(0x1E00, 0x1F00)


def scaled(parser: SpanNodeParser, source: SourceText) -> Iterator[Cut]:
    """The cuts at a size that holds about as many tokens as it would of Latin text.

    Args:
        parser: one with a size and an overlap in characters of Latin text, and `scale_by_script`.
        source: the text.

    Returns:
        Cuts, which say the size they were made at where it is another one than the parser's.
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
    """How many characters a token of the text has; those of Latin script are taken for usual."""
    text = source.text
    if text.isascii() or _is_latin(text) or not len(source.packer.tokens.ends):
        return CHARACTERS_PER_TOKEN
    return round(len(text.strip()) / len(source.packer.tokens.ends), 1)


def _is_latin(text: str) -> bool:
    """Whether half of the letters are Latin; true where there are none."""
    middle = max(0, len(text) // 2 - _WINDOW // 2)
    seen = text[:_WINDOW] + text[middle : middle + _WINDOW] + text[-_WINDOW:]
    letters = [ord(one) for one in seen if one.isalpha()]
    latin = sum(one < _LATIN or one in _MORE_LATIN for one in letters)
    return 2 * latin >= len(letters)
