"""Who speaks in a transcript: the label in front of a turn counts for all that is said in it."""

from __future__ import annotations

from bisect import bisect_right

import regex

_LABEL = regex.compile(r"(?m)^([^\s:][^:\n]{0,40}):[ \t]")
"""A name, a colon and a blank at the beginning of a line."""
_FEWEST = 3
"""Labels that a transcript has at least: a line that happens to begin like one is no turn."""


class Speakers:
    """The turns of a text, none unless it is a transcript.

    It is one where three lines or more begin with a label, and each name labels two of them on
    average: the terms of a list or the keys of a file stand there once each.

    Args:
        text: any string.
    """

    def __init__(self, text: str) -> None:
        labels = list(_LABEL.finditer(text))
        names = {label.group(1) for label in labels}
        self._labels = labels if len(labels) >= max(_FEWEST, 2 * len(names)) else []
        self._starts = [label.start() for label in self._labels]

    def at(self, offset: int) -> str | None:
        """Who speaks at an offset; None before the first label, and within one, which says it."""
        turn = bisect_right(self._starts, offset)
        label = self._labels[turn - 1] if turn else None
        return label.group(1) if label and label.end() <= offset else None
