"""How much of a document an answer is, and which part of it to label next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.evaluation.drafts.passages import SentenceText, overlaps
from rag_nodes.evaluation.drafts.sections import Page
from rag_nodes.evaluation.metrics import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.text.spans import Span

_WINDOW = 1_500
"""Characters of a part of a document without headings."""


class Part(NamedTuple):
    """A part of a document: its passage, and the heading above it; "" for none."""

    passage: Passage
    heading: str


def resized(document: Document, span: Span, step: int) -> Span:
    """An answer made longer or shorter: a sentence, the paragraph or list, the whole section.

    Args:
        document: which it is of.
        span: the answer; what is shorter begins where it begins.
        step: 1 for longer, -1 for shorter.

    Returns:
        The same where there is nothing longer or shorter.
    """
    page, text = Page(document), SentenceText(document.text)
    sizes = {text.spans[text.at(span.start)], page.block_at(span.start)}
    sizes |= {one.body for one in page.sections if one.body.start <= span.start < one.body.end}
    if step > 0:
        longer = [one for one in sizes if one.length > span.length]
        return min(longer, key=lambda one: one.length, default=span)
    shorter = [one for one in sizes if one.length < span.length]
    return max(shorter, key=lambda one: one.length, default=span)


def stretches(documents: Sequence[Document]) -> list[Part]:
    """The parts of documents that can be asked about: sections, or equal parts without headings."""
    return [one for document in documents for one in _parts(document)]


def next_stretch(parts: Sequence[Part], golds: Sequence[Passage]) -> Part | None:
    """The part that is farthest from all answers so far; None where each has one.

    Args:
        parts: of all documents, see `stretches`.
        golds: the answers of all questions.
    """
    free = [one for one in parts if not overlaps(one.passage, golds)]
    return max(free, key=lambda one: _distance(one.passage, golds), default=None)


def _distance(passage: Passage, golds: Sequence[Passage]) -> float:
    """Characters to the nearest answer; without bounds in a document that has none."""
    own = [one.span for one in golds if one.document == passage.document]
    start, end = passage.span
    return min((max(one.start - end, start - one.end) for one in own), default=float("inf"))


def _parts(document: Document) -> Iterator[Part]:
    sections = Page(document).sections
    for one in sections:
        yield Part(Passage(document.id_, one.body), one.heading)
    if not sections:
        for span in SentenceText(document.text).passages(_WINDOW, _WINDOW):
            yield Part(Passage(document.id_, span), "")
