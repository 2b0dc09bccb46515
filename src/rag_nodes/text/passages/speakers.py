"""Speakers of transcripts, and recognition of transcripts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import regex

_LABEL = regex.compile(r"(?m)^([^\s:][^:\n]{0,40}):[ \t]")
"""A name, a colon and a blank at the beginning of a line."""
_FEWEST = 3
"""Labels that count at least: a line that happens to begin like one is no turn."""
_TRANSCRIPT_LABELS = 10
"""Labels of a transcript at least."""
_TRANSCRIPT_NAMES = 2
"""Names of a transcript at least."""
_TRANSCRIPT_SHARE = 0.75
"""Share of the lines of a transcript that begin with a label at least."""
_LINE = regex.compile(r"(?m)^.*\S")
"""A line that is not blank."""


class Speakers:
    """Speakers of a transcript: the label before a turn counts for all of it.

    It is one where three lines or more begin with a label, and each name labels two of them on
    average: the terms of a list or the keys of a file stand there once each.
    """

    def __init__(self, text: str) -> None:
        labels = list(_LABEL.finditer(text))
        self.text = text
        self.names = [label.group(1) for label in labels]
        is_enough = len(labels) >= max(_FEWEST, 2 * len(set(self.names)))
        self._labels = labels if is_enough else []
        self._starts = [label.start() for label in self._labels]

    def at(self, offset: int) -> tuple[str, ...]:
        """Return the speaker at an offset; "" before the first label, and inside a label."""
        turn = bisect_right(self._starts, offset)
        label = self._labels[turn - 1] if turn else None
        return (label.group(1),) if label and label.end() <= offset else ()


def is_transcript(parts: Iterable[Speakers]) -> bool:
    """Return True if what was retrieved of a document is a transcript.

    This is stricter than what `Speakers` asks for, because transcripts are read in longer passages:
    terms and keys with a colon must not make one of a manual or a trial report.
    """
    parts = list(parts)
    names = [name for part in parts for name in part.names]
    different = len(set(names))
    fewest = max(_TRANSCRIPT_LABELS, 2 * different)
    if different < _TRANSCRIPT_NAMES or len(names) < fewest:
        return False
    return len(names) >= _TRANSCRIPT_SHARE * sum(len(_LINE.findall(part.text)) for part in parts)
