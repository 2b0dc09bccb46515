"""What happens when a visitor votes: the vote is remembered, kept, and added to all others."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import gradio as gr

from rag_nodes.apps.votes import view as render
from rag_nodes.apps.votes.sums import sum_votes
from rag_nodes.apps.votes.verdicts import Sent, choose, rate
from rag_nodes.errors import StoreError
from rag_nodes.workspace.turns import MOST_VOTES

if TYPE_CHECKING:
    from rag_nodes.apps.view.html import Html
    from rag_nodes.apps.votes.sums import Summary
    from rag_nodes.workspace.turns import Turns
    from rag_nodes.workspace.votes import Ledger, Votes

NOT_KEPT = "Your vote counts on this page, but the server could not keep it."
TOO_MANY = (
    f"Your vote counts on this page only: of one browser tab {MOST_VOTES} are kept. "
    "Reload the page to go on."
)
NOT_DELETED = "The server could not delete your votes."

logger = logging.getLogger(__name__)


class VoteEvents:
    """What the events do; a file that cannot be used is said, and everything else goes on.

    Args:
        votes: of all visitors.
    """

    def __init__(self, votes: Votes) -> None:
        self._votes = votes
        self._summed: tuple[Ledger, Summary] | None = None

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
            ledger = self._votes.read()
        except StoreError as error:
            logger.warning("%s", error)
            return render.unreadable()
        summed = self._summed
        if summed is None or summed[0] is not ledger:
            summed = self._summed = ledger, sum_votes(ledger.votes)
        return render.votes(summed[1], ledger.damaged, asking=asking)

    def delete(self, turns: Turns, voter: str) -> None:
        """Delete what a visitor has voted."""
        try:
            self._votes.forget(voter)
        except StoreError as error:
            _warn(NOT_DELETED, error)
        else:
            turns.forget_marks()


def _warn(message: str, error: StoreError) -> None:
    """Tell the visitor what, and the log where: paths of the server are nobody's business."""
    logger.warning("%s", error)
    gr.Warning(message)
