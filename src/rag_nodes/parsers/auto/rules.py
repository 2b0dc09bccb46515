"""From what is seen in a document to the parser that suits it, one rule after the other."""

from __future__ import annotations

from collections.abc import Mapping

from rag_nodes.parsers.auto.signals import Signals

SEMANTIC = "semantic"

_LEAST_HEADINGS = 3
"""Two can be a title and a footer."""
_MOST_UNDER = 0.5
"""Share of a text that has to stand under headings for them to be its order."""
_SHORTEST_SECTION = 12
"""Tokens; where half of all sections are shorter, the headings are lines of a form or a menu."""
_LONGEST_SECTION = 12
"""In nodes; where half of all sections are longer, headings hardly say where to cut."""
_SPEAKERS = 0.3
"""Share of lines with a speaker from which a text is taken for a conversation."""
_RECORDS = 0.6
"""Share of lines in records, or of text in tables, from which a text is taken for data."""
_LONG_SENTENCE = 150
"""Tokens; where half of a text is in longer ones, they are no sentences."""


def rule_of_structure(signals: Signals, sizes: Mapping[str, int]) -> tuple[str, str]:
    """The candidate of the first rule that applies, and the reason, a sentence without its stop.

    These rules go by headings, records and tables alone.

    Args:
        signals: what was seen.
        sizes: tokens a node of each candidate may hold; a rule for another one is passed over.

    Returns:
        Name and reason; both "" where no rule applies.
    """
    return _first(
        sizes,
        ("token-overlap", _data(signals)),
        ("heading", _headings(signals, sizes.get("heading", 0))),
        ("recursive", _columns(signals)),
    )


def rule_of_sentences(signals: Signals, sizes: Mapping[str, int]) -> tuple[str, str]:
    """The same by paragraphs and sentences, for a text whose structure names no candidate."""
    return _first(
        sizes,
        ("recursive", _no_sentences(signals)),
        ("sentence", _conversation(signals)),
        (SEMANTIC, _unbroken(signals, sizes.get(SEMANTIC, 0))),
        ("token-overlap", _paragraphs(signals)),
    )


def _first(sizes: Mapping[str, int], *rules: tuple[str, str]) -> tuple[str, str]:
    for name, reason in rules:
        if reason and name in sizes:
            return name, reason
    return "", ""


def _headings(signals: Signals, chunk_size: int) -> str:
    applies = (
        signals.headings >= _LEAST_HEADINGS
        and signals.under_headings >= _MOST_UNDER
        and _SHORTEST_SECTION <= signals.section_tokens <= _LONGEST_SECTION * chunk_size
    )
    if not applies:
        return ""
    return (
        f"{_several(signals.headings, 'heading')} on {_several(signals.levels, 'level')}, every "
        f"{signals.section_tokens} tokens, order {signals.under_headings:.0%} of the text"
    )


def _data(signals: Signals) -> str:
    if signals.records and signals.record_share >= _RECORDS:
        return f"{signals.records} records with the same fields, {signals.record_share:.0%} of it"
    if signals.table_share >= _RECORDS:
        return f"Tables are {signals.table_share:.0%} of the text"
    return ""


def _columns(signals: Signals) -> str:
    if signals.record_share < _RECORDS:
        return ""
    return f"{signals.record_share:.0%} of the lines have the same number of columns"


def _no_sentences(signals: Signals) -> str:
    if signals.sentence_tokens <= _LONG_SENTENCE:
        return ""
    return f"Half of the text is in sentences of {signals.sentence_tokens} tokens and more"


def _conversation(signals: Signals) -> str:
    if signals.speaker_share < _SPEAKERS:
        return ""
    return f"{signals.speaker_share:.0%} of the lines begin with a speaker"


def _unbroken(signals: Signals, chunk_size: int) -> str:
    if signals.paragraph_tokens <= chunk_size:
        return ""
    return (
        f"No headings, and paragraphs of {signals.paragraph_tokens} tokens do not say where "
        f"topics change; neighbouring sentences share {signals.cohesion:.0%} of their words"
    )


def _paragraphs(signals: Signals) -> str:
    return (
        f"{_several(signals.headings, 'heading')} to go by; paragraphs of "
        f"{signals.paragraph_tokens} tokens and sentences of {signals.sentence_tokens} decide"
    )


def _several(count: int, noun: str) -> str:
    return f"{count or 'No'} {noun}{'' if count == 1 else 's'}"
