"""The main area: questions with a row of columns each, and what stands there before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.apps.render.answers import answer_text, column
from rag_nodes.apps.render.html import Html, tag
from rag_nodes.apps.render.parts import colour_of, count, notice, title_of
from rag_nodes.compare.evidence import found_also_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.apps.session import Growing, Turn
    from rag_nodes.compare import ComparisonReport

_STEPS = (
    ("Upload", "a PDF, a Markdown or a text file, or several."),
    ("Compare", "how each parser cuts it; sizes and overlaps are in the sidebar."),
    ("Ask", "and read the answers side by side, each with its page and its chunks."),
)


def history(
    turns: Sequence[Turn],
    *,
    ready: bool,
    pending: str | None = None,
    growing: Sequence[Growing] = (),
) -> Html:
    """Everything above the question box.

    Args:
        turns: questions and answers, oldest first.
        ready: a document is loaded.
        pending: a question that is being answered.
        growing: the columns that answer it.
    """
    rows = [_turn(turn) for turn in turns]
    if pending is not None:
        rows.append(_row(pending, _columns([_grown(one) for one in growing]), "rn-pending"))
    if not rows:
        rows = [_asking() if ready else _welcome()]
    return tag("div", *rows, cls="rn-history", aria_live="polite")


def _turn(turn: Turn) -> Html:
    if turn.report is None:
        return _row(turn.question, notice("error", turn.error or "no answer"), "rn-turn")
    best = _best(turn.report)
    shared = found_also_by({one.name: one.answer.hits for one in turn.report.columns if one.answer})
    cells = [
        column(one, turn.scale, best, f"rn-{turn.number}-{position}", shared)
        for position, one in enumerate(turn.report.columns, start=1)
    ]
    return _row(turn.question, _columns(cells), "rn-turn", note=turn.report.models)


def _row(question: str, content: Html, cls: str, note: str | None = None) -> Html:
    return tag(
        "section",
        tag("h2", question, cls="rn-question", dir="auto"),
        content,
        tag("p", note, cls="rn-models") if note else None,
        cls=cls,
    )


def _columns(cells: Sequence[Html]) -> Html:
    return tag("div", *cells, cls=f"rn-columns rn-n{len(cells)}")


def _grown(one: Growing) -> Html:
    """A column whose answer is being written; grey lines until its first word."""
    line = tag("span", cls="rn-bone")
    bones = tag("div", line, line, line, cls="rn-bones", aria_hidden="true")
    return tag(
        "article",
        tag("header", tag("h3", title_of(one.name)), tag("p", _stage(one), cls="rn-config")),
        tag("div", answer_text(one.text, (), {}), cls="rn-answer") if one.text else bones,
        *[tag("div")] * 3,
        cls=f"rn-column {colour_of(one.name)}",
        aria_busy="false" if one.ended else "true",
    )


def _stage(one: Growing) -> str:
    if one.found is None:
        return "searching"
    return "answered" if one.ended else f"{count(one.found, 'chunk')} found, writing"


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
    return tag(
        "div",
        tag("h2", "Which way of cutting answers your questions best?"),
        tag("p", "Put a document in and see. Nothing leaves this machine unless you add a key."),
        tag("ol", *steps, cls="rn-steps"),
        cls="rn-empty",
    )


def _asking() -> Html:
    return tag(
        "div",
        tag("h2", "Ready. What do you want to know?"),
        tag("p", "Every parser gets the same question and the same room for context."),
        cls="rn-empty",
    )
