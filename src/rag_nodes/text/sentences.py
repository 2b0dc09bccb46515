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
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import encodable

_REACH = 14
"""Characters before a boundary that are looked at; no abbreviation here is longer."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GO_ON = _words(
    "approx. ca. cf. etc. est. excl. incl. max. min. resp. "
    "mon. tue. tues. wed. thu. thur. thurs. fri. sat. sun. "
    "jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec."
)
"""Abbreviations a sentence goes on after if a lower-case letter or a digit follows."""
_BEFORE_NUMBER = _words(
    "abs. art. ch. chap. col. cols. eq. eqs. ex. fig. figs. kap. lfd. no. nos. nr. p. par. pp. "
    "pt. ref. refs. s. sec. secs. tab. tabs. v. vol. vols. §."
)
"""Abbreviations that belong to the number after them."""
_TITLES = _words("Dr. Mr. Mrs. Ms. Mme. Mlle. Prof. Rev. Hon. Messrs.")
_TITLES_OF = {"fr": frozenset({"M.", "MM."})}
"""Titles that belong to the name after them."""
_AFTER_ORDINAL = _words(
    "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember "
    "Jahrhundert Jahrhunderts Jahrtausend Jahrtausends Lebensjahr Lebensjahrs Jahrestag Geburtstag "
    "Auflage Ausgabe Band Kapitel Klasse Mal Platz Runde Stock Tag Woche"
)
"""What German counts with ordinals, which end in a full stop: `am 3. Mai`."""
_MARKED = frozenset(
    word.lower() for word in _GO_ON | _BEFORE_NUMBER | _TITLES.union(*_TITLES_OF.values())
)
"""Words whose full stop may end no sentence."""
_STOPS = frozenset(".!?")
_ZONES = _words("EST EDT CST CDT MST MDT PST PDT GMT UTC CET CEST BST")
_ORDINAL = compiled(r"(?:\A|\W)\d{1,2}\.\Z")
_WORD = compiled(r"\w+")
_CLOSING = compiled(r"[*_]++(?=\s)\s*+|[☀-➿\U0001f000-\U0001faff\ufe0f\u200d]++\s*+")
"""What stands behind the full stop of a sentence and still belongs to it: emphasis, emoji."""
_ELLIPSIS = compiled(r"…[\"”\u2019)\]]*+\s++(?=[^\W\d_])")
_OWN_PARENTHESIS = compiled(r"\([^()]*+(?<=[.!?…])\)\s++(?=[^\W\d_])")


def corrected(body: str, starts: list[int], language: str) -> list[int]:
    """Better starts of the sentences of one paragraph.

    Args:
        body: the paragraph.
        starts: offsets at which its sentences are said to start, the first of them 0.
        language: ISO 639-1 code.
    """
    if len(starts) == 1 and "…" not in body and body[0] != "(":
        return starts
    kept = starts[:1]
    for start in starts[1:]:
        if _follows_a_plain_word(body, start):
            kept.append(start)
            continue
        mark = body[start : start + 1]
        if not mark.isalnum() and (closing := _CLOSING.match(body, start)):
            start = closing.end()  # noqa: PLW2901 -- the boundary moves
        if start < len(body) and not _goes_on(body, start, language):
            kept.append(start)
    if "…" not in body and "(" not in body:
        return kept
    missed = _missed(body, kept)
    return sorted({*kept, *missed}) if missed else kept


def _follows_a_plain_word(body: str, start: int) -> bool:
    """Whether nothing here has to be corrected, which is seen sooner than what would have to be."""
    if not body[start : start + 1].isalnum() or body[start - 1] != " ":
        return False
    word = body[body.rfind(" ", 0, start - 1) + 1 : start - 1]
    return word[-1:] in _STOPS and word[:-1].isalpha() and word.lower() not in _MARKED


def _goes_on(body: str, start: int, language: str) -> bool:
    """Whether the sentence before `start` does not end there."""
    before = body[max(0, start - _REACH) : start].rstrip()
    if not before.endswith("."):
        return before.endswith(("」", "』")) and body[start] == "と"
    word = before.rsplit(None, 1)[-1].lstrip("([")
    if start <= _REACH and word[:-1].isdigit() and word == before.strip():
        return True  # the mark of a list item
    first = body[start]
    if first.isdigit():
        return word.lower() in _BEFORE_NUMBER or word.lower() in _GO_ON
    if first.islower():
        return word.lower() in _GO_ON
    if word == "." and not body[start - 1].isspace():
        return True
    return word in _TITLES or word in _TITLES_OF.get(language, ()) or _counted(body, start, before)


def _counted(body: str, start: int, before: str) -> bool:
    """Whether a German ordinal or a time of day goes on with the word at `start`."""
    if not (before[-2:-1].isdigit() or before.endswith(".m.")):
        return False
    following = _WORD.match(body, start)
    if not following:
        return False
    if before.endswith(".m."):
        return following.group() in _ZONES
    return following.group() in _AFTER_ORDINAL and _ORDINAL.search(before) is not None


def _missed(body: str, starts: list[int]) -> list[int]:
    """Starts after an ellipsis, and after a sentence that is a parenthesis of its own."""
    gaps = list(_ELLIPSIS.finditer(body)) if "…" in body else []
    for start in starts:
        if body.startswith("(", start) and (gap := _OWN_PARENTHESIS.match(body, start)):
            gaps.append(gap)
    return [gap.end() for gap in gaps if body[gap.end()].isupper()]


_MARK = r"[ \t]*+(?:(?P<heading>#{1,6}[ \t])|[-*+•][ \t]|(?P<number>[0-9]{1,3})[.)][ \t])"
_FIRST_MARK = compiled(_MARK)
_LOWER_MARK = compiled(rf"[\r\n]{_MARK}")
_LINE_END = compiled(r"[\r\n]|\Z")


def lines_apart(text: str, start: int, end: int) -> list[int]:
    """Offsets in `start:end` at which list items, headings and what follows headings start.

    A number other than 1 starts an item only below another item: it may be one in running text.
    """
    found: list[int] = []
    first = _FIRST_MARK.match(text, start, end)
    in_list = first is not None and not first["heading"]
    if first and not in_list:
        found += _line_ends(text, first.end(), end)
    for line in _LOWER_MARK.finditer(text, start, end):
        at = line.start() + 1
        if line["heading"]:
            found += [at, *_line_ends(text, line.end(), end)]
            in_list = False
        elif in_list or line["number"] in {None, "1"}:
            in_list = True
            found.append(at)
    return found


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
_INITIAL_APART = compiled(r"(?<=[A-Z])(\s*)[^\S\x00-\x7f](?=\.)")
"""Such a blank behind a capital, which sentencex panics on: it cuts the blank in two."""


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
