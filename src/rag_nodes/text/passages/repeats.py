"""Sentences that stand in several places, in one document or in several."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.text.filling import Repeat
from rag_nodes.text.passages.units import letters
from rag_nodes.text.spans import Span, trimmed
from rag_nodes.text.words import find_words, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rag_nodes.text.passages.units import TextRun

MIN_LETTERS = 20
"""Letters from which a sentence is looked for in other places. Shorter ones ("Yes.") mean
nothing without those around them, and stay beside them."""
MAX_PLACES = 50
"""Places from which a sentence is a form, such as an empty row, that each table needs again."""
NEAR_EQUAL = 0.95
"""Share of word shingles in common from which two passages are one."""
_SHINGLE_WORDS = 3
_WORD = re.compile(r"\S+")
_END = re.compile(
    r"[.!?\u3002\uff01\uff1f\n](?:(?<=\n)\s*(?:\n\s*|(?=[|#>*+-]))"
    r"|(?<=[\u3002\uff01\uff1f])|(?<=[.!?])[\"')\]]*+\s++)"
)
"""End of a sentence, a paragraph, or a line before another one of a list or table."""


class _Unit(NamedTuple):
    """Sentence, row or line without the headings above it; `held` is its span in the document."""

    run: TextRun
    span: Span
    held: Span

    @property
    def text(self) -> str:
        return self.span.of(self.run.text)


class Repeats:
    """The units of runs that stand elsewhere as well, in any case and white space.

    Args:
        runs: texts without a gap within and without overlap between them, by document and in order.
        units: number of the run and characters in it of each unit, in order.
    """

    def __init__(self, runs: Sequence[TextRun], units: Iterable[tuple[int, Span]]) -> None:
        self._units: list[_Unit] = []
        self._twins: dict[int, list[int]] = {}
        self._by_document: dict[str, list[int]] = defaultdict(list)
        self._folded: dict[str, FoldedText] = {}
        places = list(units)
        groups: dict[str, list[int]] = defaultdict(list)
        for number, (at, span) in enumerate(places):
            text = normalised(span.of(runs[at].text))
            if letters(text) >= MIN_LETTERS:
                groups[text].append(number)
        for group in groups.values():
            for number in group if 1 < len(group) <= MAX_PLACES else ():
                self._twins[number] = [twin for twin in group if twin != number]
        for number, (at, (start, end)) in enumerate(places if self._twins else ()):
            run = runs[at]
            span = trimmed(run.text, start, end)
            self._units.append(_Unit(run, span, run.in_document(span)))
            self._by_document[run.document].append(number)

    @classmethod
    def of(cls, runs: Sequence[TextRun]) -> Repeats:
        """Compare runs that nobody has split into units: by the marks that end sentences."""
        several = enumerate(runs) if _are_several(runs) else ()
        return cls(runs, ((number, span) for number, run in several for span in _split(run.text)))

    def units(self, document: str, span: Span) -> list[int]:
        """Return the numbers of the units that repeat some characters."""
        places = self.places(document, span)
        return [
            passage for repeat in places for passage in self._inside(repeat.document, repeat.span)
        ]

    def places(self, document: str, span: Span) -> list[Repeat]:
        """Return the places that repeat characters of a document.

        Sentences that follow each other in both are one place. In other documents, the whole
        passage, equal or near-equal, comes before parts of it. Of a sentence that the characters
        hold several times, the first is none.
        """
        inside = self._inside(document, span) if self._twins else []
        if not inside:
            return []
        return list(dict.fromkeys([*self._whole(inside, span), *self._parts(inside, span)]))

    def _inside(self, document: str, span: Span) -> list[int]:
        """Return the numbers of the units that share characters with a span."""
        own = self._by_document[document]
        low = bisect_right(own, span.start, key=lambda number: self._units[number].held.end)
        high = bisect_left(own, span.end, key=lambda number: self._units[number].held.start)
        return own[low:high]

    def _whole(self, inside: Sequence[int], span: Span) -> Iterator[Repeat]:
        """Yield the places of all of a passage in other documents, with short sentences in it.

        Near-equal ones begin and end with a sentence that is equal.
        """
        own = self._units[inside[0]].run
        text = own.text[max(0, span.start - own.start) : span.end - own.start]
        by_run: dict[TextRun, list[Span]] = defaultdict(list)
        for number in inside:
            for twin in self._twins.get(number, ()):
                if self._units[twin].run.document != own.document:
                    by_run[self._units[twin].run].append(self._units[twin].span)
        for run, twins in by_run.items():
            around = Span(min(twins).start, max(twins).end)
            if run.text not in self._folded:
                self._folded[run.text] = FoldedText(run.text)
            if place := self._folded[run.text].find(text):
                yield Repeat(run.document, run.in_document(place))
            elif are_near_equal(text, around.of(run.text)):
                yield Repeat(run.document, run.in_document(around), is_equal=False)

    def _parts(self, inside: Iterable[int], span: Span) -> Iterator[Repeat]:
        """Yield the equal places; a place goes on while both texts do."""
        before: dict[int, Repeat] = {}
        passed: set[int] = set()
        for number in inside:
            places: dict[int, Repeat] = {}
            passed.add(number)
            for twin in self._twins.get(number, ()):
                part = None if twin in passed else self._part(number, twin, span)
                if part is None:
                    continue
                if twin - 1 in before and self._before(number) == self._before(twin):
                    part = before.pop(twin - 1).span.union(part)
                places[twin] = Repeat(self._units[twin].run.document, part)
            yield from before.values()
            before = places
        yield from before.values()

    def _part(self, number: int, twin: int, span: Span) -> Span | None:
        """Return the part of a duplicate that repeats a span of a unit; None if unknown."""
        unit, other = self._units[number], self._units[twin]
        if _holds(span, unit.held):
            return other.held
        letters_of, others = _visible(unit.text), _visible(other.text)
        start, end = span.start - unit.held.start, span.end - unit.held.start
        inside = slice(bisect_left(letters_of, start), bisect_left(letters_of, end))
        if len(letters_of) != len(others) or not others[inside]:
            return None
        first, *_, last = others[inside] * 2
        return Span(other.held.start + first, other.held.start + last + 1)

    def _before(self, number: int) -> str | None:
        """Return what is between a unit and the one before it in the run; None for the first."""
        unit, before = self._units[number], self._units[number - 1]
        if before.run is not unit.run:
            return None
        return normalised(unit.run.text[before.span.end : unit.span.start])


def _visible(text: str) -> list[int]:
    return [at for at, letter in enumerate(text) if not letter.isspace()]


def _holds(span: Span, inner: Span) -> bool:
    return span.start <= inner.start and inner.end <= span.end


def _split(text: str) -> Iterator[Span]:
    """Yield sentences, and lines of lists and tables, many times as fast as `units_in`."""
    ends = [match.end() for match in _END.finditer(text)]
    yield from map(Span, [0, *ends], [*ends, len(text)])


def shown_places(repeats: Iterable[Repeat]) -> list[tuple[str, Span]]:
    """Return document and characters of each place that is no part of another one."""
    places = list(dict.fromkeys((repeat.document, repeat.span) for repeat in repeats))
    return [
        (document, span)
        for document, span in places
        if not any(
            other == document and around != span and _holds(around, span)
            for other, around in places
        )
    ]


def normalised(text: str) -> str:
    """Return a text in which case and white space do not count."""
    return " ".join(text.split()).casefold()


def equal_in(quote: str, text: str, *, whole_words: bool = False) -> Span | None:
    """Return the first place of a quote in a text, in any case and white space."""
    return FoldedText(text).find(quote, whole_words=whole_words)


class FoldedText:
    """A text, folded once, in which quotes are found in any case and white space."""

    def __init__(self, text: str) -> None:
        self._words = [Span(*match.span()) for match in _WORD.finditer(text)]
        self._text = text
        folded = [word.of(text).casefold() for word in self._words]
        self._folded = " ".join(folded)
        self._starts = [0, *accumulate(len(word) + 1 for word in folded)]

    def find(self, quote: str, *, whole_words: bool = False) -> Span | None:
        """Return the first place of a quote; None if the text does not hold it.

        With `whole_words`, "1 metres" is not in "21 metres".
        """
        sought = normalised(quote)
        if whole_words:
            at = find_words(self._folded, sought, printed=self._with_own_gaps())
        else:
            at = self._folded.find(sought)
        if at < 0 or not sought:
            return None
        last = self._character(at + len(sought) - 1)
        return Span(self._character(at), last + 1)

    def _with_own_gaps(self) -> str:
        """Return the folded text with line breaks and no-break spaces where the text has them."""
        gaps = (self._text[left.end : right.start] for left, right in pairwise(self._words))
        characters = list(self._folded)
        for start, gap in zip(self._starts[1:], gaps, strict=False):
            characters[start - 1] = "\n" if "\n" in gap else gap[0]
        return "".join(characters)

    def _character(self, at: int) -> int:
        """Return the character of the text that a folded character comes from."""
        number = bisect_right(self._starts, at) - 1
        word, rest = self._words[number], at - self._starts[number]
        while (
            len(self._text[word.start : word.start + rest].casefold()) > at - self._starts[number]
        ):
            rest -= 1
        return word.start + rest


def are_near_equal(text: str, other: str) -> bool:
    """Return True if two texts have 95 % of their word shingles in common, and the same numbers.

    Numbers are what versions of a document differ by.
    """
    if min(len(text), len(other)) < NEAR_EQUAL * max(len(text), len(other)):
        return False
    first, second = words(text), words(other)
    if [word for word in first if word[0].isdigit()] != [
        word for word in second if word[0].isdigit()
    ]:
        return False
    shingles, others = _shingles(first), _shingles(second)
    common = len(shingles & others)
    return common > 0 and common >= NEAR_EQUAL * len(shingles | others)


def _shingles(of_text: Sequence[str]) -> set[tuple[str, ...]]:
    return set(zip(*(of_text[at:] for at in range(_SHINGLE_WORDS)), strict=False))


def _are_several(runs: Sequence[TextRun]) -> bool:
    return any(before.document != after.document for before, after in pairwise(runs))
