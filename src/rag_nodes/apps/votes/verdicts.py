"""What a visitor thinks of an answer: checked, remembered with the turn, made into a vote."""

from __future__ import annotations

import re
from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.apps.view.parts import summary_of
from rag_nodes.workspace.votes import Compared, Vote, question_of, voter_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_nodes.compare import Column
    from rag_nodes.workspace.turns import Turn, Turns

TIE, POOR = "tie", "poor"
"""What can be said instead of a column's number."""
_VERDICTS = {"yes": True, "no": False}
_SECRET = re.compile(r"[0-9a-f]{32}")
_NUMBER = re.compile(r"[0-9]{1,9}")


class Sent(NamedTuple):
    """What the page sent along with a click, checked for its form only.

    Attributes:
        act: what was clicked; "" for something else.
        turn: number of the question; 0 for none.
        column: position of the column on the page, from 1; 0 for none.
        rank: of a chunk, from 1; 0 for none.
        verdict: what was said.
        voter: stands for the browser.
    """

    act: str = ""
    turn: int = 0
    column: int = 0
    rank: int = 0
    verdict: str = ""
    voter: str = ""

    @classmethod
    def of(cls, data: object) -> Sent:
        """Read it; a script may send anything, and what does not fit counts as not sent."""
        values = data if isinstance(data, dict) else {}
        texts = {name: one for name, one in values.items() if isinstance(one, str)}
        secret = texts.get("voter", "")
        return cls(
            act=texts.get("act", ""),
            turn=_number(texts.get("turn", "")),
            column=_number(texts.get("column", "")),
            rank=_number(texts.get("rank", "")),
            verdict=texts.get("verdict", ""),
            # Without a number of its own a browser votes as somebody new each time.
            voter=voter_of(secret if _SECRET.fullmatch(secret) else token_hex(16)),
        )


def rate(turns: Turns, sent: Sent) -> Vote | None:
    """Remember whether an answer was helpful; the same said twice takes it back.

    Returns:
        The vote to keep; None where turn, column or verdict do not exist or the names are hidden.
    """
    helpful = _VERDICTS.get(sent.verdict)
    rated: list[Column] = []

    def change(turn: Turn) -> Turn:
        one = column_at(turn, sent.column)
        if one is None or one.answer is None or turn.order or helpful is None:
            return turn
        rated.append(one)
        said: bool | None = None if turn.marks.get(one.name) is helpful else helpful
        marks = {**turn.marks, one.name: said}
        kept = {name: mark for name, mark in marks.items() if mark is not None}
        return replace(turn, marks=kept)

    turn = turns.change(sent.turn, change)
    if turn is None or not rated:
        return None
    one = rated[0]
    said = turn.marks.get(one.name)
    winners = None if said is None else (one.name,) if said else ()
    return _vote(turn, sent.voter, rated, "helpful", winners)


def choose(turns: Turns, sent: Sent) -> Vote | None:
    """Remember which of the answers is best, which ends the hiding of names.

    Returns:
        The vote to keep; None where turn or choice do not exist or the names are known.
    """
    chosen: list[str] = []

    def change(turn: Turn) -> Turn:
        winners = _winners(turn, sent.verdict) if turn.hidden else None
        if winners is None:
            return turn
        chosen.append(turn.ballot)
        return replace(turn, winners=winners)

    turn = turns.change(sent.turn, change)
    if turn is None or not chosen:
        return None
    return _vote(turn, sent.voter, turn.columns, "best", turn.winners)


def column_at(turn: Turn, position: int) -> Column | None:
    """The column at a place on the page, counted from 1."""
    return turn.columns[position - 1] if 1 <= position <= len(turn.columns) else None


def _winners(turn: Turn, verdict: str) -> tuple[str, ...] | None:
    names = tuple(one.name for one in turn.columns)
    said: Mapping[str, tuple[str, ...]] = {TIE: names, POOR: ()}
    if verdict in said:
        return said[verdict]
    one = column_at(turn, _number(verdict))
    return (one.name,) if one else None


def _vote(
    turn: Turn,
    voter: str,
    columns: Sequence[Column],
    kind: str,
    winners: tuple[str, ...] | None,
) -> Vote:
    best = kind == "best"
    return Vote(
        kind="best" if best else "helpful",
        ballot=turn.ballot if best else f"{turn.ballot}-{columns[0].parser['fingerprint']}"[:64],
        voter=voter,
        question=question_of(turn.question),
        parsers=tuple(_compared(one) for one in columns),
        models=_plain(turn.report.models if turn.report else "", 500),
        winners=None if winners is None else tuple(map(_plain, winners)),
        blind=best,
    )


def _compared(one: Column) -> Compared:
    return Compared(
        name=_plain(one.name),
        fingerprint=_plain(str(one.parser["fingerprint"])),
        settings=_plain(summary_of(one.parser)),
    )


def _plain(text: str, most: int = 200) -> str:
    """Text that a file takes: no half characters, not too long."""
    return text.encode("utf-8", "replace").decode()[:most]


def _number(text: str) -> int:
    return int(text) if _NUMBER.fullmatch(text) else 0
