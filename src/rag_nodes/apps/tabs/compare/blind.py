"""A column whose parser must not be recognised: the answer and its places, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.apps.tabs.compare.answers import answer_text, kind_of, stopped_text
from rag_nodes.apps.tabs.compare.buttons import LETTERS
from rag_nodes.apps.view.html import Html, name_of, tag
from rag_nodes.apps.view.parts import place

if TYPE_CHECKING:
    from rag_nodes.compare import Column
    from rag_nodes.query import Answer


def letter_of(position: int) -> str:
    """What the column at a position, counted from 1, is called."""
    return f"Answer {LETTERS[position - 1]}"


def hidden_column(one: Column, position: int, stopped: str | None) -> Html:
    """An answer under its letter.

    Left out is what tells parsers apart: colour, settings, numbers, times, chunks and the reasons
    of failures.

    Args:
        one: what the comparison found.
        position: of the column, counted from 1.
        stopped: what had arrived before the visitor stopped it; None where they did not.
    """
    answer = one.answer
    parts: list[Html | None] = [tag("p", "No answer came of this parser.", cls="rn-kind")]
    if answer is not None:
        text = answer_text(answer.text, answer.marks, {}, quoted=answer.kind == "extract")
        shown = tag("div", text, cls=f"rn-answer rn-answer-{answer.kind}")
        parts = [tag("p", kind_of(answer), cls="rn-kind"), shown]
    elif stopped is not None:
        parts = [stopped_text(stopped)]
    return tag(
        "article",
        tag("header", tag("h3", letter_of(position))),
        tag("div", *parts),
        tag("div", _places(answer) if answer else None),
        *[tag("div")] * 2,
        cls="rn-column rn-neutral",
        aria_label=letter_of(position),
    )


def _places(answer: Answer) -> Html | None:
    """Number, page and file of what is cited, each once."""
    rows: dict[Html, None] = {}
    for citation in answer.citations:
        where, file = place(citation.page, citation.page_end), citation.file_name or "document"
        row = tag(
            "li",
            tag("span", f"[{citation.number}]", cls="rn-chip"),
            tag("span", where, cls="rn-page") if where else None,
            tag("span", name_of(file), cls="rn-source", title=file),
        )
        rows[row] = None
    return tag("ul", *rows, cls="rn-citations", aria_label="Citations") if rows else None
