"""What happens in the comparison: a visitor's action in, rendered parts of the page out."""

from __future__ import annotations

import logging
import time

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.sent import Sent
from rag_nodes.apps.tabs.compare.history import history
from rag_nodes.apps.tabs.compare.labels import call_right
from rag_nodes.apps.view.html import tag
from rag_nodes.apps.visitors.choice import MOST_QUESTION
from rag_nodes.apps.visitors.requests import session_of
from rag_nodes.apps.visitors.turns import AT_FIRST
from rag_nodes.errors import ConfigurationError, DatasetError

if TYPE_CHECKING:
    from pathlib import Path

    from rag_nodes.apps.visitors.session import PageSession, PageSessions
    from rag_nodes.apps.visitors.turns import Growing, Turn, Turns

logger = logging.getLogger(__name__)

PLACEHOLDER = "Type your question here..."
NOT_YET = "Upload a document first"
FRAME = 0.15
"""Seconds between two pictures of answers that grow."""
_FAULT = (
    "The question could not be answered, by a fault of the app ({}); you can ask on. Whoever runs "
    "the app finds the reason in its log."
)
_VERDICTS = {"yes": True, "no": False}
_STOPPABLE, _NOT_STOPPABLE = gr.Button(visible=True), gr.Button(visible=False)


class CompareEvents:
    """What the events do: find the visitor's session, call it, render what it returns.

    Args:
        sessions: where each visitor's work is.
    """

    def __init__(self, sessions: PageSessions) -> None:
        self._sessions = sessions

    def ask(self, question: str, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Answer a question: first the empty columns, then the answers as they grow."""
        question = str(question or "").strip()  # a script may send anything
        if not question:
            raise gr.Error("Type a question first.", print_exception=False)
        if len(question) > MOST_QUESTION:
            message = f"Ask in at most {MOST_QUESTION:,} characters."
            raise gr.Error(message, print_exception=False)
        session = session_of(self._sessions, request)
        try:
            yield from _pictures(session, session.stream(question))
        except ConfigurationError as error:
            raise gr.Error(str(error), print_exception=False) from error
        except Exception as error:
            # Whatever it was, the visitor can go on: the box is open again, and says what happened.
            logger.exception("a question could not be answered")
            yield _page(session), _question_box(session), _NOT_STOPPABLE
            raise gr.Error(_FAULT.format(type(error).__name__), print_exception=False) from error

    def watch(self, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Show the answers that are being written, on a page that was loaded meanwhile."""
        session = session_of(self._sessions, request)
        if session.asking is None:
            yield gr.skip(), gr.skip(), gr.skip()
            return
        yield from _pictures(session, session.looks())

    def stop(self, request: gr.Request) -> None:
        """End the answers that are being written."""
        session_of(self._sessions, request).stop()

    def stop_one(self, request: gr.Request, event: gr.EventData) -> None:
        """End one of them."""
        sent = Sent.of(event)
        session_of(self._sessions, request).stop_one(sent.turn, sent.column)

    def clear(self, request: gr.Request) -> str:
        """Forget the questions."""
        session = session_of(self._sessions, request)
        session.clear()
        return _page(session)

    def pick(self, request: gr.Request, event: gr.EventData) -> Any:
        """A verdict on an answer, a citation that is right, or a look at earlier questions.

        Returns:
            What is above the question box.
        """
        session, sent = session_of(self._sessions, request), Sent.of(event)
        if sent.act == "earlier":
            session.history.shown += AT_FIRST
        elif sent.act == "right":
            _label(session, sent)
        elif sent.act != "helpful" or not _rate(session.history, sent):
            return gr.skip()
        return _page(session)


def _rate(turns: Turns, sent: Sent) -> bool:
    """Remember whether an answer was helpful; the same said twice takes it back.

    Returns:
        False where turn, column or verdict do not exist.
    """
    helpful = _VERDICTS.get(sent.verdict)
    rated: list[str] = []

    def change(turn: Turn) -> Turn:
        one = turn.column_at(sent.column)
        if one is None or one.answer is None or helpful is None:
            return turn
        rated.append(one.name)
        marks = {name: mark for name, mark in turn.marks.items() if name != one.name}
        if turn.marks.get(one.name) is not helpful:
            marks[one.name] = helpful
        return replace(turn, marks=marks)

    turns.change(sent.turn, change)
    return bool(rated)


def _label(session: PageSession, sent: Sent) -> None:
    """A cited place becomes the answer of a labelled question, or is taken back."""
    turn = next((one for one in session.turns if one.number == sent.turn), None)
    column = turn.column_at(sent.column) if turn else None
    if turn is None or column is None or column.answer is None:
        return
    try:
        gr.Info(call_right(session, turn, column.answer, sent.cited))
    except DatasetError as error:
        gr.Warning(str(error))


def _pictures(
    session: PageSession, answers: Iterator[tuple[Growing, ...]]
) -> Iterator[tuple[Any, ...]]:
    """What the page shows while answers grow, and once they have ended."""
    frames = _Frames()
    for growing in answers:
        if frames.is_first():
            yield _page(session), gr.Textbox("", interactive=False), _STOPPABLE
        elif frames.is_due(growing):
            yield _page(session), gr.skip(), gr.skip()
    yield _page(session), _question_box(session), _NOT_STOPPABLE


class _Frames:
    """Which of many looks at growing answers are worth a picture."""

    def __init__(self) -> None:
        self._shown: float | None = None
        self._ended = 0

    def is_first(self) -> bool:
        """True once."""
        first = self._shown is None
        self._shown = self._shown or time.monotonic()
        return first

    def is_due(self, growing: Sequence[Growing]) -> bool:
        """True after a while, and when a column has ended: the others may be silent for long."""
        ended = sum(one.ended for one in growing)
        now = time.monotonic()
        if ended == self._ended and now - (self._shown or 0) < FRAME:
            return False
        self._shown, self._ended = now, ended
        return True


def _page(session: PageSession) -> str:
    """Everything above the question box."""
    turns = session.history
    return history(
        turns.all,
        ready=session.ready,
        asking=session.asking,
        shown=turns.shown,
        questions=session.questions,
    )


def while_loading() -> tuple[Any, ...]:
    """What becomes of the comparison while documents are loaded; see `CompareTab.follow`."""
    waiting = gr.Textbox(placeholder="Processing", interactive=False)
    return gr.skip(), waiting, gr.skip(), tag("p", "Processing the documents", cls="rn-quiet")


def after_loading(session: PageSession, example: Path | None) -> tuple[Any, ...]:
    """The comparison once loading has ended, well or not.

    Args:
        session: of the visitor.
        example: the document that the suggested questions are about.
    """
    return (
        _page(session),
        _question_box(session),
        gr.Row(visible=session.ready and session.paths == (example,)),
        "",
    )


def _question_box(session: PageSession) -> gr.Textbox:
    """Open once there is something to ask.

    Without a value: Gradio sends an event's last values a second time, when a visitor may type.
    """
    return gr.Textbox(
        interactive=session.ready and session.asking is None,
        placeholder=PLACEHOLDER if session.ready else NOT_YET,
    )
