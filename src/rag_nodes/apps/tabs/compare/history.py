"""The main area: questions with a row of columns each, and what stands there before them."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from rag_nodes.apps.tabs.compare.answers import (
    ColumnView,
    column,
    growing_text,
)
from rag_nodes.apps.tabs.compare.buttons import earlier, stop
from rag_nodes.apps.tabs.compare.labels import called_right
from rag_nodes.apps.view.html import Html, tag
from rag_nodes.apps.view.parts import bones, colour_of, count, empty, notice, title_of
from rag_nodes.apps.visitors.turns import AT_FIRST, MOST_TURNS
from rag_nodes.compare.evidence import found_also_by

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rag_nodes.apps.visitors.questions import Questions
    from rag_nodes.apps.visitors.turns import Asking, Growing, Turn
    from rag_nodes.compare import ComparisonReport

logger = logging.getLogger(__name__)

_GO_ON = "You can ask on; whoever runs the app finds the reason in its log."
_STEPS = (
    ("Upload", "PDF, Word, HTML, Markdown, CSV or text files, or try the example document."),
    ("Choose", "up to four parsers, the ways to cut it; the first four are a good start."),
    ("Ask", "and read the answers side by side, each with its page and its chunks."),
)


def history(
    turns: Sequence[Turn],
    *,
    ready: bool,
    asking: Asking | None = None,
    shown: int = AT_FIRST,
    questions: Questions | None = None,
) -> Html:
    """Everything above the question box.

    Args:
        turns: questions and answers, oldest first.
        ready: a document is loaded.
        asking: a question that is being answered.
        shown: how many of the latest turns are drawn.
        questions: the labelled ones, some of which were made of these turns.
    """
    rows = [
        _row(turn.number, turn.question, "rn-turn", partial(_turn, turn, questions))
        for turn in turns[-shown:]
    ]
    if asking is not None:
        rows.append(_row(asking.number, asking.question, "rn-pending", partial(_pending, asking)))
    if not rows:
        rows = [_asking() if ready else _welcome()]
    # One line is announced: of everything, growing answers would be read out again and again.
    said = tag("p", _said(turns, asking), cls="rn-said", role="status")
    return tag("div", said, _before(turns, shown), *rows, cls="rn-history")


def _row(number: int, question: str, cls: str, draw: Callable[[], Sequence[Html | None]]) -> Html:
    """One question, or why it cannot be shown: a fault of ours takes no other question along."""
    try:
        content = draw()
    except Exception as error:
        logger.exception("a reply could not be drawn")
        kind = f"This cannot be shown, by a fault of the app ({type(error).__name__}). "
        content = [notice("error", kind, _GO_ON)]
    heading = tag("h2", question, cls="rn-question", dir="auto")
    return tag("section", heading, *content, cls=cls, data_number=number)


def _pending(asking: Asking) -> Sequence[Html | None]:
    cells = [_grown(asking, position) for position in range(1, len(asking.growing) + 1)]
    return [_columns(cells)]


def _said(turns: Sequence[Turn], asking: Asking | None) -> str:
    """What screen readers announce."""
    if asking is not None:
        return "Answering"
    if not turns:
        return ""
    report = turns[-1].report
    done = [one for one in report.columns if one.answer] if report else []
    return f"{count(len(done), 'answer')} to: {turns[-1].question}"


def _before(turns: Sequence[Turn], shown: int) -> Html | None:
    """The way to older turns, and where they end."""
    left = len(turns) - shown
    full = f"Only the last {MOST_TURNS} questions are kept." if len(turns) >= MOST_TURNS else None
    if left <= 0 and not full:
        return None
    return tag("div", earlier(left) if left > 0 else None, full, cls="rn-before rn-quiet")


def _turn(turn: Turn, questions: Questions | None = None) -> Sequence[Html | None]:
    if turn.report is None:
        return [notice("error", turn.error or "no answer")]
    note = tag("p", turn.report.models, cls="rn-models") if turn.report.models else None
    columns = turn.columns
    best = _best(turn.report)
    shared = found_also_by({one.name: one.answer.hits for one in columns if one.answer})
    cells = [
        column(
            one,
            turn.scale,
            ColumnView(
                turn.number,
                position,
                best,
                shared,
                turn.marks.get(one.name),
                stopped=turn.stopped.get(one.name),
                edges=turn.edges,
                right=called_right(turn, one.answer, questions)
                if questions and one.answer
                else frozenset(),
            ),
        )
        for position, one in enumerate(columns, start=1)
    ]
    return [_columns(cells), note]


def _columns(cells: Sequence[Html]) -> Html:
    return tag("div", *cells, cls=f"rn-columns rn-n{len(cells)}")


def _grown(asking: Asking, position: int) -> Html:
    """A column whose answer is being written; grey lines until its first word."""
    one = asking.growing[position - 1]
    name = title_of(one.name)
    ended = tag("p", cls="rn-kind") if one.ended else bones()
    return tag(
        "article",
        tag(
            "header",
            tag("h3", name),
            tag("p", _stage(one), cls="rn-config"),
            None if one.ended else stop(asking.number, position, name),
        ),
        growing_text(one.text, quoted=asking.quoted) if one.text else ended,
        *[tag("div")] * 3,
        cls=f"rn-column {colour_of(one.name)}",
        aria_busy="false" if one.ended else "true",
    )


def _stage(one: Growing) -> str:
    if one.stopped:
        return "stopped"
    if one.ended:
        return "answered"
    if one.found is None:
        return "searching"
    return f"{count(one.found, 'chunk')} found, writing"


def _best(report: ComparisonReport) -> float | None:
    similarities = [
        hit.similarity
        for one in report.columns
        if one.answer
        for hit in one.answer.hits
        if hit.similarity is not None
    ]
    return max(similarities, default=None)


def _welcome() -> Html:
    steps = [tag("li", tag("strong", name), " ", text) for name, text in _STEPS]
    return empty(
        "Which way of cutting a document answers best?",
        tag("p", "Bring one and see. No key is needed: without one, no model service is asked."),
        tag("ol", *steps, cls="rn-steps"),
    )


def _asking() -> Html:
    return empty(
        "Ready. What do you want to know?",
        tag("p", "Every parser gets the same question and the same room for context."),
    )
