"""The questions of a file over documents: each answer with its characters, or why it has none.

What is found only nearly says how surely; what is found nowhere, or in too many places, is listed
and never guessed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import regex

from rag_nodes.core.errors import MissingExtraError
from rag_nodes.core.metadata import PAGE_LABEL, page_number
from rag_nodes.core.processes import current_interrupt
from rag_nodes.core.several import several
from rag_nodes.evaluation.dataset import Dataset, NotLocated, Question, reachable, trimmed_passage
from rag_nodes.evaluation.importers.names import DocumentNames, ending
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.parsers.foreign.placing import Visible
from rag_nodes.text.spans import PageMap, Span, trimmed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.importers.formats import Labelled, Labels, Quote

_MOST_PLACES = 5
"""Places of one quote that count as alternatives; in more it is a phrase and no answer."""
_MOST_LOOKED_AT = 1000
"""Places of one quote, or of the first part of it, among which the right one is looked for."""
_ELLIPSIS = re.compile(r"(?:[\[(]\s*)?(?:…|\.\s?\.\s?\.)[.…]*(?:\s*[\])])?")
"""Mark of words that are left out of a quote. It begins with no blank: a search that may
begin at each of many takes the square of their time."""
_LEAST_PART = 3
"""Visible characters of a part of a quote between two ellipses."""
_LIKE = 0.85
"""Share of a quote's characters that must be in the text, in order, for it to be found nearly."""
_FEWEST = 20
"""Visible characters of a quote that is looked for in other ways than word for word."""
_WITHIN_WORD = regex.compile(
    r"[[\p{L}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]{2}",
    regex.V1,
)
"""Two characters between which no word ends; scripts without spaces do not say."""
_SAME = str.maketrans("‘’‚‛“”„‟«»‐‑‒–—―\u00a0", '\'\'\'\'""""""------ ')  # noqa: RUF001 -- characters that nobody distinguishes
"""Marks that programs replace as they like."""
_NOT_QUOTED = "no answer is quoted; quote the words that answer it"


class _UnknownError(Exception):
    """Reason why a quote was not located: passed up, never shown as an error."""


_Chain = tuple[bool, int, list[Span]]
"""Sort key of places: whether no part of the quote is on its pages, their characters, and where
they stand. The smallest of several is meant."""


class _Place(NamedTuple):
    """A passage, and how surely it is the one that was meant, from 0 to 1."""

    passage: Passage
    confidence: float = 1.0


def place(labels: Labels, documents: Document | Sequence[Document], name: str) -> Dataset:
    """The questions of a file as a dataset over documents.

    Args:
        labels: what the file says.
        documents: whose characters are gold; several or a single one.
        name: of the dataset.

    Raises:
        DatasetError: two questions or documents have one id.
        MissingExtraError: a quote is not there word for word, and rapidfuzz is not installed.
        CancelledError: see `interruptible`.
    """
    given: Sequence[Document] = several(documents)
    library = _Library(given)
    questions, not_located = [], []
    interrupt = current_interrupt()
    for question in labels.questions:
        interrupt.check("looking up the answers")
        try:
            questions.append(library.question(question))
        except _UnknownError as reason:
            quote = next((quote.text for answer in question.gold for quote in answer), "")
            line = " ".join(quote.split())
            shown = line if len(line) <= 80 else line[:79] + "…"  # noqa: PLR2004 -- of a terminal
            not_located.append(NotLocated(question.id, question.text, shown, str(reason)))
    return Dataset(
        name,
        tuple(given),
        tuple(questions),
        tuple(not_located),
        left_out=dict(labels.left_out),
        notes=labels.notes,
    )


