"""Passages of whole sentences, chosen evenly, and in how many of them a word is."""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections import defaultdict
from hashlib import blake2b
from math import log
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.evaluation.dataset import Question
from rag_nodes.text.sentences import sentence_spans
from rag_nodes.text.spans import Span
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rag_nodes.evaluation.dataset import Answer

LEAST_WORDS = 4
"""Words of a quote that can answer."""
MOST_PLACES = 4
"""Places that answer the same; more of them are furniture of the documents and no answer."""
_LEAST_LETTERS = 0.6
"""Share of letters from which characters are prose."""
_GOLDEN = 0.6180339887498949


class Place(NamedTuple):
    """Some characters of a document that is named by its number."""

    document: int
    span: Span


class SentenceText:
    """The sentences of a text, and passages made of them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.spans = sentence_spans(text)
        self._starts = [span.start for span in self.spans]

    def at(self, offset: int) -> int:
        """Number of the sentence that begins at an offset, or of the last one before it."""
        return max(0, bisect_right(self._starts, offset) - 1)

    def passage(self, number: int, characters: int) -> Span | None:
        """The sentences from one on that come closest to a length; None where they are no prose.

        None too, where they are less than half or more than twice as long.
        """
        low = high = self.spans[number].start
        for span in self.spans[number:]:
            if high > low and span.end - low - characters > characters - (high - low):
                break
            high = span.end
        found = Span(low, high)
        fits = characters / 2 <= found.length <= characters * 2
        return found if fits and is_prose(found.of(self.text)) else None

    def passages(self, characters: int, apart: int) -> Iterator[Span]:
        """All passages of a length, whose beginnings are at least so far apart."""
        free = 0
        for number, span in enumerate(self.spans):
            if span.start >= free and (found := self.passage(number, characters)):
                yield found
                free = span.start + apart


class Rarity:
    """How much a word tells: the more, the fewer of some texts have it."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._count = 1
        self.holders: dict[str, set[int]] = defaultdict(set)
        for number, text in enumerate(texts):
            self._count += 1
            for word in words(text):
                self.holders[word].add(number)

    def weight(self, word: str) -> float:
        """Of a word: nothing where all texts have it."""
        return log(self._count / max(1, len(self.holders.get(word, ()))))


def is_prose(text: str) -> bool:
    """Whether most of what is visible is letters."""
    visible = "".join(text.split())
    return sum(map(str.isalpha, visible)) >= _LEAST_LETTERS * max(1, len(visible))


def evenly(count: int, seed: int) -> list[int]:
    """Numbers below `count`, such that any beginning of them is spread over all."""
    offset = random.Random(seed).random()  # noqa: S311 -- the same again is the point
    return sorted(range(count), key=lambda one: (one * _GOLDEN + offset) % 1.0)


def quoted(quote: str, text: str) -> Iterator[Span]:
    """Where the same words stand in a text, whatever blanks are between them."""
    pattern = re.compile(r"\s+".join(map(re.escape, quote.split())))
    yield from (Span(*found.span()) for found in pattern.finditer(text))


def copies(place: Place, texts: Sequence[str]) -> list[Place]:
    """A place, and every other with the same words; nothing where there are too many."""
    quote = place.span.of(texts[place.document])
    found = {
        Place(number, span) for number, text in enumerate(texts) for span in quoted(quote, text)
    }
    others = sorted(one for one in found if one != place)
    return [place, *others] if len(others) < MOST_PLACES else []


def drafted(text: str, quote: str, gold: tuple[Answer, ...], kind: str) -> Question:
    """A draft, with an id that follows from what is asked and what answers it."""
    digest = blake2b(f"{text}\n{quote}".encode("utf-8", "surrogatepass"), digest_size=5)
    return Question(f"draft-{digest.hexdigest()}", text, gold, kind=kind, draft=True)
