"""Passages that an LLM is asked about: all of them, spread evenly, and what is close to one."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.evaluation.drafts.offline import MOST_PLACES, places_of
from rag_nodes.evaluation.drafts.terms import Rarity, Term
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.parsers import get_parser
from rag_nodes.text.languages import content_words
from rag_nodes.text.spans import Span
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.dataset import Answer, Question

LEAST_WORDS = 4
"""Words of a passage or quote that can answer."""
OTHERS = 4
"""Passages closest to a question that must not answer it."""
_TOKENS = 250
"""Of a passage that is asked about."""


class DraftPassage(NamedTuple):
    """A passage that may be asked about; `number` among all, `document` as a number too."""

    number: int
    document: int
    span: Span
    text: str


class DraftPassages:
    """The passages of all documents, in order.

    Args:
        documents: what is asked about, each with an id of its own.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self.all = _cut(documents)
        self._ids = [document.id_ for document in documents]
        self._texts = [document.text for document in documents]
        self._rarity = Rarity(words(one.text) for one in self.all)

    def chosen(self, seed: int) -> list[DraftPassage]:
        """All, in an order of which every beginning is spread over documents and places."""
        chance = random.Random(seed)  # noqa: S311 -- the same again is the point
        queues = []
        for number in range(len(self._ids)):
            own = [one for one in self.all if one.document == number]
            queues.append([own[at] for at in _spread(len(own), chance)])
        order = sorted(
            ((at + chance.random()) / len(queue), one.number)
            for queue in queues
            for at, one in enumerate(queue)
        )
        return [self.all[number] for _, number in order]

    def closest(
        self, question: str, passage: DraftPassage, gold: tuple[Answer, ...]
    ) -> list[DraftPassage]:
        """The other passages that share most with a question, but for copies of the answer."""
        scores: dict[int, float] = defaultdict(float)
        for word in set(content_words(question)):
            weight = self._rarity.weight(Term(word, (word,)))
            for number in self._rarity.holders([word]):
                scores[number] += weight
        copies = [one for answer in gold for one in answer]
        ranked = (self.all[one] for one in sorted(scores, key=lambda one: (-scores[one], one)))
        free = (
            one
            for one in ranked
            if one is not passage
            and not any(
                copy.document == self._ids[one.document] and copy.span.overlap(one.span)
                for copy in copies
            )
        )
        return [one for one, _ in zip(free, range(OTHERS), strict=False)]

    def gold(self, passage: DraftPassage, span: Span) -> tuple[Answer, ...]:
        """A quote of a passage and its copies; () where there are too many.

        Args:
            passage: where it was quoted.
            span: of the quote, in characters of the passage.
        """
        start = passage.span.start
        first = (passage.document, Span(start + span.start, start + span.end))
        found = set(places_of(first[1].of(self._texts[passage.document]), self._texts)) | {first}
        if len(found) > MOST_PLACES:
            return ()
        return tuple(
            (Passage(self._ids[number], one),) for number, one in [first, *sorted(found - {first})]
        )

    def quote(self, gold: tuple[Answer, ...]) -> str:
        """The characters of the first passage of gold."""
        first = gold[0][0]
        return first.span.of(self._texts[self._ids.index(first.document)])

    def order(self, question: Question) -> tuple[int, int]:
        """Where a question's answer stands."""
        return self._ids.index(question.document), question.gold[0][0].span.start


def _cut(documents: Sequence[Document]) -> list[DraftPassage]:
    parser = get_parser("recursive", chunk_size=_TOKENS, chunk_overlap=0)
    found: list[DraftPassage] = []
    for number, document in enumerate(documents):
        for node in parser.get_nodes_from_documents([document]):
            start = getattr(node, "start_char_idx", 0) or 0
            span = Span(start, start + len(node.get_content()))
            text = span.of(document.text)
            if len(words(text)) >= LEAST_WORDS:
                found.append(DraftPassage(len(found), number, span, text))
    return found


def _spread(count: int, chance: random.Random) -> list[int]:
    """Numbers below `count`, such that any beginning of them is spread over all."""
    step = 0.6180339887498949
    offset = chance.random()
    return sorted(range(count), key=lambda one: (one * step + offset) % 1.0)
