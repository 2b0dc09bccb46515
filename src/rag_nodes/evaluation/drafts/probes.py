"""Probes: keywords of passages as long as people's answers, for a first choice without questions.

How long the labelled answers are decides which setting a ranking puts first, not how the questions
are worded. So keywords will do, where the passages are as long as what people look for. They
measure: nobody asks them, so they are shown to nobody and stored in no file of questions.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from itertools import accumulate
from math import log
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from rag_nodes.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.drafts.terms import Rarity, phrases_of
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.sentences import sentence_spans
from rag_nodes.text.spans import Span
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.drafts.terms import Term

PROBE = "probe"
"""Kind of a question that is keywords of a passage."""
AnswerLength = Literal["sentence", "paragraph", "page"]
"""How long what people look for mostly is."""
ANSWER_LENGTHS: tuple[AnswerLength, ...] = get_args(AnswerLength)
CHARACTERS: Mapping[AnswerLength, int] = {"sentence": 200, "paragraph": 700, "page": 2500}
"""Characters of a passage of each length."""
_PHRASES, _ENOUGH = 3, 5
"""Phrases of a probe at most, and words from which two of them are enough."""
_APART = 4
"""Two passages begin at least this part of their length apart."""
_TRIED = 8
"""Places at which examples are looked for."""
_LEAST_LETTERS = 0.6
"""Share of letters from which characters are prose."""


class _Start(NamedTuple):
    """A sentence that a passage may begin with: of which document, and which of its sentences."""

    document: int
    sentence: int


def probes(
    documents: Sequence[Document], characters: int, *, count: int = 60, seed: int = 0
) -> Dataset:
    """Keywords of passages of whole sentences, spread evenly over the documents.

    Args:
        documents: what is asked about, each with an id of its own.
        characters: of a passage, within a factor of two; see `CHARACTERS`.
        count: probes at most; short documents give fewer, as passages begin apart.
        seed: other passages for another number.

    Returns:
        A dataset of questions of the kind `PROBE`, with `probed` set.

    Raises:
        ConfigurationError: nothing is asked for.
        DatasetError: no document has a passage of that length.
    """
    if count < 1 or characters < 1:
        raise ConfigurationError(f"{count} probes of {characters} characters: both must be over 0")
    found: dict[str, Question] = {}
    cut = _Sentences(documents)
    for document, span in cut.spread(characters, count, seed):
        if text := cut.keywords(document, span):
            gold = ((Passage(documents[document].id_, span),),)
            found.setdefault(text, Question(f"{PROBE}-{len(found)}", text, gold, kind=PROBE))
    if not found:
        raise DatasetError(
            f"no passage of {characters:,} characters in {len(documents)} document(s); "
            "choose a shorter length, or label questions"
        )
    return Dataset("probes", tuple(documents), tuple(found.values()), probed=characters)


def examples(documents: Sequence[Document]) -> dict[AnswerLength, Passage]:
    """A sentence or two, a paragraph and a page of the documents, each of which begins alike.

    Lengths that the documents do not reach are left out.
    """
    cut = _Sentences(documents)
    best: dict[AnswerLength, Passage] = {}
    for length in reversed(ANSWER_LENGTHS):
        for document, span in cut.spread(CHARACTERS[length], _TRIED, 0):
            start = _Start(document, cut.at(document, span.start))
            own = {one: cut.passage(start, CHARACTERS[one]) for one in ANSWER_LENGTHS}
            found = {name: Passage(documents[document].id_, one)
                     for name, one in own.items() if one}  # fmt: skip
            best = max(best, found, key=len)
    return best


class _Sentences:
    """The sentences of some documents, and passages made of them."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._texts = [document.text for document in documents]
        self._spans = [sentence_spans(text) for text in self._texts]
        self._starts = [[span.start for span in spans] for spans in self._spans]
        self._rarity: Rarity | None = None

    def at(self, document: int, offset: int) -> int:
        """The sentence that begins at an offset, or the last one before it."""
        return max(0, bisect_right(self._starts[document], offset) - 1)

    def passage(self, start: _Start, characters: int) -> Span | None:
        """Whole sentences that come closest to a length; None where they are no such prose."""
        text, spans = self._texts[start.document], self._spans[start.document]
        low = high = spans[start.sentence].start
        for span in spans[start.sentence :]:
            if high > low and span.end - low - characters > characters - (high - low):
                break
            high = span.end
        visible = [one for one in text[low:high] if not one.isspace()]
        letters = sum(one.isalpha() for one in visible)
        fits = characters / 2 <= high - low <= characters * 2
        return Span(low, high) if fits and letters >= _LEAST_LETTERS * len(visible) else None

    def spread(self, characters: int, count: int, seed: int) -> list[tuple[int, Span]]:
        """Passages, each with the number of its document, at even distances over all documents."""
        ends = list(accumulate(len(text) for text in self._texts))
        total = ends[-1] if ends else 0
        count = min(count, max(1, total * _APART // characters))
        offset = random.Random(seed).random()  # noqa: S311 -- the same again is the point
        found: dict[tuple[int, int], Span] = {}
        for number in range(count if total else 0):
            place = int((number + offset) / count * total)
            document = bisect_right(ends, place)
            place -= ends[document] - len(self._texts[document])
            limit = place + max(total // count, characters // _APART)
            for sentence in range(self.at(document, place), len(self._spans[document])):
                start = self._starts[document][sentence]
                if start >= limit:
                    break
                span = self.passage(_Start(document, sentence), characters)
                if span and (document, start) not in found:
                    found[document, start] = span
                    break
        return [(document, span) for (document, _), span in sorted(found.items())]

    def keywords(self, document: int, span: Span) -> str:
        """The two or three phrases that tell most, in the order of the passage; "" where none do.

        A phrase weighs as often as the passage has it, and more the fewer sentences have it.
        """
        text = span.of(self._texts[document])
        folded = " ".join(words(text))
        weights = {
            one: (1 + log(max(1, folded.count(" ".join(one.words))))) * self.rarity.weight(one)
            for one in phrases_of(text)
        }
        chosen: list[Term] = []
        for one in sorted(weights, key=lambda one: -weights[one]):
            said = {word for other in chosen for word in other.words}
            if len(chosen) == _PHRASES or (len(chosen) > 1 and len(said) >= _ENOUGH):
                break
            if said.isdisjoint(one.words):
                chosen.append(one)
        return " ".join(one.shown for one in weights if one in chosen)

    @property
    def rarity(self) -> Rarity:
        """In how many sentences a word is."""
        if self._rarity is None:
            both = zip(self._texts, self._spans, strict=True)
            self._rarity = Rarity(words(span.of(text)) for text, spans in both for span in spans)
        return self._rarity
