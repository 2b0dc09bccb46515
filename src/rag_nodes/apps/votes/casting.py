"""What a visitor thinks of an answer: checked, remembered with the turn, kept as a vote."""

from __future__ import annotations

import logging
from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING

import gradio as gr

from rag_nodes.apps.sent import number_in
from rag_nodes.apps.visitors.choice import headline_of
from rag_nodes.apps.visitors.turns import MOST_VOTES
from rag_nodes.apps.votes import view
from rag_nodes.apps.votes.store import Vote, question_of, voter_of
from rag_nodes.apps.votes.sums import Contender
from rag_nodes.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.apps.sent import Sent
    from rag_nodes.apps.view.html import Html
    from rag_nodes.apps.visitors.turns import Turn, Turns
    from rag_nodes.apps.votes.store import Votes
    from rag_nodes.compare import Column

TIE, POOR = "tie", "poor"
"""What can be said instead of a column's number."""
_VERDICTS = {"yes": True, "no": False}
NOT_KEPT = "Your vote counts on this page, but the server could not keep it."
TOO_MANY = (
    f"Your vote counts on this page only: of one browser tab {MOST_VOTES} are kept. "
    "Reload the page to go on."
)
NOT_DELETED = "The server could not delete your votes."

logger = logging.getLogger(__name__)


class Voting:
    """What a click on a verdict does; a file that cannot be used is said, and all else goes on.

    Args:
        votes: of all visitors.
    """

    def __init__(self, votes: Votes) -> None:
        self._votes = votes

    def cast(self, turns: Turns, sent: Sent) -> bool:
        """Remember and keep a vote.

        Returns:
            False where there was nothing to vote on.
        """
        vote = choose(turns, sent) if sent.act == "best" else rate(turns, sent)
        if vote is None:
            return False
        if not turns.count_vote():
            gr.Warning(TOO_MANY)
            return True
        try:
            self._votes.add(vote)
        except StoreError as error:
            _warn(NOT_KEPT, error)
        return True

    def panel(self, *, asking: bool = False) -> Html:
        """All votes together.

        Args:
            asking: ask whether the visitor's own are to be deleted.
        """
        try:
            return view.votes(self._votes.summary(), asking=asking)
        except StoreError as error:
            logger.warning("%s", error)
            return view.unreadable()

    def delete(self, turns: Turns, sent: Sent) -> None:
        """Delete what a visitor has voted."""
        try:
            self._votes.forget(_voter(sent))
        except StoreError as error:
            _warn(NOT_DELETED, error)
        else:
            turns.forget_marks()


def rate(turns: Turns, sent: Sent) -> Vote | None:
    """Remember whether an answer was helpful; the same said twice takes it back.

    Returns:
        The vote to keep; None where turn, column or verdict do not exist or the names are hidden.
    """
    helpful = _VERDICTS.get(sent.verdict)
    rated: list[Column] = []

    def change(turn: Turn) -> Turn:
        one = turn.column_at(sent.column)
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
    return _vote(turn, sent, rated, winners, blind=False)


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
    return _vote(turn, sent, turn.columns, turn.winners, blind=True)


def _winners(turn: Turn, verdict: str) -> tuple[str, ...] | None:
    if verdict == TIE:
        return tuple(one.name for one in turn.columns)
    if verdict == POOR:
        return ()
    one = turn.column_at(number_in(verdict) or 0)
    return (one.name,) if one else None


def _vote(
    turn: Turn,
    sent: Sent,
    columns: Sequence[Column],
    winners: tuple[str, ...] | None,
    *,
    blind: bool,
) -> Vote:
    """A choice between all columns where their names were hidden, a verdict on one elsewhere."""
    one = f"{turn.ballot}-{columns[0].parser['fingerprint']}"[:64]
    return Vote(
        kind="best" if blind else "helpful",
        ballot=turn.ballot if blind else one,
        voter=_voter(sent),
        question=question_of(turn.question),
        parsers=tuple(_contender(one) for one in columns),
        models=_plain(turn.report.models if turn.report else "", 500),
        winners=None if winners is None else tuple(map(_plain, winners)),
        blind=blind,
    )


def _voter(sent: Sent) -> str:
    # Without a number of its own a browser votes as somebody new each time.
    return voter_of(sent.voter or token_hex(16))


def _contender(one: Column) -> Contender:
    return Contender(
        name=_plain(one.name),
        fingerprint=_plain(str(one.parser["fingerprint"])),
        settings=_plain(headline_of(one.name, one.parser)),
    )


def _plain(text: str, most: int = 200) -> str:
    """Text that a file takes: no half characters, not too long."""
    return text.encode("utf-8", "replace").decode()[:most]


def _warn(message: str, error: StoreError) -> None:
    """Tell the visitor what, and the log where: paths of the server are nobody's business."""
    logger.warning("%s", error)
    gr.Warning(message)
