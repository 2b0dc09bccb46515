"""Quotes to characters: where they were said to be, else word for word, else something like it.

What is found only nearly says how surely; what is found nowhere, or in too many places, is listed
and never guessed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rag_nodes.errors import MissingExtraError
from rag_nodes.evaluation.dataset import Dataset, Question, Unplaced, reachable, trimmed_passage
from rag_nodes.evaluation.importers.labels import Quote
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.metadata import FILE_NAME, SOURCE, TITLE, display_name
from rag_nodes.parsers.foreign.placing import Visible
from rag_nodes.processes import current_interrupt
from rag_nodes.text.spans import PageMap, Span, trimmed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.importers.labels import Labelled, Labels

MOST_PLACES = 5
"""Places of one quote that count as alternatives; in more it is a phrase and no answer."""
_MOST_LOOKED_AT = 1000
"""Places of one quote, or of a part of it, among which the right one is looked for."""
_ELLIPSIS = re.compile(r"(?:[\[(]\s*)?(?:…|\.\s?\.\s?\.)[.…]*(?:\s*[\])])?")
"""What stands where somebody left words of a quote out. It begins with no blank: a search that may
begin at each of many takes the square of their time."""
_LEAST_PART = 3
"""Visible characters of a part of a quote between two ellipses."""
LIKE = 0.85
"""Share of a quote's characters that must be in the text, in order, for it to be found nearly."""
_FEWEST = 20
"""Visible characters of a quote that is looked for in other ways than word for word."""
_UNSPACED = frozenset(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR"))
"""Scripts whose words no space separates, as names of letters begin."""
_NOT_QUOTED = "no answer is quoted; quote the words that answer it"
_SHOWN = 80
"""Characters of a quote in a list of what could not be placed."""
_SAME = str.maketrans("‘’‚‛“”„‟«»‐‑‒–—―\u00a0", '\'\'\'\'""""""------ ')  # noqa: RUF001 -- what is told apart by nobody
"""Marks that programs replace as they like."""


@dataclass(frozen=True, slots=True)
class PlacedQuote:
    """A passage, and how surely it is the one that was meant, from 0 to 1."""

    passage: Passage
    confidence: float


class Unknown(Exception):  # noqa: N818 -- a reason that is passed up, never shown as an error
    """Why a quote has no place."""


def place(labels: Labels, documents: Sequence[Document], name: str) -> Dataset:
    """The questions of a file as a dataset over documents.

    Args:
        labels: what the file says.
        documents: whose characters are gold.
        name: of the dataset.

    Raises:
        DatasetError: two questions or documents have one id.
        MissingExtraError: a quote is not there word for word, and rapidfuzz is not installed.
        CancelledError: see `interruptible`.
    """
    library = _Library(documents)
    questions, unplaced = [], []
    interrupt = current_interrupt()
    for one in labels.questions:
        interrupt.check("looking up the answers")
        try:
            questions.append(_placed(one, library))
        except Unknown as reason:
            quote = next((quote.text for answer in one.gold for quote in answer), "")
            unplaced.append(Unplaced(one.id, one.text, _shown(quote), str(reason)))
    left_out = dict(labels.left_out)
    return Dataset(name, tuple(documents), tuple(questions), tuple(unplaced), left_out=left_out)


def _placed(one: Labelled, library: _Library) -> Question:
    if not one.text:
        raise Unknown("there is no question; write one, in each row of merged cells, too")
    if not one.gold or not any(one.gold):
        raise Unknown(_NOT_QUOTED)
    within = one.within and tuple(library.named(name).id_ for name in one.within)
    answers: list[list[PlacedQuote]] = []
    reasons: list[str] = []
    for answer in one.gold:
        try:
            answers += _answers(answer, library)
        except Unknown as reason:
            reasons.append(str(reason))
    if not answers:
        raise Unknown(reasons[0])
    gold = [tuple(dict.fromkeys(found.passage for found in answer)) for answer in answers]
    if not reachable(gold, within):
        raise Unknown("its answer is in none of the documents that it searches; name that one too")
    surest = max(min(found.confidence for found in answer) for answer in answers)
    return Question(
        id=one.id,
        text=one.text,
        gold=tuple(dict.fromkeys(gold)),
        kind=one.kind,
        within=within,
        draft=one.draft,
        confidence=surest,
    )


def _answers(quotes: Sequence[Quote], library: _Library) -> list[list[PlacedQuote]]:
    """The answers that some quotes stand for: each place of a single quote is one of its own."""
    places = [library.places(part) for quote in quotes for part in library.parts(quote)]
    if len(places) == 1:
        return [[found] for found in places[0]]
    return [[found[0] for found in places]]


class _Library:
    """The documents by all they may be called, and what was made of their texts."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._books = {document.id_: _Book(document) for document in documents}
        self._names: dict[str, set[str]] = defaultdict(set)
        for document in documents:
            for name in _names_of(document):
                self._names[name].add(document.id_)

    def named(self, name: str) -> Document:
        """The document that is called so.

        Raises:
            Unknown: there is none, or more than one.
        """
        last = PurePosixPath(name.replace("\\", "/")).name
        found = self._names.get(name) or self._names.get(last) or set()
        if len(found) != 1:
            which = f"{len(found)} documents are" if found else "no document is"
            raise Unknown(f"{which} called {name!r}; name the file as it is")
        return self._books[next(iter(found))].document

    def parts(self, quote: Quote) -> list[Quote]:
        """A quote, or what stands around its ellipses where nothing is written as it is."""
        pieces = [one.strip() for one in _ELLIPSIS.split(quote.text)]
        if not any(pieces):
            return [replace(quote, text="")]  # nothing but an ellipsis quotes nothing
        parts = [one for one in pieces if len("".join(one.split())) >= _LEAST_PART]
        if parts in ([], [quote.text.strip()]) or next(
            self._as_written(quote, self._asked(quote)), None
        ):
            return [quote]
        if len(parts) == 1:
            return [replace(quote, text=parts[0], start=None, end=None)]
        books, pages = self._asked(quote), quote.pages
        chains = [chain for one in books if (chain := one.in_order(parts, pages))] if pages else []
        chains = chains or [chain for one in books if (chain := one.in_order(parts))]
        if not chains:
            raise Unknown(
                "the parts of it around the ellipsis do not stand in this order in one document; "
                "quote one passage without leaving words out"
            )
        # What somebody shortened stands close together.
        nearest = min(chains, key=_length)
        return [Quote("", one.passage.document, *one.passage.span, pages=None) for one in nearest]

    def places(self, quote: Quote) -> list[PlacedQuote]:
        """Where a quote stands, best first; a page alone is a place.

        Raises:
            Unknown: nowhere, or in too many places.
        """
        books = self._asked(quote)
        if quote.start is not None and quote.end is not None and len(books) == 1:
            claimed = books[0].claimed(quote)
            if claimed:
                return [claimed]
        if not quote.text.strip():
            return [_page(quote, books)]
        most = _MOST_LOOKED_AT if quote.pages else MOST_PLACES + 1
        found = list(islice(self._found(quote, books), most))
        if quote.pages:
            # Numbers that are printed on pages may be others: what is on none of them is kept.
            found = [one for one in found if self._is_on(one, quote.pages)] or found
        if len(found) > MOST_PLACES:
            raise Unknown(
                f"it stands in more than {MOST_PLACES} places; quote more words, or name the file "
                "or the page"
            )
        if not found:
            raise Unknown("it is not in the documents, nor anything like it; was the text changed?")
        if quote.start is not None:
            start = quote.start
            return [min(found, key=lambda one: abs(one.passage.span.start - start))]
        return found

    def _asked(self, quote: Quote) -> list[_Book]:
        if quote.document is None:
            return [*self._books.values()]
        return [self._books[self.named(quote.document).id_]]

    def _is_on(self, placed: PlacedQuote, pages: tuple[int, int]) -> bool:
        span = self._books[placed.passage.document].pages(*pages)
        return span is not None and _overlap(span, placed.passage.span)

    def _found(self, quote: Quote, books: Sequence[_Book]) -> Iterator[PlacedQuote]:
        """Places word for word; where there are none, the one that is nearest to it."""
        first = next(written := self._as_written(quote, books), None)
        if first is not None:
            yield first
            yield from written
            return
        nearly = [one for book in books if (one := book.nearly(quote.text))]
        yield from sorted(nearly, key=lambda one: -one.confidence)[:1]

    def _as_written(self, quote: Quote, books: Sequence[_Book]) -> Iterator[PlacedQuote]:
        for way in (_Book.in_whole_words, _Book.exact, _Book.loosely):
            places = (one for book in books for one in way(book, quote.text))
            if (first := next(places, None)) is not None:
                yield first
                yield from places
                return


def _page(quote: Quote, books: Sequence[_Book]) -> PlacedQuote:
    """The pages that are named, as an answer."""
    if quote.pages is None and quote.start is None and quote.end is None:
        raise Unknown(_NOT_QUOTED)
    if quote.pages is None:
        raise Unknown("offsets alone say nothing outside the document; quote the words")
    if len(books) != 1:
        raise Unknown("a page alone may be one of any document; name the file")
    span = books[0].pages(*quote.pages)
    if span is None or not span.of(books[0].document.text).strip():
        raise Unknown(f"there is no text on page {quote.pages[0]} of its document; quote the words")
    return books[0].at(span)


class _Book:
    """One document and its text in other spellings, each made when it is first needed."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def claimed(self, quote: Quote) -> PlacedQuote | None:
        """The place a quote says it has, if it is there."""
        text = self.document.text
        span = Span(quote.start or 0, quote.end or 0)
        if not 0 <= span.start < span.end <= len(text) or not span.of(text).strip():
            return None
        if quote.text and quote.text.strip() != span.of(text).strip():
            return None
        return self.at(span)

    def pages(self, first: int, last: int) -> Span | None:
        """The text of some pages; None for a document without them."""
        known = PageMap.of(self.document.metadata)
        return known.span(first, last, len(self.document.text)) if known else None

    def in_order(
        self, parts: Sequence[str], pages: tuple[int, int] | None = None
    ) -> list[PlacedQuote] | None:
        """Places of parts of a quote, one behind the other and close together; None if not.

        Args:
            parts: in the order of the quote.
            pages: on which some of it has to stand; None for anywhere.
        """
        near = self.pages(*pages) if pages else None
        if pages and near is None:
            return None
        best: list[PlacedQuote] | None = None
        # Each place lies behind the one before, for every first place: none is looked at twice.
        others = [_Behind(self._written(part)) for part in parts[1:]]
        for first in islice(self._written(parts[0]), _MOST_LOOKED_AT):
            chain = [first]
            for other in others:
                if (found := other.first_from(chain[-1].passage.span.end)) is None:
                    return best  # nor behind any later place of the first
                chain.append(found)
            if near and not any(_overlap(near, one.passage.span) for one in chain):
                continue
            if best is None or _length(chain) < _length(best):
                best = chain
        return best

    def _written(self, words: str) -> Iterator[PlacedQuote]:
        first = next(places := self.exact(words), None)
        if first is None:
            yield from self.loosely(words)
            return
        yield first
        yield from places

    def in_whole_words(self, words: str) -> Iterator[PlacedQuote]:
        """Every place word for word that does not begin or end within a word: no ten in often."""
        return (self.at(span) for span in self._spans(words) if self._is_whole(span))

    def exact(self, words: str) -> Iterator[PlacedQuote]:
        """Every place word for word."""
        return map(self.at, self._spans(words))

    def _spans(self, words: str) -> Iterator[Span]:
        text, words = self.document.text, words.strip()
        start = text.find(words)
        while start >= 0:
            yield Span(start, start + len(words))
            start = text.find(words, start + len(words))

    def _is_whole(self, span: Span) -> bool:
        text = self.document.text
        around = [text[at - 1 : at + 1] for at in span if 0 < at < len(text)]
        return not any(map(_is_within_word, around))

    def loosely(self, words: str) -> Iterator[PlacedQuote]:
        """Every place with other blank space, quotation marks, dashes or case."""
        wanted = _folded("".join(words.split()))
        if len(wanted) < _FEWEST:
            return
        letters = self._letters
        start = letters.find(wanted)
        while start >= 0:
            span = self._visible.span(Span(start, start + len(wanted)), words)
            yield self.at(span)
            start = letters.find(wanted, start + len(wanted))

    def nearly(self, words: str) -> PlacedQuote | None:
        """The place with the most of the characters in order, if there are enough of them."""
        wanted = _folded("".join(words.split()))
        if len(wanted) < _FEWEST:
            return None
        try:
            from rapidfuzz import fuzz
        except ImportError as error:
            raise MissingExtraError("rapidfuzz", "evaluate") from error
        if len(self._letters) < len(wanted):
            return None  # the document would be looked for in the quote
        found = fuzz.partial_ratio_alignment(wanted, self._letters, score_cutoff=LIKE * 100)
        if found is None or found.dest_end <= found.dest_start:
            return None
        span = self._visible.span(Span(found.dest_start, found.dest_end), words)
        return self.at(_whole_words(self.document.text, span), found.score / 100)

    def at(self, span: Span, confidence: float = 1.0) -> PlacedQuote:
        """A place in this document, without blank space at its ends."""
        passage = Passage(self.document.id_, span)
        return PlacedQuote(trimmed_passage(passage, self.document.text), confidence)

    @cached_property
    def _visible(self) -> Visible:
        return Visible(self.document.text)

    @cached_property
    def _letters(self) -> str:
        return _folded(self._visible.letters)


class _Behind:
    """Places in the order of a text, asked for ever later ones.

    Args:
        places: in that order.
    """

    def __init__(self, places: Iterator[PlacedQuote]) -> None:
        self._places = places
        self._held = next(places, None)

    def first_from(self, start: int) -> PlacedQuote | None:
        """The first place that begins there or later; None where there is none."""
        while self._held is not None and self._held.passage.span.start < start:
            self._held = next(self._places, None)
        return self._held


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _is_within_word(two: str) -> bool:
    """Whether no word ends between two characters; scripts without spaces do not say."""
    if not (two[0].isalnum() and two[1].isalnum()):
        return False
    scripts = (unicodedata.name(one, "").partition(" ")[0] for one in two if not one.isdigit())
    return not any(one in _UNSPACED for one in scripts)


def _length(chain: Sequence[PlacedQuote]) -> int:
    return chain[-1].passage.span.end - chain[0].passage.span.start


def _folded(text: str) -> str:
    """The text without case and without marks that nobody tells apart; as long as it was."""
    plain = text.translate(_SAME)
    lower = plain.lower()
    return lower if len(lower) == len(plain) else plain


def _whole_words(text: str, span: Span) -> Span:
    """The span with the rest of the words it begins and ends in."""
    start, end = span
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    return trimmed(text, start, end)


def _names_of(document: Document) -> Iterable[str]:
    """All that a document may be called: its id, title, URL, name, and ends of its path."""
    metadata = document.metadata
    source = str(metadata.get(SOURCE) or "")
    whole = [document.id_, source, display_name(metadata), *map(str, _named(document))]
    parts = PurePosixPath(source.replace("\\", "/")).parts if source else ()
    ends = ["/".join(parts[first:]) for first in range(len(parts))]
    names = [name for name in (*whole, *ends) if name]
    paths = [path for name in names if (path := PurePosixPath(name)).suffix]
    return {*names, *(str(path.with_suffix("")) for path in paths)}


def _named(document: Document) -> Iterator[object]:
    return (document.metadata[key] for key in (FILE_NAME, TITLE) if document.metadata.get(key))


def _shown(quote: str) -> str:
    line = " ".join(quote.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
