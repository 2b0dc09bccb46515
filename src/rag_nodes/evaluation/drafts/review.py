"""Steps of a review of questions: the length of an answer, the next draft, what so many can decide.

Questions are immutable: a change gives a new object.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rag_nodes.evaluation.drafts.probes import SentenceText
from rag_nodes.evaluation.drafts.sections import Page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.dataset import Question
    from rag_nodes.evaluation.metrics import Passage

LEAST_WINS = 6
"""Smallest number of questions for which that many wins and no loss are significant (p < 0.05)."""
_TOLD_AFTER = (10, 20, 50)


def as_long(question: Question, documents: Mapping[str, Document], characters: int) -> Question:
    """A draft whose answer comes nearest to so many characters."""

    def off(question: Question) -> int:
        return abs(question.gold[0][0].span.length - characters)

    longer = _lengthened(question, documents)
    while off(longer) < off(question):
        question, longer = longer, _lengthened(longer, documents)
    return question


def _lengthened(question: Question, documents: Mapping[str, Document]) -> Question:
    """A question whose answers are a step longer, except those of several passages.

    Longer is a sentence, the paragraph or list, the whole section; the same where nothing is.
    `documents` are by id.
    """

    def longer(passage: Passage) -> Passage:
        span, document = passage.span, documents[passage.document]
        page, text = Page(document), SentenceText(document.text)
        around = [text.spans[text.at(span.start)], page.block_at(span.start)]
        around += [body for _, body in page.sections if body.start <= span.start < body.end]
        sizes = [size for size in around if size.length > span.length]
        return passage._replace(span=min(sizes, key=lambda size: size.length, default=span))

    gold = dict.fromkeys(
        (longer(answer[0]),) if len(answer) == 1 else answer for answer in question.gold
    )
    return replace(question, gold=tuple(gold))


def following(questions: Sequence[Question], position: int) -> str:
    """Id of the next draft from a position on, around the end.

    Without any draft that of the question there; "" without a question.
    """
    at = position % len(questions) if questions else 0
    around = (*questions[at:], *questions[:at])
    return next(
        (question.id for question in around if question.draft), around[0].id if around else ""
    )


def told(accepted: int) -> str:
    """Describe what this number of questions can decide, at a few numbers; "" in between.

    Who looked after each answer, and stopped where one setting leads, would be fooled by chance.
    """
    if accepted not in _TOLD_AFTER:
        return ""
    lead = 100 * LEAST_WINS / accepted
    return (
        f"{accepted} answers can show a lead between two settings of {lead:.0f} points or more: "
        f"one has to find {LEAST_WINS} answers that the other misses, and miss none itself. "
        f"{2 * accepted} can show {lead / 2:.0f} points."
    )
