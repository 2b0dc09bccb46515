"""Sentences of a text as spans, in any of the languages its script or small words give away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import sentencex

from rag_nodes.text.graphemes import boundary_at_or_before
from rag_nodes.text.spans import Span, trimmed
from rag_nodes.text.tokens import encodable

AUTO = "auto"
"""Guess the language from the text."""

_PARAGRAPH = re.compile(r"(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)\s*")
_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 20_000
"""Characters the language is guessed from."""
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
_SCRIPTS = (
    ("ja", "\u3040", "\u30ff"),
    ("ko", "\uac00", "\ud7a3"),
    ("zh", "\u4e00", "\u9fff"),
    ("hi", "\u0900", "\u097f"),
    ("ar", "\u0600", "\u06ff"),
)


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
        for language, first, last in _SCRIPTS:
            share = sum(first <= character <= last for character in sample)
            if share * 5 > len(sample):
                return language
    seen = dict.fromkeys(_SMALL_WORDS, 0)
    languages = _languages_of_words()
    for match in _WORD.finditer(sample.lower()):
        for language in languages.get(match.group(), ()):
            seen[language] += 1
    best = max(seen, key=lambda language: (seen[language], language == "en"))
    return best if seen[best] >= _LEAST_EVIDENCE else "en"


def sentence_spans(text: str, language: str = AUTO) -> list[Span]:
    """Sentences in order, each trimmed of blank space; together they hold every visible character.

    A blank line always ends a sentence. No data files and no downloads; rules and abbreviations
    are those of the sentencex library.

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
        for cut, following in _cuts(text, paragraph, language):
            span = trimmed(text, cut, following)
            if span.end > span.start:
                yield span


def _paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    position = start
    for gap in _PARAGRAPH.finditer(text, start, end):
        if gap.start() > position:
            yield Span(position, gap.start())
        position = gap.end()
    if position < end:
        yield Span(position, end)


def _cuts(text: str, paragraph: Span, language: str) -> Iterator[tuple[int, int]]:
    """Start of each sentence of a paragraph, and of the one after it."""
    body = paragraph.of(text)
    starts = _starts(body, language)
    if not body.isascii():
        starts = [s for s in starts if s == 0 or boundary_at_or_before(body, s, 0) == s]
    for start, following in zip(starts, [*starts[1:], len(body)], strict=True):
        yield paragraph.start + start, paragraph.start + following


def _starts(body: str, language: str) -> list[int]:
    """Offsets at which the sentences of one paragraph start."""
    clean = encodable(body)
    pieces = sentencex.segment(language, clean)
    starts, offset = [], 0
    for piece in pieces:
        starts.append(offset)
        offset += len(piece)
    if offset == len(body):
        return starts or [0]
    # Some blank space was dropped between sentences: ask for offsets instead.
    found = sentencex.get_sentence_boundaries(language, clean)
    return sorted({0, *(int(boundary["start_index"]) for boundary in found)})