class _Library:
    """The documents by all they may be called."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._books = {document.id_: _Book(document) for document in documents}
        self._names = DocumentNames(documents)

    def question(self, labelled: Labelled) -> Question:
        """A question with the places of its answers."""
        if not labelled.text:
            raise _UnknownError("there is no question; write one, in each row of merged cells, too")
        named = (book.id for name in labelled.within or () for book in self._named(name))
        within = tuple(dict.fromkeys(named)) or None
        answers: list[list[_Place]] = []
        why = ""
        for quotes in filter(None, labelled.gold):  # of rows that quote nothing
            try:
                answers += self._answers(quotes)
            except _UnknownError as reason:
                why = why or str(reason)
        if not answers:
            raise _UnknownError(why or _NOT_QUOTED)
        gold = dict.fromkeys(
            tuple(dict.fromkeys(found.passage for found in answer)) for answer in answers
        )
        if not reachable(gold, within):
            raise _UnknownError(
                "its answer is in none of the documents that it searches; name that one too"
            )
        surest = max(min(found.confidence for found in answer) for answer in answers)
        return Question(
            labelled.id, labelled.text, tuple(gold), labelled.kind, within, labelled.draft, surest
        )

    def _answers(self, quotes: Sequence[Quote]) -> list[list[_Place]]:
        """Return the answers of quotes: each location of a single quote is an answer of its own."""
        parts = [places for quote in quotes for places in self._places(quote)]
        return [[part] for part in parts[0]] if len(parts) == 1 else [[part[0] for part in parts]]

    def _places(self, quote: Quote) -> list[list[_Place]]:
        """Return the locations of each part of a quote, best first; ellipses separate parts."""
        books = self._named(quote.document) if quote.document else [*self._books.values()]
        if len(books) == 1 and (claimed := books[0].claimed(quote)):
            return [[claimed]]
        parts = _parts(quote.text)
        if not parts:
            return [[_page(quote, books)]]
        found = _as_written(quote.text, quote, books)
        if not found and len(parts) > 1:
            return _in_order(parts, quote, books)
        if not found and parts != [quote.text.strip()]:  # an ellipsis at an end
            found = _as_written(parts[0], quote, books)
        if not found:
            nearly = [candidate for book in books if (candidate := book.nearly(parts[0]))]
            found = sorted(nearly, key=lambda candidate: -candidate.confidence)[:1]
        return [self._meant(found, quote)]

    def _meant(self, found: list[_Place], quote: Quote) -> list[_Place]:
        """Return those places of a quote that its label means."""
        if quote.pages:
            at = ((candidate, self._books[candidate.passage.document]) for candidate in found)
            on = [
                candidate
                for candidate, book in at
                if book.pages(quote.pages).overlap(candidate.passage.span)
            ]
            found = on or found  # printed numbers may be others
        files = self._names.files(candidate.passage.document for candidate in found)
        if quote.document and len(files) > 1:
            raise _UnknownError(
                f"it stands in {len(files)} files called '{quote.document}'; write the folder "
                f"before the name, such as '{ending(files[0])}'"
            )
        if len(found) > _MOST_PLACES:
            raise _UnknownError(
                f"it stands in more than {_MOST_PLACES} places; quote more words, or name the file "
                "or the page"
            )
        if not found:
            raise _UnknownError(self._elsewhere(quote))
        if (start := quote.start) is not None:
            return [min(found, key=lambda candidate: abs(candidate.passage.span.start - start))]
        return found

    def _elsewhere(self, quote: Quote) -> str:
        """Say why a quote was not found: it is in another document than its label names, if so."""
        named = self._named(quote.document) if quote.document else [*self._books.values()]
        others = [book for book in self._books.values() if book not in named]
        if others and (found := _as_written(quote.text, quote, others)):
            name = ending(*self._names.files([found[0].passage.document]))
            return (
                f"its quote is not in {quote.document}, but in {name}: correct the file column or "
                "leave it empty"
            )
        return "its quote is not in the documents, nor anything like it; was the text changed?"

    def _named(self, name: str) -> list[_Book]:
        """Return the documents that are called so: the pages of a file may be one each."""
        if found := self._names.find(name):
            return [self._books[document] for document in found]
        known = self._names.shown()
        raise _UnknownError(
            f"no document is called '{name}'; write one of the names there are ({known}), or none"
        )


class _Book:
    """One document, and its text in other spellings, which are made when they are needed."""

    def __init__(self, document: Document) -> None:
        self.id, self.text, self._metadata = document.id_, document.text, document.metadata
        self._page = page_number(document.metadata.get(PAGE_LABEL))

    def at(self, span: Span, confidence: float = 1.0) -> _Place:
        """A place in this document, without blank space at its ends."""
        return _Place(trimmed_passage(Passage(self.id, span), self.text), confidence)

    def claimed(self, quote: Quote) -> _Place | None:
        """The place a quote says it has, if it is there."""
        start, end = quote.start, quote.end
        if start is None or end is None or not 0 <= start < end <= len(self.text):
            return None
        there = self.text[start:end].strip()
        is_meant = there and quote.text.strip() in ("", there)
        return self.at(Span(start, end)) if is_meant else None

    def pages(self, pages: tuple[int, int]) -> Span:
        """The text from one page to another; empty for a document without them."""
        known = PageMap.of(self._metadata)
        if known and known.starts:
            return known.span(*pages, len(self.text)) or Span(0, 0)
        is_meant = self._page is not None and pages[0] <= self._page <= pages[1]
        return Span(0, len(self.text) if is_meant else 0)

    def as_written(self, quote: str) -> Iterator[Iterator[Span]]:
        """Every place of a quote, in each of several ways, one less strict than the other."""
        yield filter(self._is_whole, _occurrences(quote.strip(), self.text))  # no ten in often
        yield _occurrences(quote.strip(), self.text)
        yield filter(self._is_whole, _occurrences(_folded(quote.strip()), self._plain))
        yield self.loosely(quote)

    def loosely(self, quote: str) -> Iterator[Span]:
        """Every place with other blank space, quotation marks, dashes or case."""
        wanted = _folded("".join(quote.split()))
        if len(wanted) >= _FEWEST:
            for letters in _occurrences(wanted, self._letters):
                yield self._visible.span(letters, quote)

    def nearly(self, quote: str) -> _Place | None:
        """The place with the most of the characters in order, if there are enough of them."""
        wanted = _folded("".join(quote.split()))
        if not _FEWEST <= len(wanted) <= len(self._letters):
            return None  # of a longer one the document would be looked for in the quote
        try:
            from rapidfuzz import fuzz
        except ImportError as error:
            raise MissingExtraError("rapidfuzz", "evaluate") from error
        found = fuzz.partial_ratio_alignment(wanted, self._letters, score_cutoff=_LIKE * 100)
        if found is None or found.dest_end <= found.dest_start:
            return None
        span = self._visible.span(Span(found.dest_start, found.dest_end), quote)
        return self.at(_whole_words(self.text, span), found.score / 100)

    def in_order(self, parts: Sequence[str], pages: tuple[int, int] | None) -> _Chain | None:
        """Return the spans of the parts of a quote, in order and as close together as possible."""
        spans = {part: [*_occurrences(part, self.text)] or [*self.loosely(part)] for part in parts}
        chains, on = list[_Chain](), self.pages(pages) if pages else None
        for first in islice(spans[parts[0]], _MOST_LOOKED_AT):
            chain = [first]
            for part in parts[1:]:
                # The nearest place behind the one before.
                at = bisect_left(spans[part], chain[-1].end, key=lambda span: span.start)
                if at == len(spans[part]):
                    return min(chains, default=None)  # nor behind any later place of the first
                chain.append(spans[part][at])
            off = on is not None and not any(map(on.overlap, chain))
            chains.append((off, chain[-1].end - first.start, chain))
        return min(chains, default=None)

    def _is_whole(self, span: Span) -> bool:
        around = (self.text[at - 1 : at + 1] for at in span if at > 0)
        return not any(map(_WITHIN_WORD.fullmatch, around))

    @cached_property
    def _plain(self) -> str:
        return _folded(self.text)

    @cached_property
    def _visible(self) -> Visible:
        return Visible(self.text)

    @cached_property
    def _letters(self) -> str:
        return _folded(self._visible.letters)


def _parts(quote: str) -> list[str]:
    """Return the parts between the ellipses of a quote; empty if it consists of ellipses."""
    pieces = [piece.strip() for piece in _ELLIPSIS.split(quote)]
    found = [piece for piece in pieces if len("".join(piece.split())) >= _LEAST_PART]
    return found or ([quote.strip()] if any(pieces) else [])


def _as_written(text: str, quote: Quote, books: Sequence[_Book]) -> list[_Place]:
    """Places of a text as it is: in whole words, else in parts of words, else spelt otherwise."""
    most = _MOST_LOOKED_AT if quote.pages else _MOST_PLACES + 1
    for way in zip(*(book.as_written(text) for book in books), strict=True):
        pairs = zip(books, way, strict=True)
        if found := [*islice((book.at(span) for book, spans in pairs for span in spans), most)]:
            return found
    return []


def _in_order(parts: Sequence[str], quote: Quote, books: Sequence[_Book]) -> list[list[_Place]]:
    """The parts of a quote around its ellipses: what somebody shortened stands close together."""
    chains = [(*chain, book) for book in books if (chain := book.in_order(parts, quote.pages))]
    if not chains:
        raise _UnknownError(
            "the parts of it around the ellipsis do not stand in this order in one document; "
            "quote one passage without leaving words out"
        )
    *_, spans, book = min(chains, key=lambda chain: chain[:2])
    return [[book.at(span)] for span in spans]


def _page(quote: Quote, books: Sequence[_Book]) -> _Place:
    """The pages that are named, as an answer."""
    if quote.pages is None:
        has_offsets = quote.start is not None or quote.end is not None
        only = "offsets alone say nothing outside the document; quote the words"
        raise _UnknownError(only if has_offsets else _NOT_QUOTED)
    if quote.document:
        books = [book for book in books if book.pages(quote.pages).length] or books[:1]
    if len(books) != 1:
        raise _UnknownError("a page alone may be one of any document; name the file")
    span = books[0].pages(quote.pages)
    if not span.of(books[0].text).strip():
        raise _UnknownError(
            f"there is no text on page {quote.pages[0]} of its document; quote the words"
        )
    return books[0].at(span)


def _occurrences(wanted: str, text: str) -> Iterator[Span]:
    start = text.find(wanted)
    while start >= 0:
        yield Span(start, start + len(wanted))
        start = text.find(wanted, start + len(wanted))


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
