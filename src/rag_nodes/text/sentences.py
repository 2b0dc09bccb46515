"""Sentences of a text as spans, in any of the languages its script or small words give away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import sentencex

from rag_nodes.text.graphemes import boundary_at_or_before
from rag_nodes.text.patterns import compiled
from rag_nodes.text.sentence_rules import corrected, lines_apart
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import encodable

AUTO = "auto"
"""Guess the language from the text."""

_PARAGRAPH = compiled(r"[\r\n](?:(?<=\r)\n)?+[ \t]*+[\r\n]\s*+")
_SAMPLE = 8_000
"""Characters the language is guessed from."""
_WINDOW = 4_000
"""Characters sentencex is given at once."""
_LEAST_EVIDENCE = 3
"""Small words that must be seen before a language other than English is believed."""

_SMALL_WORDS = {
    "en": "the of and to in is that it was for on are with as at be this by from or an not",
    "de": "der die das und ist nicht ein eine den dem mit von zu auf für im des sich auch wird am",
    "fr": "le la les des et est une du dans que qui pour pas sur au avec ce il sont par plus",
    "es": "el la los las de que y en un una es por con para del se no al lo como más su",
    "it": "il lo la gli di che è un una per non con del della sono dei nel alla si da più",
    "nl": "de het een en van is dat niet op te zijn voor met die aan er ook om door naar",
    "pt": "o a os as de que e do da em um uma é não para com por dos das no na se mais",
    "pl": "w i na z nie się do to jest że od o po jak za dla są przez ale czy",
    "ru": "и в не на я что с по как это он но из за то все от так для же",  # noqa: RUF001 -- Cyrillic is meant
}
_SCRIPTS = {
    "ja": re.compile("[\u3040-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7a3]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
    "hi": re.compile("[\u0900-\u097f]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "el": re.compile("[\u0370-\u03ff]"),
}


_FOREIGN = re.compile(
    "[\u0370-\u03ff\u0600-\u06ff\u0900-\u097f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]"
)
"""A letter of any of these scripts."""


@lru_cache(maxsize=1)
def _languages_of_words() -> dict[str, tuple[str, ...]]:
    languages: dict[str, tuple[str, ...]] = {}
    for language, words in _SMALL_WORDS.items():
        for word in words.split():
            languages[word] = (*languages.get(word, ()), language)
    return languages


def guess_language(text: str) -> str:
    """ISO 639-1 code of the language the text most likely is in; "en" without evidence.

    Scripts that one sentence rule set serves are told by their characters, languages written in
    Latin or Cyrillic letters by their smallest words. Good enough to choose abbreviation lists.
    """
    sample = text[:_SAMPLE]
    if not sample.isascii():
        letters = _FOREIGN.findall(sample)
        if len(letters) * 5 > len(sample):
            for language, letter in _SCRIPTS.items():
                if len(letter.findall(sample)) * 5 > len(sample):
                    return language
    seen = dict.fromkeys(_SMALL_WORDS, 0)
    languages = _languages_of_words()
    # Small words hardly ever touch a mark, and splitting at blanks is ten times as fast.
    counts = Counter(sample.lower().split())
    for word in counts.keys() & languages.keys():
        for language in languages[word]:
            seen[language] += counts[word]
    best = max(seen, key=lambda language: (seen[language], language == "en"))
    return best if seen[best] >= _LEAST_EVIDENCE else "en"


def sentence_spans(text: str, language: str = AUTO) -> list[Span]:
    """Sentences in order, each trimmed of blank space; together they hold every visible character.

    A blank line always ends a sentence; list items and headings are sentences of their own. No
    data files and no downloads; rules and abbreviations are those of the sentencex library, with
    what it gets wrong put right.

    Args:
        text: any string.
        language: ISO 639-1 code, or "auto" to guess.
    """
    return list(iter_sentences(text, 0, len(text), language))


def iter_sentences(text: str, start: int, end: int, language: str = AUTO) -> Iterator[Span]:
    """Sentences of `text[start:end]`, paragraph by paragraph, with offsets into `text`."""
    if language == AUTO:
        language = guess_language(text[start:end])
    for paragraph in _paragraphs(text, start, end):
        offsets = [paragraph.start, *lines_apart(text, *paragraph), paragraph.end]
        for piece_start, piece_end in pairwise(offsets):
            yield from _sentences(text, piece_start, piece_end, language)


def _paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    position = start
    for gap in _PARAGRAPH.finditer(text, start, end):
        if gap.start() > position:
            yield Span(position, gap.start())
        position = gap.end()
    if position < end:
        yield Span(position, end)


def _sentences(text: str, start: int, end: int, language: str) -> Iterator[Span]:
    """Sentences of a piece of text in which no line has to stand alone."""
    body = text[start:end]
    starts = corrected(body, _starts(body, language), language)
    if not body.isascii():
        starts = _between_clusters(body, starts)
    for first, following in pairwise([*starts, len(body)]):
        low, high = start + first, start + following
        while low < high and text[high - 1].isspace():
            high -= 1
        while low < high and text[low].isspace():
            low += 1
        if low < high:
            yield Span(low, high)


def _between_clusters(body: str, starts: list[int]) -> list[int]:
    """Those of `starts` that part no grapheme cluster."""
    kept, floor = [], 0
    for start in starts:
        floor = boundary_at_or_before(body, start, floor)
        if floor == start:
            kept.append(start)
    return kept


def _starts(body: str, language: str) -> list[int]:
    """Offsets at which sentencex lets the sentences of a piece start.

    Asked window by window, each from the last sentence that the one before had begun: sentencex
    compares every boundary of a piece with every quotation in it.
    """
    clean = encodable(body)
    if "\r" in clean:  # a line end of two characters would count as the end of a paragraph
        clean = clean.replace("\r\n", " \n").replace("\r", "\n")
    starts, at = [0], 0
    while True:
        found = _starts_in(clean[at : at + _WINDOW], language)
        starts += [at + start for start in found if start]
        if at + _WINDOW >= len(body):
            return starts
        at = starts[-1] if starts[-1] > at else at + _WINDOW


def _starts_in(window: str, language: str) -> list[int]:
    starts, offset = [], 0
    for piece in sentencex.segment(language, window):
        starts.append(offset)
        offset += len(piece)
    if offset == len(window):
        return starts
    # Some blank space was dropped between sentences: ask for offsets instead.
    found = sentencex.get_sentence_boundaries(language, window)
    return sorted({int(boundary["start_index"]) for boundary in found})
