"""Passages of whole sentences, and probes: keywords of passages as long as people's answers.

How long the labelled answers are decides which setting a ranking puts first, not how the questions
are worded. So keywords will do, where the passages are as long as what people look for. They
measure: nobody asks them, so they are shown to nobody and stored in no file of questions.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections import defaultdict
from hashlib import blake2b
from itertools import product
from math import log
from statistics import fmean
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import regex

from rag_nodes.core.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.languages import FUNCTION_WORDS
from rag_nodes.text.sentences import sentence_spans
from rag_nodes.text.spans import Span
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.dataset import Answer

PROBE = "probe"
"""Kind of a question that is keywords of a passage."""
AnswerLength = Literal["sentence", "paragraph", "page"]
"""Typical length of the answers that people look for."""
ANSWER_LENGTHS: tuple[AnswerLength, ...] = get_args(AnswerLength)
CHARACTERS: Mapping[AnswerLength, int] = {"sentence": 200, "paragraph": 700, "page": 2500}
"""Characters of a passage of each length."""
_PHRASES, _ENOUGH = 3, 5
"""Phrases of a probe at most, and words from which two of them are enough."""
_APART = 4
"""Two passages begin at least this part of their length apart."""
_TRIED = 20
"""Passages of a document, and documents, among which examples are looked for."""
_LEAST_FUNCTION_WORDS, _RUNNING = 0.3, 2
"""Share of the words of running text, code and lists have fewer; and what running text is worth."""
_NOT_RUNNING = re.compile(
    r"^\W*(?:fig(?:ure|\.)|abb(?:ildung|\.)|tab(?:le|elle|\.)|listing)\s*[\dA-Z]"
    r"|```|<!--|^\s*[-*|•] |[^\s.!?…。\"”)]\Z",
    re.IGNORECASE | re.MULTILINE,
)
"""Legends, code, lists and tables, and what ends in mid-sentence."""
LEAST_WORDS = 4
"""Words of a quote that can answer."""
_MOST_PLACES = 4
"""Places that answer the same; more of them are boilerplate of the documents and no answer."""
_LEAST_LETTERS = 0.6
"""Share of letters from which characters are prose."""
_GOLDEN = 0.6180339887498949
"""Golden ratio less 1: multiples of it, modulo 1, spread evenly."""
_WORD = regex.compile(
    r"[\p{Han}\p{Katakana}\u30fc]{2,8}|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]{3,12}|\p{Hangul}{2,}"
    r"|[[\p{L}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}]][\p{L}\p{M}\p{N}'’_\-]*",  # noqa: RUF001
    regex.V1,
)
_SHORTEST, _MOST_TOGETHER = 3, 3
"""Letters of a word, and words of a phrase."""


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
        A dataset of questions of the kind `PROBE`, with `probed` set; `beside` has those of the
        other lengths.

    Raises:
        ConfigurationError: nothing is asked for.
        DatasetError: no document has a passage of that length.
    """
    if count < 1 or characters < 1:
        raise ConfigurationError(f"{count} probes of {characters} characters: both must be over 0")
    texts = [SentenceText(document.text) for document in documents]
    rarity = Rarity(span.of(text.text) for text in texts for span in text.spans)

    def of_length(characters: int) -> tuple[Question, ...]:
        places = [(number, span) for number, text in enumerate(texts)
                  for span in text.passages(characters, characters // _APART)]  # fmt: skip
        probes: dict[str, Question] = {}
        for at in sorted(evenly(len(places), seed)[:count]):
            number, span = places[at]
            if text := _keywords(span.of(texts[number].text), rarity):
                gold = ((Passage(documents[number].id_, span),),)
                probes.setdefault(text, Question(f"{PROBE}-{len(probes)}", text, gold, kind=PROBE))
        return tuple(probes.values())

    questions = of_length(characters)
    if not questions:
        remedy = "choose a shorter length, or label questions"
        if characters <= min(CHARACTERS.values()):
            remedy = "too little text to compare settings; add documents, or label questions"
        raise DatasetError(
            f"no passage of {characters:,} characters in {len(documents)} document(s): {remedy}"
        )
    others = [size for size in CHARACTERS.values() if size != characters]
    beside = {size: asked for size in others if (asked := of_length(size))}
    return Dataset("probes", tuple(documents), questions, probed=characters, beside=beside)


def examples(documents: Sequence[Document]) -> dict[AnswerLength, Passage]:
    """A sentence or two, a paragraph and a page of the documents.

    Each is running text, and from a place of its own, where there is some. Lengths that the
    documents do not reach are left out.
    """
    best: dict[AnswerLength, tuple[int, Passage]] = {}
    for looked_at, document in enumerate(documents, start=1):
        text = SentenceText(document.text)
        tried = evenly(len(text.spans), 0)[:_TRIED]
        for number, length in product(tried, reversed(ANSWER_LENGTHS)):
            if span := text.passage(number, CHARACTERS[length]):
                others = [passage for name, (_, passage) in best.items() if name != length]
                holds = [other.span for other in others if other.document == document.id_]
                worth = _RUNNING * _is_running(span.of(text.text)) + (
                    not any(map(span.overlap, holds))
                )
                if worth > best.get(length, (-1,))[0]:
                    best[length] = worth, Passage(document.id_, span)
        good = [length for length, (worth, _) in best.items() if worth > _RUNNING]
        if len(good if looked_at < _TRIED else best) == len(ANSWER_LENGTHS):
            break
    return {length: best[length][1] for length in ANSWER_LENGTHS if length in best}


def _is_running(text: str) -> bool:
    """Return True if a text is sentences, and no code, table or legend of a figure."""
    own = words(text)
    small = sum(word in FUNCTION_WORDS for word in own)
    return small >= _LEAST_FUNCTION_WORDS * len(own) and not _NOT_RUNNING.search(text)


def _keywords(text: str, rarity: Rarity) -> str:
    """The two or three phrases that tell most: often here, and of words that few sentences have."""
    folded, phrases = " ".join(words(text)), _phrases(text)
    weights = {
        own: (1 + log(max(1, folded.count(" ".join(own))))) * fmean(map(rarity.weight, own))
        for own in phrases
    }
    chosen: list[tuple[str, ...]] = []
    for own in sorted(weights, key=lambda key: -weights[key]):
        chosen_words = {word for other in chosen for word in other}
        if len(chosen) == _PHRASES or (len(chosen) > 1 and len(chosen_words) >= _ENOUGH):
            break
        if chosen_words.isdisjoint(own):
            chosen.append(own)
    return " ".join(shown for own, shown in phrases.items() if own in chosen)


def _phrases(text: str) -> dict[tuple[str, ...], str]:
    """Return the phrases that carry meaning: folded words, and their form in the text."""
    phrases: dict[tuple[str, ...], str] = {}
    start = end = -1
    for match in [*_WORD.finditer(text), None]:
        low, high = match.span() if match else (len(text), len(text))
        carries = match is not None and _carries(match.group())
        apart = not carries or text[end:low] != " " or (
            len(words(text[start:high])) > _MOST_TOGETHER
        )  # fmt: skip
        if start >= 0 and apart:
            shown = text[start:end].rstrip("'’_-")  # noqa: RUF001
            phrases.setdefault(tuple(words(shown)), shown)
            start = -1
        if carries:
            start, end = (low if start < 0 else start), high
    return phrases


def _carries(word: str) -> bool:
    if len(word) > 1 and ord(word[0]) > 0x2E80:  # noqa: PLR2004 -- Han and Kana need no more
        return True
    is_word = len(word) >= _SHORTEST and any(map(str.isalpha, word))
    return is_word and not FUNCTION_WORDS.issuperset(words(word))


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
        """The sentences from one on that come closest to a length.

        None where they are no prose, less than half or more than twice as long.
        """
        low = high = self.spans[number].start
        for span in self.spans[number:]:
            if high > low and span.end - low - characters > characters - (high - low):
                break
            high = span.end
        passage = Span(low, high)
        fits = characters / 2 <= passage.length <= characters * 2
        return passage if fits and is_prose(passage.of(self.text)) else None

    def passages(self, characters: int, apart: int) -> Iterator[Span]:
        """All passages of a length, whose beginnings are at least so far apart."""
        free = 0
        for number, span in enumerate(self.spans):
            if span.start >= free and (passage := self.passage(number, characters)):
                yield passage
                free = span.start + apart


class Rarity:
    """Weight of a word: the fewer texts have it, the higher."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._count = 1
        self.holders: dict[str, set[int]] = defaultdict(set)
        for number, text in enumerate(texts):
            self._count += 1
            for word in words(text):
                self.holders[word].add(number)

    def weight(self, word: str) -> float:
        """Weight of a word: 0 if all texts have it."""
        return log(self._count / max(1, len(self.holders.get(word, ()))))


def is_prose(text: str) -> bool:
    """Return True if most visible characters are letters."""
    visible = "".join(text.split())
    return sum(map(str.isalpha, visible)) >= _LEAST_LETTERS * max(1, len(visible))


def evenly(count: int, seed: int) -> list[int]:
    """Numbers below `count`, such that any beginning of them is spread over all."""
    offset = random.Random(seed).random()  # noqa: S311 -- the same again is the point
    return sorted(range(count), key=lambda number: (number * _GOLDEN + offset) % 1.0)


def quoted(quote: str, text: str) -> Iterator[Span]:
    """Return the spans of the same words in a text, whatever white space is between them."""
    pattern = re.compile(r"\s+".join(map(re.escape, quote.split())))
    yield from (Span(*match.span()) for match in pattern.finditer(text))


def copies(place: Place, texts: Sequence[str]) -> list[Place]:
    """A place, and every other with the same words; nothing where there are too many."""
    quote = place.span.of(texts[place.document])
    places = {
        Place(number, span) for number, text in enumerate(texts) for span in quoted(quote, text)
    }
    others = sorted(other for other in places if other != place)
    return [place, *others] if len(others) < _MOST_PLACES else []


def drafted(text: str, quote: str, gold: tuple[Answer, ...], kind: str) -> Question:
    """A draft, with an id that follows from question and answer."""
    digest = blake2b(f"{text}\n{quote}".encode("utf-8", "surrogatepass"), digest_size=5)
    return Question(f"draft-{digest.hexdigest()}", text, gold, kind=kind, draft=True)
