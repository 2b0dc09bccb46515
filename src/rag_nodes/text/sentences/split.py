"""Sentences of a text as spans, in any of the languages its script or small words give away."""
# ruff: noqa: RUF001 -- Cyrillic is meant

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import sentencex as untyped_sentencex

from rag_nodes.text.graphemes import boundary_at_or_before
from rag_nodes.text.patterns import compiled
from rag_nodes.text.sentences.rules import corrected, lines_apart
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import encodable

AUTO = "auto"
"""Guess the language from the text."""

sentencex: Any = untyped_sentencex
_PARAGRAPH = compiled(r"[\r\n](?:(?<=\r)\n)?+[ \t]*+[\r\n]\s*+")
_SAMPLE = 8_000
"""Characters the language is guessed from."""
_GLANCE = 500
"""Characters that are enough where one language stands out."""
_WINDOW = 4_000
"""Characters sentencex is given at once."""
_WIDE_BLANK = compiled(r"\.(?<=[^\S\x00-\x7f]\.)")
"""A full stop behind a blank that takes more than one byte."""
_INITIAL_APART = compiled(r"(?<=[A-Z])(\s*)[^\S\x00-\x7f](?=\.)")
"""Such a blank behind a capital, which sentencex panics on: it cuts the blank in two."""
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
    "sv": "och att det som en på är av för med den till har inte om ett jag var men från",
    "da": "og at det som en på er af for med den til har ikke et blev også efter kun hvor",
    "no": "og å det som en på er av for med den til har ikke et ble også etter bare hvor",
    "fi": "ja on ei että oli se hän ovat mutta myös kun joka tai niin kuin ole sekä sen mukaan",
    "cs": "na se je že to do ve jsou pro jako za byl od které při nebo jeho bylo až než",
    "hu": "az és hogy nem is egy meg volt csak már mint ki van azt kell még ez ha vagy lehet",
    "ro": "și de în la cu pe care nu este din un se pentru sunt mai ce au fost să ca",
    "tr": "ve bir bu için ile çok ne daha olarak gibi kadar olan sonra ise değil da de var",
    "uk": "і в на з не що до та у як за це від для але його є або про які",
    "ru": "и в не на я что с по как это он но из за то все от так для же",
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
    # Each of the letters looked for takes more than one byte.
    if len(sample.encode("utf-8", "surrogatepass")) * 5 > len(sample) * 6:
        letters = _FOREIGN.findall(sample)
        if len(letters) * 5 > len(sample):
            for language, letter in _SCRIPTS.items():
                if len(letter.findall(sample)) * 5 > len(sample):
                    return language
    seen = _small_words(sample[:_GLANCE])
    most = max(seen.values())
    if most < _LEAST_EVIDENCE + 2 * sorted(seen.values())[-2]:
        seen = _small_words(sample)
        most = max(seen.values())
    if most < _LEAST_EVIDENCE or seen["en"] == most:
        return "en"
    return max(language for language, count in seen.items() if count == most)


def _small_words(sample: str) -> dict[str, int]:
    """How many small words of each language there are."""
    seen = dict.fromkeys(_SMALL_WORDS, 0)
    languages = _languages_of_words()
    # Small words hardly ever touch a mark, and splitting at blanks is ten times as fast.
    for word in sample.lower().split():
        if word in languages:
            for language in languages[word]:
                seen[language] += 1
    return seen


def sentence_spans(text: str, language: str = AUTO) -> list[Span]:
    """Sentences in order, each trimmed of blank space; together they hold every visible character.

    A blank line always ends a sentence; list items and headings are sentences of their own. No
    data files and no downloads; rules and abbreviations are those of the sentencex library, with
    what it gets wrong put right.

    Args:
        text: any string.
        language: ISO 639-1 code, or "auto" to guess.
    """
    return list(map(Span, *sentence_bounds(text, 0, len(text), language)))


class Bounds(NamedTuple):
    """Where pieces of a text start and end, in order.

    Attributes:
        starts: offset of the first character of each.
        ends: offset after the last one of each.
    """

    starts: list[int]
    ends: list[int]


def sentence_bounds(text: str, start: int, end: int, language: str = AUTO) -> Bounds:
    """Sentences of `text[start:end]`, with offsets into `text`; see `sentence_spans`."""
    if language == AUTO:
        language = guess_language(text[start:end])
    bounds = Bounds([], [])
    if text.find("\n", start, end) < 0 and text.find("\r", start, end) < 0:
        _add_sentences(bounds, text, start, end, language)
        return bounds
    for paragraph in _paragraphs(text, start, end):
        offsets = [paragraph.start, *lines_apart(text, *paragraph), paragraph.end]
        for piece in pairwise(offsets):
            _add_sentences(bounds, text, *piece, language)
    return bounds


def _paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    position = start
    for gap in _PARAGRAPH.finditer(text, start, end):
        if gap.start() > position:
            yield Span(position, gap.start())
        position = gap.end()
    if position < end:
        yield Span(position, end)


def _add_sentences(bounds: Bounds, text: str, start: int, end: int, language: str) -> None:
    """Add the sentences of a piece of text in which no line has to stand alone."""
    body = text[start:end]
    if not body:
        return
    starts = corrected(body, _starts(body, language), language)
    if len(starts) > 1 and not body.isascii():
        starts = _between_clusters(body, starts)
    for first, following in pairwise([*starts, len(body)]):
        sentence = body[first:following].rstrip()
        if sentence:
            last = start + first + len(sentence)
            bounds.starts.append(last - len(sentence.lstrip()))
            bounds.ends.append(last)


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
    if not clean.isascii() and _WIDE_BLANK.search(clean):
        clean = _INITIAL_APART.sub(r"\1 ", clean)
    if len(clean) <= _WINDOW and "\r" not in clean:
        return _starts_in(clean, language) or [0]
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
    try:
        return _asked(window, language)
    except BaseException as error:
        # Rust code that panics is not caught by `Exception`, and no document is worth losing to it.
        if type(error).__name__ != "PanicException":
            raise
        return [0]


def _asked(window: str, language: str) -> list[int]:
    pieces = sentencex.segment(language, window)
    if len(pieces) == 1 and len(pieces[0]) == len(window):
        return [0]
    starts = [0, *accumulate(map(len, pieces))]
    if starts.pop() == len(window):
        return starts
    # Some blank space was dropped between sentences: ask for offsets instead.
    found = sentencex.get_sentence_boundaries(language, window)
    return sorted({int(boundary["start_index"]) for boundary in found})
