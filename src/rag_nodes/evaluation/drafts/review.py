"""Steps of a review of questions: the length of an answer, the next draft, what so many can decide.

Questions are immutable: a change gives a new object.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.evaluation.drafts.probes import SentenceText, drafted
from rag_nodes.evaluation.drafts.sections import Page
from rag_nodes.evaluation.metrics import Passage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.dataset import Question
    from rag_nodes.text.spans import Span

TO_ASK = "passage"
"""Kind of a draft that is a passage whose question nobody has typed yet."""
LEAST_WINS = 6
"""Questions won, and none lost, from which luck gives as much in under 5 % of tries."""
_TOLD_AFTER = (10, 20, 50)
_WINDOW = 1_500
"""Characters of a part of a document without headings."""


class Part(NamedTuple):
    """A part of a document: its passage, and the heading above it; "" for none."""

    passage: Passage
    heading: str


def lengthened(question: Question, documents: Mapping[str, Document], step: int) -> Question:
    """A question whose answers are a step longer (1) or shorter (-1); see `resized`.

    Those of several passages stay. `documents` are by id.
    """
    gold = dict.fromkeys(
        tuple(
            passage._replace(span=resized(documents[passage.document], passage.span, step))
            if len(answer) == 1 else passage
            for passage in answer
        )
        for answer in question.gold
    )  # fmt: skip
    return replace(question, gold=tuple(gold))


def as_long(question: Question, documents: Mapping[str, Document], characters: int) -> Question:
    """A draft whose answer comes nearest to so many characters; see `lengthened`."""

    def off(question: Question) -> int:
        return abs(question.gold[0][0].span.length - characters)

    longer = lengthened(question, documents, 1)
    while off(longer) < off(question):
        question, longer = longer, lengthened(longer, documents, 1)
    return question


def resized(document: Document, span: Span, step: int) -> Span:
    """An answer longer (1) or shorter (-1): a sentence, the paragraph or list, the whole section.

    What is shorter begins where it begins; the same where there is nothing longer or shorter.
    """
    page, text = Page(document), SentenceText(document.text)
    sizes = {text.spans[text.at(span.start)], page.block_at(span.start)}
    sizes |= {
        section.body
        for section in page.sections
        if section.body.start <= span.start < section.body.end
    }
    other = [size for size in sizes if (size.length - span.length) * step > 0]
    return min(other, key=lambda span: span.length * step, default=span)


def stretches(documents: Sequence[Document]) -> list[Part]:
    """The parts of documents that can be asked about: sections, or equal parts without headings."""
    found = []
    for document in documents:
        parts = [(section.body, section.heading) for section in Page(document).sections] or [
            (span, "") for span in SentenceText(document.text).passages(_WINDOW, _WINDOW)
        ]
        found += [Part(Passage(document.id_, span), heading) for span, heading in parts]
    return found


def free(parts: Sequence[Part], questions: Sequence[Question]) -> list[Part]:
    """The parts that no answer touches."""
    return [part for part in parts if _distance(part.passage, questions) >= 0]


def next_to_ask(
    parts: Sequence[Part], questions: Sequence[Question], texts: Mapping[str, str]
) -> Question | None:
    """The part that is farthest from all answers, as a draft whose question is to be typed.

    Args:
        parts: of all documents, see `stretches`.
        questions: all there are.
        texts: of the documents, by id.

    Returns:
        None where each part has an answer.
    """
    away = {part: _distance(part.passage, questions) for part in parts}
    found = max(parts, key=away.__getitem__, default=None)
    if found is None or away[found] < 0:
        return None
    asked = found.heading or "What would somebody ask that this answers?"
    quote = found.passage.span.of(texts[found.passage.document])
    return drafted(asked, quote, ((found.passage,),), TO_ASK)


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

    Who looked after each answer, and stopped where one setting leads, would be fooled by luck.
    """
    if accepted not in _TOLD_AFTER:
        return ""
    lead = 100 * LEAST_WINS / accepted
    return (
        f"{accepted} answers can show a lead between two settings of {lead:.0f} points or more: "
        f"one has to find {LEAST_WINS} answers that the other misses, and miss none itself. "
        f"{2 * accepted} can show {lead / 2:.0f} points."
    )


def _distance(passage: Passage, questions: Sequence[Question]) -> float:
    """Characters to the nearest answer in its document, below 0 where one touches it."""
    start, end = passage.span
    return min(
        (
            max(part.span.start - end, start - part.span.end)
            for question in questions for answer in question.gold for part in answer
            if part.document == passage.document
        ),
        default=float("inf"),
    )  # fmt: skip
