"""The parts of the page, each drawn from a session and shown on its screen."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from markupsafe import Markup

from rag_nodes.apps.markup import render
from rag_nodes.apps.panes import decision, pages, review, top
from rag_nodes.apps.panes.answers import turn_view
from rag_nodes.apps.panes.text import asking_view
from rag_nodes.apps.visitors.turns import MOST_TURNS

if TYPE_CHECKING:
    from rag_nodes.apps.visitors.session import PageSession


def show_all(session: PageSession) -> None:
    """Show every part of the page."""
    top.show_loading(session)
    top.show_columns(session)
    top.show_reading(session)
    top.show_suggestions(session)
    top.show_tally(session)
    pages.show_page(session)
    review.show_marked(session)
    review.show_review(session)


def changed(session: PageSession, what: str) -> None:
    """Show what changed in a session; see `PageSession`."""
    if what == "loading":
        top.show_loading(session)
    elif what == "loaded":
        show_all(session)
        for turn in session.turns:
            show_answers(session, turn.number)
    elif what == "documents":
        session.screen.clear("history")
    elif what == "decision":
        decision.show_decision(session)
    else:
        _show_turn(session, int(what.rpartition(" ")[2]))


def show_answers(session: PageSession, number: int) -> None:
    """Show a question with its answers."""
    session.screen.show(f"turn {number}", partial(_turn, session, number), "history")


def _show_turn(session: PageSession, number: int) -> None:
    show_answers(session, number)
    top.show_state(session)
    if session.talk.asking is None:
        session.screen.show(f"turn {number - MOST_TURNS}", None)
        pages.show_page(session)


def _turn(session: PageSession, number: int) -> Markup:
    """Draw a question: its answers, or as they grow."""
    turn, asking = session.talk.turns.numbered(number), session.talk.asking
    if turn is not None:
        several = len(session.documents) > 1
        view = turn_view(turn, session.columns.baseline, several=several)
        names = session.cuts.split_since(turn) if session.cuts else []
        return render("again", names=names) + view if names else view
    return asking_view(asking) if asking and asking.number == number else Markup()
