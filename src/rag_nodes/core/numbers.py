"""Whole numbers in untrusted text."""

from __future__ import annotations

MAX_DIGITS = 9
"""Digits that a number has at most by default, so that it fits into 32 bits."""


def number_in(text: object, max_digits: int = MAX_DIGITS) -> int | None:
    """Return the whole number that a text is; None for any other text.

    Python's `int` reads digits of every script and raises an error beyond 4,300 of them.

    Args:
        text: ASCII digits and nothing else; anything but a text is no number.
        max_digits: texts with more digits are no number either.

    Examples:
        >>> from rag_nodes.core.numbers import number_in
        >>> number_in("042"), number_in("-1"), number_in("9" * 5000), number_in(None)
        (42, None, None, None)
    """
    if not isinstance(text, str) or not text.isascii() or not text.isdecimal():
        return None
    return int(text) if len(text) <= max_digits else None
