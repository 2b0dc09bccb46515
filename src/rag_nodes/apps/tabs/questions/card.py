"""One question with what answers it, in the text around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.apps.view.html import Html, join, name_of, tag
from rag_nodes.apps.view.parts import button, count, percent
from rag_nodes.evaluation.checks import leakage
from rag_nodes.evaluation.drafts.review import told

if TYPE_CHECKING:
    from rag_nodes.evaluation.dataset import Answer, Dataset, Question
    from rag_nodes.evaluation.metrics import Passage

_AROUND = 280
"""Characters shown on either side of a passage."""
_LONGEST = 1600
"""Characters of a passage that are shown; of a longer one beginning and end."""
_MOST = 6
"""Passages and alternatives that are drawn; a question can have very many of both."""
_MORE = "\N{HORIZONTAL ELLIPSIS}"


def card(dataset: Dataset, position: int, covered: int, parts: int) -> Html:
    """A question as it is reviewed.

    Args:
        dataset: all questions, and the documents.
        position: of the question, counted from 0.
        covered: parts of the documents with an answer.
        parts: of the documents.
    """
    question = dataset.questions[position]
    drafts = sum(one.draft for one in dataset.questions)
    answers = question.gold[:_MOST]
    said = told(len(dataset.questions) - drafts)
    return tag(
        "section",
        tag(
            "div",
            tag("strong", f"{position + 1:,} of {len(dataset.questions):,}", cls="rn-number"),
            tag("span", "draft" if question.draft else "accepted",
                cls="rn-flag" if question.draft else "rn-done"),
            tag("span", f"{count(drafts, 'draft')} to review" if drafts else "all reviewed",
                cls="rn-quiet"),
            tag("span", f"{covered:,} of {count(parts, 'part')} covered", cls="rn-quiet"),
            cls="rn-progress",
            role="status",
        ),
        tag("p", said, cls="rn-told") if said else None,
        tag("h2", question.text, cls="rn-question", dir="auto"),
        tag("p", *_facts(question, dataset), cls="rn-quiet"),
        *(_answer(one, number, dataset) for number, one in enumerate(answers)),
        _left_out(len(question.gold) - len(answers), "other answer"),
        cls="rn-card",
    )  # fmt: skip


def _facts(question: Question, dataset: Dataset) -> list[str]:
    """What tells a reviewer that something may be wrong with it."""
    facts = [f"Kind: {question.kind}."] if question.kind else []
    shared = leakage(question, dataset)
    if shared is not None:
        facts.append(f"{percent(shared)} of its words are in the answer.")
    if question.confidence < 1:
        facts.append(f"The answer was found only nearly: {percent(question.confidence)} alike.")
    return [" ".join(facts)]


def _answer(answer: Answer, number: int, dataset: Dataset) -> Html:
    name = "Or, as good an answer" if number else "Answer"
    shown = answer[:_MOST]
    return tag(
        "section",
        tag("h3", f"{name}, {count(len(answer), 'passage')}" if len(answer) > 1 else name),
        *(_passage(one, number, place, dataset) for place, one in enumerate(shown)),
        _left_out(len(answer) - len(shown), "passage"),
        cls="rn-gold-answer",
    )


def _passage(passage: Passage, answer: int, place: int, dataset: Dataset) -> Html:
    text, (start, end) = dataset.texts[passage.document], passage.span
    low, high = max(0, start - _AROUND), min(len(text), end + _AROUND)
    return tag(
        "div",
        tag("div", name_of(dataset.names[passage.document]), cls="rn-facts"),
        tag(
            "div",
            _MORE if low else None,
            text[low:start],
            tag("mark", _within(text[start:end]), cls="rn-gold"),
            text[end:high],
            _MORE if high < len(text) else None,
            cls="rn-text",
            dir="auto",
        ),
        button("open", "Show in the document", f"Show passage {place + 1} in the document",
               "rn-link", data_answer=answer, data_passage=place),
    )  # fmt: skip


def _within(text: str) -> Html:
    if len(text) <= _LONGEST:
        return join([text])
    half = _LONGEST // 2
    left_out = f" [{_MORE} {len(text) - 2 * half:,} characters {_MORE}] "
    return join([text[:half], tag("small", left_out), text[-half:]])


def _left_out(number: int, what: str) -> Html | None:
    return tag("p", f"and {count(number, what)} more", cls="rn-quiet") if number > 0 else None
