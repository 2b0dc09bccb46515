"""A summary without a model: sentences of the text itself, never reworded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.text.extracts import candidates, extract
from rag_nodes.text.tokens import TokenIndex

if TYPE_CHECKING:
    from collections.abc import Iterable

_SENTENCES = 3
"""Sentences a summary has at most (S1-08)."""


def extractive_summary(text: str, heading: str, max_tokens: int) -> str:
    """Up to three sentences of a text, in its order.

    Those that say most about the heading come first, then those the text opens with. A text
    without sentences, such as code, gives its beginning.

    Args:
        text: of the chunk, not blank.
        heading: what the chunk is about, "" when unknown.
        max_tokens: tokens the summary may hold; at least one sentence is cut to them.

    Returns:
        Sentences, each a slice of the text with its blanks collapsed.
    """
    index = TokenIndex(text)
    about = [(one.start, one.end) for one in extract(heading, [text], limit=_SENTENCES)]
    opening = [(one.start, one.end) for one in candidates(0, text)[:_SENTENCES]]
    chosen: list[tuple[int, int]] = []
    room = max_tokens
    for start, end in _apart([*about, *opening])[:_SENTENCES]:
        tokens = index.count(start, end) + 1  # and the blank that joins them
        if tokens <= room:
            chosen.append((start, end))
            room -= tokens
    if not chosen:
        start = len(text) - len(text.lstrip())
        chosen = [(start, max(index.fit(start, max_tokens), start + 1))]
    return " ".join(" ".join(text[start:end].split()) for start, end in sorted(chosen))


def _apart(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans that share nothing with an earlier one."""
    kept: list[tuple[int, int]] = []
    for start, end in spans:
        if all(end <= low or start >= high for low, high in kept):
            kept.append((start, end))
    return kept
