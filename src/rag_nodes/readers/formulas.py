"""Formulas of web pages (MathML) and Word files (OMML) as text on one line.

Both draw fractions, roots and exponents by their layout alone: without it, one half is read as 12.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rag_nodes.text.superscripts import raised

if TYPE_CHECKING:
    from collections.abc import Sequence

APART = "\x1c"
"""Mark between parts that must not run together; a blank in the end if letters or digits do."""

_TERM = re.compile(r"[\w.,√⁺⁻⁼⁽⁾]*|\([^()]*\)|\[[^\[\]]*\]")
"""Text that stays together beside a slash."""
_RUNS_TOGETHER = re.compile(rf"(?<=[\w)]){APART}+(?=[\w(√])")
_ROWS = frozenset({"mtable", "mtr", "m", "mr", "eqArr"})
"""Matrices and lists of equations."""


def written(kind: str, parts: Sequence[tuple[str, str]]) -> str:
    """Write an element of a formula.

    Args:
        kind: "fraction", "stack" (a fraction without a line), "root", or the name of the element.
        parts: role and text of each part: "sup" for an exponent, "deg" for the degree of a root,
            anything else for others.
    """
    texts = [text for _, text in parts]
    if kind == "fraction":
        return f"{APART}{'/'.join(map(_together, texts))}{APART}"
    if kind in _ROWS or kind == "stack":
        return f"{APART}{APART.join(texts)}{APART}"
    if kind == "root":
        degree = "".join(raised(_plain(text)) for role, text in parts if role == "deg")
        radicand = "".join(text for role, text in parts if role != "deg")
        return f"{APART}{degree}√{_together(radicand)}{APART}"
    is_power = any(role == "sup" for role, _ in parts)
    return "".join(
        raised(_plain(text))
        if role == "sup"
        else _together(text)
        if is_power and "/" in text
        else text
        for role, text in parts
    )


def one_line(text: str) -> str:
    """Return a whole formula with blanks where its parts would run together."""
    return _plain(_RUNS_TOGETHER.sub(" ", text))


def _plain(text: str) -> str:
    return text.replace(APART, "")


def _together(text: str) -> str:
    """Return a part of a fraction, in parentheses if it is more than a term."""
    line = one_line(text).strip()
    return line if _TERM.fullmatch(line) else f"({line})"
