"""Sentences of a text as spans, in any language.

Rules and abbreviations are those of the sentencex library, with what it gets wrong put right.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import sentencex as untyped_sentencex

from rag_nodes.text.graphemes import boundary_at_or_before
from rag_nodes.text.languages import guess_language
from rag_nodes.text.patterns import compiled
from rag_nodes.text.spans import Span, with_line_feeds
from rag_nodes.text.tokens import encodable
from rag_nodes.text.words import words

_REACH = 14
"""Characters before a boundary that are looked at."""
_AFTER_ORDINAL = frozenset(
    words(
        "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember "
        "Jahrhundert Jahrhunderts Jahrtausend Jahrtausends Lebensjahr Lebensjahrs Jahrestag "
        "Geburtstag Auflage Ausgabe Band Kapitel Klasse Mal Platz Runde Stock Tag Woche"
    )
)
"""Nouns that German counts with ordinals, which end in a full stop: `im 19. Jahrhundert`."""
_ORDINAL = compiled(r"(?:\A|\W)\d{1,2}\.\Z")
_EXTENSION = compiled(r"[A-Z][A-Z0-9]{1,3}\b")
_WORD = compiled(r"\w+")
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_CLOSING = compiled(rf"(?:[*_]++|[{_SUPERSCRIPTS}][{_SUPERSCRIPTS},]*+)\s++")
"""Characters that belong to the sentence before them: emphasis that ends right behind the full
stop, and marks of notes."""
_CLOSES = frozenset("*_" + _SUPERSCRIPTS)
_OWN_PARENTHESIS = compiled(r"\([^()]*+(?<=[.!?…])\)\s++(?=[^\W\d_])")


def corrected(body: str, starts: list[int], language: str) -> list[int]:
    """Better starts of the sentences of a paragraph, of which the first is 0."""
    kept = starts[:1]
    for start in starts[1:]:
        if body[start] in _CLOSES and (closing := _CLOSING.match(body, start)):
            start = start if body[start - 1].isspace() else closing.end()  # noqa: PLW2901 -- moves
        if start < len(body) and not _goes_on(body, start, language):
            kept.append(start)
    if "(" not in body:
        return kept
    own = (_OWN_PARENTHESIS.match(body, start) for start in kept if body[start] == "(")
    return sorted({*kept, *(gap.end() for gap in own if gap and body[gap.end()].isupper())})


def _goes_on(body: str, start: int, language: str) -> bool:
    """Return True if the sentence before `start` continues there."""
    before = body[max(0, start - _REACH) : start].rstrip()
    if not before.endswith("."):
        return before.endswith(("」", "』")) and body[start] == "と"
    if start <= _REACH and before[:-1].strip().isdigit():
        return True  # the mark of a list item
    if not body[start - 1].isspace() and (
        before[-2:-1] in {"", " "} or _EXTENSION.match(body, start)
    ):
        return True  # a path or a file: `./configure`, `README.TXT`
    if language == "de" and _ORDINAL.search(before) and (following := _WORD.match(body, start)):
        return following.group().casefold() in _AFTER_ORDINAL
    return language == "fr" and before.split()[-1] in {"M.", "MM."}


_MARK = r"[ \t]*+(?:(?P<heading>#{1,6}[ \t])|[-*+•][ \t]|(?P<number>[0-9]{1,3})[.)][ \t])"
_FIRST_MARK = compiled(_MARK)
_LOWER_MARK = compiled(rf"[\r\n]{_MARK}")
_LINE_END = compiled(r"[\r\n]|\Z")


def lines_apart(text: str, start: int, end: int) -> list[int]:
    """Offsets in `start:end` at which list items, headings and what follows headings start.

    A number other than 1 starts an item only below another item: it may be one in running text.
    """
    offsets: list[int] = []
    first = _FIRST_MARK.match(text, start, end)
    in_list = first is not None and not first["heading"]
    if first and not in_list:
        offsets += _line_ends(text, first.end(), end)
    for line in _LOWER_MARK.finditer(text, start, end):
        at = line.start() + 1
        if line["heading"]:
            offsets += [at, *_line_ends(text, line.end(), end)]
            in_list = False
        elif in_list or line["number"] in {None, "1"}:
            in_list = True
            offsets.append(at)
    return offsets


def _line_ends(text: str, at: int, end: int) -> list[int]:
    """The end of a line as a list; empty if it is the last one before `end`."""
    close = _LINE_END.search(text, at, end)
    return [close.start()] if close and close.start() < end else []


AUTO = "auto"
"""Guess the language from the text."""

sentencex: Any = untyped_sentencex
_PARAGRAPH = compiled(r"[\r\n](?:(?<=\r)\n)?+[ \t]*+[\r\n]\s*+")
_WINDOW = 4_000
"""Characters sentencex is given at once."""
_WIDE_BLANK = compiled(r"\.(?<=[^\S\x00-\x7f]\.)")
"""A full stop behind a blank that takes more than one byte."""
_BULLETS = frozenset("•▪◦●○■□")
"""Marks of list items in which sentencex ends no sentence; it does in those of a hyphen."""
_INITIAL_APART = compiled(r"(?<=[A-Z])(\s*)[^\S\x00-\x7f](?=\.)")
"""Such a blank behind a capital, which sentencex panics on: it splits the blank in two."""


def sentence_spans(text: str, language: str = AUTO) -> list[Span]:
    """Sentences in order, each trimmed of blank space; together they hold every visible character.

    A blank line always ends a sentence; list items and headings are sentences of their own. No data
    files and no downloads; rules and abbreviations are those of the sentencex library, with what it
    gets wrong put right. The language is an ISO 639-1 code, or "auto" to guess.
    """
    return list(map(Span, *sentence_bounds(text, 0, len(text), language)))


class Bounds(NamedTuple):
    """Offsets at which pieces of a text start, and those after their last characters."""

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
    if (mark := clean.lstrip()[:1]) in _BULLETS:
        clean = clean.replace(mark, "-", 1)
    if not clean.isascii() and _WIDE_BLANK.search(clean):
        clean = _INITIAL_APART.sub(r"\1 ", clean)
    clean = with_line_feeds(clean)  # one of two characters would count as the end of a paragraph
    starts, at = [0], 0
    while True:
        offsets = _starts_in(clean[at : at + _WINDOW], language)
        starts += [at + start for start in offsets if start]
        if at + _WINDOW >= len(body):
            return starts
        at = starts[-1] if starts[-1] > at else at + _WINDOW


def _starts_in(window: str, language: str) -> list[int]:
    try:
        starts = [0, *accumulate(map(len, sentencex.segment(language, window)))]
        if starts.pop() == len(window):
            return starts
        # Some blank space was dropped between sentences: ask for offsets instead.
        boundaries = sentencex.get_sentence_boundaries(language, window)
    except BaseException as error:
        # Rust code that panics is not caught by `Exception`, and no document is worth losing to it.
        if type(error).__name__ != "PanicException":
            raise
        return [0]
    return sorted({int(boundary["start_index"]) for boundary in boundaries})
