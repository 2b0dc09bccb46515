"""The questions of a file over documents: each answer with its characters, or why it has none.

What is found only nearly says how surely; what is found nowhere, or in too many places, is listed
and never guessed.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rag_nodes.evaluation.dataset import Dataset, Question, Unplaced, reachable
from rag_nodes.evaluation.importers.placing import MOST_LOOKED_AT, Book, QuotePlace, parts_of
from rag_nodes.metadata import FILE_NAME, SOURCE, TITLE, display_name
from rag_nodes.processes import current_interrupt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.importers.labels import Labelled, Labels, Quote

MOST_PLACES = 5
"""Places of one quote that count as alternatives; in more it is a phrase and no answer."""
_NOT_QUOTED = "no answer is quoted; quote the words that answer it"
_SHOWN = 80
"""Characters of a quote in a list of what could not be placed."""


class _UnknownError(Exception):
    """Why a quote has no place: passed up, never shown as an error."""


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
            questions.append(library.question(one))
        except _UnknownError as reason:
            quote = next((quote.text for answer in one.gold for quote in answer), "")
            line = " ".join(quote.split())
            shown = line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
            unplaced.append(Unplaced(one.id, one.text, shown, str(reason)))
    left_out = dict(labels.left_out)
    return Dataset(name, tuple(documents), tuple(questions), tuple(unplaced), left_out=left_out)


class _Library:
    """The documents by all they may be called."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._books = {document.id_: Book(document) for document in documents}
        self._names: dict[str, set[str]] = defaultdict(set)
        for document in documents:
            for name in _names_of(document):
                self._names[name].add(document.id_)

    def question(self, one: Labelled) -> Question:
        """A question with the places of its answers.

        Raises:
            _UnknownError: it has none.
        """
        if not one.text:
            raise _UnknownError("there is no question; write one, in each row of merged cells, too")
        within = one.within and tuple(self._named(name).document.id_ for name in one.within)
        answers: list[list[QuotePlace]] = []
        reasons: list[str] = []
        for quotes in filter(None, one.gold):  # of rows that quote nothing
            try:
                answers += self._answers(quotes)
            except _UnknownError as reason:
                reasons.append(str(reason))
        if not answers:
            raise _UnknownError(reasons[0] if reasons else _NOT_QUOTED)
        gold = [tuple(dict.fromkeys(found.passage for found in answer)) for answer in answers]
        if not reachable(gold, within):
            raise _UnknownError(
                "its answer is in none of the documents that it searches; name that one too"
            )
        surest = max(min(found.confidence for found in answer) for answer in answers)
        return Question(
            one.id, one.text, tuple(dict.fromkeys(gold)), one.kind, within, one.draft, surest
        )

    def _answers(self, quotes: Sequence[Quote]) -> list[list[QuotePlace]]:
        """What some quotes stand for: each place of a single quote is an answer of its own."""
        if len(quotes) == 1 and len(found := self._places(quotes[0])) == 1:
            return [[one] for one in found[0]]
        return [[places[0] for quote in quotes for places in self._places(quote)]]

    def _places(self, quote: Quote) -> list[list[QuotePlace]]:
        """Where each part of a quote stands, best first: it has one part, but for ellipses.

        Raises:
            _UnknownError: a part stands nowhere, or in too many places.
        """
        books = [self._named(quote.document)] if quote.document else [*self._books.values()]
        if len(books) == 1 and (claimed := books[0].claimed(quote)):
            return [[claimed]]
        parts = parts_of(quote.text)
        if not parts:
            return [[_page(quote, books)]]
        found = [*_as_written(quote.text, quote.pages, books)]
        if not found and len(parts) > 1:
            return _in_order(parts, quote.pages, books)
        if not found and parts != [quote.text.strip()]:  # an ellipsis at an end
            found = [*_as_written(parts[0], quote.pages, books)]
        if not found:
            nearly = [one for book in books if (one := book.nearly(parts[0]))]
            found = sorted(nearly, key=lambda one: -one.confidence)[:1]
        return [self._meant(found, quote)]

    def _meant(self, found: list[QuotePlace], quote: Quote) -> list[QuotePlace]:
        """Of all places of a quote those that its label means."""
        if quote.pages:
            at = ((one, self._books[one.passage.document]) for one in found)
            on = [one for one, book in at if book.is_on(one.passage.span, quote.pages)]
            found = on or found  # numbers that are printed on pages may be others
        if len(found) > MOST_PLACES:
            raise _UnknownError(
                f"it stands in more than {MOST_PLACES} places; quote more words, or name the file "
                "or the page"
            )
        if not found:
            raise _UnknownError(
                "it is not in the documents, nor anything like it; was the text changed?"
            )
        if quote.start is not None:
            start = quote.start
            return [min(found, key=lambda one: abs(one.passage.span.start - start))]
        return found

    def _named(self, name: str) -> Book:
        last = PurePosixPath(name.replace("\\", "/")).name
        found = self._names.get(name) or self._names.get(last) or set()
        if len(found) != 1:
            which = f"{len(found)} documents are" if found else "no document is"
            raise _UnknownError(f"{which} called {name!r}; name the file as it is")
        return self._books[next(iter(found))]


def _as_written(
    quote: str, pages: tuple[int, int] | None, books: Sequence[Book]
) -> Iterator[QuotePlace]:
    """Places of a quote as it is: in whole words, else in parts of words, else spelt otherwise."""
    most = MOST_LOOKED_AT if pages else MOST_PLACES + 1
    for way in (Book.in_whole_words, Book.exact, Book.in_any_case, Book.loosely):
        places = (book.at(span) for book in books for span in way(book, quote))
        if found := [*islice(places, most)]:
            yield from found
            return


def _in_order(
    parts: Sequence[str], pages: tuple[int, int] | None, books: Sequence[Book]
) -> list[list[QuotePlace]]:
    """The parts of a quote around its ellipses: what somebody shortened stands close together."""
    chains = [(*chain, book) for book in books if (chain := book.in_order(parts, pages))]
    if not chains:
        raise _UnknownError(
            "the parts of it around the ellipsis do not stand in this order in one document; "
            "quote one passage without leaving words out"
        )
    *_, spans, book = min(chains, key=lambda chain: chain[:2])
    return [[book.at(one)] for one in spans]


def _page(quote: Quote, books: Sequence[Book]) -> QuotePlace:
    """The pages that are named, as an answer."""
    if quote.pages is None and quote.start is None and quote.end is None:
        raise _UnknownError(_NOT_QUOTED)
    if quote.pages is None:
        raise _UnknownError("offsets alone say nothing outside the document; quote the words")
    if len(books) != 1:
        raise _UnknownError("a page alone may be one of any document; name the file")
    span = books[0].pages(quote.pages)
    if span is None or not span.of(books[0].document.text).strip():
        raise _UnknownError(
            f"there is no text on page {quote.pages[0]} of its document; quote the words"
        )
    return books[0].at(span)


def _names_of(document: Document) -> Iterator[str]:
    """All that a document may be called: its id, title, URL, name, and ends of its path."""
    metadata = document.metadata
    source = str(metadata.get(SOURCE) or "")
    parts = PurePosixPath(source.replace("\\", "/")).parts if source else ()
    names = [document.id_, source, display_name(metadata)]
    names += [str(metadata.get(key) or "") for key in (FILE_NAME, TITLE)]
    names += ["/".join(parts[first:]) for first in range(len(parts))]
    for name in filter(None, names):
        yield name
        if (path := PurePosixPath(name)).suffix:
            yield str(path.with_suffix(""))
