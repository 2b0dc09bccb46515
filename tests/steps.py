"""What a piece of work costs, counted in steps, which are the same on every machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from rag_nodes.parsers import recursive
from rag_nodes.text import graphemes


class CountingPattern:
    """A pattern that remembers how many characters it was let loose on."""

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern
        self.characters = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._pattern, name)

        def count_characters(text: str, *places: int) -> Any:
            self.characters += len(text)
            return method(text, *places)

        return count_characters


def lines_of(work: Callable[[], object]) -> int:
    """Count the lines of Python that are run, loops without a call included."""
    lines = 0

    def count_line(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count_line

    sys.settrace(count_line)
    try:
        work()
    finally:
        sys.settrace(None)
    return lines


def calls_of(work: Callable[[], object]) -> int:
    """Functions called, Python's own and those written in C."""
    calls = 0

    def count_call(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count_call)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def steps_of(work: Callable[[], object], patch: pytest.MonkeyPatch) -> int:
    """Functions called, and characters in which clusters and letters of flags were looked for."""
    looked_at, letters_before = 0, graphemes._letters_before

    def count_letters(text: str, offset: int, floor: int) -> int:
        nonlocal looked_at
        looked_at += offset - floor
        return letters_before(text, offset, floor)

    with patch.context() as during:
        during.setattr(graphemes, "_letters_before", count_letters)
        pattern = CountingPattern(graphemes._CLUSTER)
        for module in (graphemes, recursive):
            during.setattr(module, "_CLUSTER", pattern)
        return calls_of(work) + pattern.characters + looked_at
