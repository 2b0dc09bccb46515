"""Whether an answer was helpful: remembered with its question, and counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rag_nodes.apps.visitors.turns import Turn, Turns

_VERDICTS = {"yes": True, "no": False}


def rate(turns: Turns, number: int, column: int, verdict: str) -> bool:
    """Remember whether an answer was helpful; the same said twice takes it back.

    Args:
        turns: of the visitor.
        number: of the turn.
        column: position of the answer, counted from 1.
        verdict: "yes" or "no".

    Returns:
        False where turn, answer or verdict do not exist.
    """
    helpful = _VERDICTS.get(verdict)
    rated: list[str] = []

    def change(turn: Turn) -> Turn:
        one = turn.column_at(column)
        if one is None or one.answer is None or helpful is None:
            return turn
        rated.append(one.name)
        marks = {name: mark for name, mark in turn.marks.items() if name != one.name}
        if turn.marks.get(one.name) is not helpful:
            marks[one.name] = helpful
        return replace(turn, marks=marks)

    turns.change(number, change)
    return bool(rated)


class ColumnTally(NamedTuple):
    """How many of a column's rated answers were helpful."""

    name: str
    helpful: int
    rated: int


def tally(turns: Iterable[Turn]) -> list[ColumnTally]:
    """One row for each column that was rated."""
    marks = [mark for turn in turns for mark in turn.marks.items()]
    rated, helpful = Counter(name for name, _ in marks), Counter(name for name, yes in marks if yes)
    return [ColumnTally(name, helpful[name], number) for name, number in rated.items()]
