"""The little inline Markdown that decides what a block is: code spans and link definitions."""

from __future__ import annotations

import re
from bisect import bisect_left

from rag_nodes.text.patterns import compiled

_BACKTICKS = compiled(r"`+")
_ESCAPE_OR_BACKTICKS = compiled(r"\\[^\n]|`+")
_LONE = compiled(r"(``?)[^\S\n]*(?=\n)")
_LONE_STOP = compiled(r"\n[ \t]*+(``?)[^\S\n]*+(?=\n|\Z)|\n[^\S\n]*+\n[ \t]*+#")
_TITLE = r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)"
_DEFINITION = compiled(
    r" {0,3}\[(?=[^\]]*[^\s\]])(?:[^\[\]\\]|\\.){1,999}+\]:[ \t]*+(?:\n[ \t]*+)?+"
    r"(?:<(?:[^<>\n\\]|\\.)*+>|[^\s<]\S*+)"
    rf"(?:(?:[ \t]++|[ \t]*+\n[ \t]*+)(?:{_TITLE})[ \t]*+(?:\n|\Z)|[ \t]*+(?:\n|\Z))",
    re.DOTALL,
)


def definitions_end(text: str, start: int, end: int) -> int:
    """Offset after the link reference definitions that a paragraph starts with."""
    while start < end and (definition := _DEFINITION.match(text, start, end)):
        start = definition.end()
    return start


def has_long_code_span(text: str, start: int, end: int) -> bool:
    """Whether a code span opens on one line of a paragraph and closes on another."""
    closings: dict[int, list[int]] = {}
    for run in _BACKTICKS.finditer(text, start, end):
        closings.setdefault(run.end() - run.start(), []).append(run.start())
    at = start
    while opening := _ESCAPE_OR_BACKTICKS.search(text, at, end):
        at = opening.end()
        if text[opening.start()] == "\\":
            continue
        same = closings.get(at - opening.start(), [])
        later = bisect_left(same, at)
        if later < len(same):
            if text.find("\n", at, same[later]) >= 0:
                return True
            at = same[later] + at - opening.start()
    return False


def lone_code_span(text: str, at: int) -> int:
    """Offset after a code span whose backticks stand on lines of their own; 0 without one.

    Crawlers write code so. Blank lines inside would end a CommonMark code span; here they belong
    to it, because the closing line shows that it was code. A heading below a blank line shows that
    it was not.
    """
    opening = _LONE.match(text, at)
    if not opening:
        return 0
    at = opening.end()
    while stop := _LONE_STOP.search(text, at):
        if stop.group(1) == opening.group(1):
            return stop.end()
        if stop.group(1) is None:
            return 0
        at = stop.end()
    return 0
